"""Tests for the trainers' replay server."""

import tempfile

import numpy as np
import reverb

from srdice_tf.agents import experience_server


def _table(name):
  return reverb.Table.queue(name, 10)


def test_a_checkpoint_is_restored_and_nothing_else_stays(tmp_path, monkeypatch):
  scratch, saved = tmp_path / 'scratch', tmp_path / 'saved'
  scratch.mkdir()
  saved.mkdir()
  monkeypatch.setattr(tempfile, 'tempdir', str(scratch))
  server = experience_server.ExperienceServer(_table)
  server.insert([np.float32([1.0, 2.0])])
  server.save(str(saved))
  server.insert([np.float32([3.0, 4.0])])
  server.restore(str(saved))
  assert server.size == 1
  server.stop()
  assert not list(scratch.iterdir())
