"""Tests for what run_ope.py prints at its end."""

import dataclasses

from srdice_tf import results
from srdice_tf.experiments import sweep
from srdice_tf.reports import ope_summary


def test_sums_and_returns_of_the_data():
  method = results.MethodResult('deep_td', 2.0)
  logged = results.EpisodeReturns(3, 1, 7.5, 5.25)
  found = results.Evaluation({'deep_td': method}, 0.9, 0, logged=logged)
  lines = ope_summary.unit_lines([found])
  assert 'deep_td 20: discounted return' in lines
  assert '3 of 4' in lines and '7.5' in lines and '5.25' in lines
  other = dataclasses.replace(
      found, logged=results.EpisodeReturns(1, 0, 3.5, 1.25)
  )
  assert 'average return 6.5, discounted 4.25' in ope_summary.unit_lines(
      [found, other]
  )
  cut = dataclasses.replace(
      found, logged=results.EpisodeReturns(0, 4, None, None)
  )
  assert 'episodes' not in ope_summary.unit_lines([cut])


def test_notes_come_first_and_once():
  method = results.MethodResult('deep_td', 2.0)
  found = results.Evaluation({'deep_td': method}, 0.9, 0)
  entry = sweep.Entry(None, 'there', notes=('10 episodes',))
  lines = ope_summary.text([found] * 2, [entry] * 2, verbose=False)
  assert lines.startswith('note          10 episodes\n')
  assert lines.count('10 episodes') == 1
  assert 'not known' in lines and 'deep_td' in lines
