"""End-to-end tests of the binaries that collect, serve and measure."""

import hashlib
import json
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
import tensorflow as tf

from srdice_tf import collection
from srdice_tf import environments
from srdice_tf.data.sources import collected
from srdice_tf.replay import clients
from tests import source_tree
from tests import warm_processes


def _run(name, **flags):
  return warm_processes.run(
      f'binaries/{name}.py', *warm_processes.flags(flags)
  )


def _start(name, **flags):
  return warm_processes.WarmProcess(
      f'binaries/{name}.py', *warm_processes.flags(flags)
  )


def _collect_flags(**flags):
  return {
      'env': 'Pendulum-v1',
      'policy': 'untrained',
      'num_transitions': 2000,
      **flags,
  }


def _expect_error(result, *parts):
  """Exactly one line, on stderr, and a non-zero exit."""
  assert result.returncode not in (0, None)
  lines = result.stderr.strip().splitlines()
  errors = [line for line in lines if line.startswith('error: ')]
  assert len(errors) == 1, result.stderr
  # Progress may stand before it; nothing else may.
  assert all(line.startswith(('error: ', 'collect ')) for line in lines), lines
  for part in parts:
    assert part in errors[0]


def _data(path):
  """Returns all that is stored, in a form that can be compared."""
  codec = collection.codec_of(environments.load('Pendulum-v1'))
  data = collected.load(str(path), codec)
  batch = data.batch(tf.range(data.num_transitions))
  parts = b''.join(part.numpy().tobytes() for part in batch)
  return data.num_transitions, hashlib.sha256(parts).hexdigest()


def test_collects_and_says_what_it_did(tmp_path):
  result = _run('collect_dataset', **_collect_flags(dataset_dir=tmp_path))
  assert result.returncode == 0, result.stderr
  assert re.search(r'transitions +2,000 in ', result.stdout)
  assert 'mean reward' in result.stdout
  assert 'next ' in result.stdout
  # A progress line is all that stderr shows.
  assert result.stderr.startswith('collect Pendulum-v1')
  assert len(result.stderr.strip().splitlines()) == 1
  assert _data(tmp_path)[0] == 2000


def test_killed_collection_goes_on_to_the_same_data(tmp_path):
  flags = _collect_flags(num_transitions=20_000, num_envs=20)
  whole, parts = tmp_path / 'whole', tmp_path / 'parts'
  process = _start(
      'collect_dataset', **flags, dataset_dir=parts, save_seconds=0.3
  )
  deadline = time.time() + 120
  while not (parts / 'dataset.json').exists():
    assert process.poll() is None and time.time() < deadline
    time.sleep(0.01)
  process.kill()
  process.communicate()
  saved = json.loads((parts / 'dataset.json').read_text())
  assert 0 < saved['counts']['transitions'] < 20_000
  assert saved['status'] == 'collecting'
  for path in (parts, whole):
    result = _run('collect_dataset', **flags, dataset_dir=path)
    assert result.returncode == 0, result.stderr
  found = _data(parts)
  assert found == _data(whole)
  assert found[0] == 20_000


def test_terminated_collection_saves_first(tmp_path):
  flags = _collect_flags(num_transitions=500_000, dataset_dir=tmp_path)
  process = _start('collect_dataset', **flags, save_seconds=0.3)
  deadline = time.time() + 120
  while not (tmp_path / 'dataset.json').exists():
    assert process.poll() is None and time.time() < deadline
    time.sleep(0.05)
  before = json.loads((tmp_path / 'dataset.json').read_text())
  time.sleep(0.3)
  process.send_signal(signal.SIGTERM)
  _, stderr = process.communicate(timeout=60)
  assert process.returncode == 143
  assert 'the same command resumes' in stderr
  after = json.loads((tmp_path / 'dataset.json').read_text())
  assert after['counts']['transitions'] > before['counts']['transitions']


def test_served_data_and_a_dying_server(tmp_path):
  with socket.socket() as probe:
    probe.bind(('localhost', 0))
    port = probe.getsockname()[1]
  serve = dict(port=port, dataset_dir=tmp_path / 'served')
  address = f'localhost:{port}'
  server = _start('replay_server', **serve)
  assert server.stdout.readline() == f'serving 0 transitions on port {port}\n'
  assert server.stdout.readline().startswith('only this machine can reach it')
  _expect_error(
      _run('replay_server', port=port, dataset_dir=tmp_path / 'other'),
      f'--port={port}',
      'in use',
  )
  flags = _collect_flags(reverb_address=address, num_envs=10)
  assert _run('collect_dataset', **flags).returncode == 0
  evaluation = _run(
      'run_ope',
      **_collect_flags(reverb_address=address, algo='deep_td'),
      updates=100,
      hidden_units=16,
      gamma=0.9,
      truth_episodes=3,
      output_dir=tmp_path / 'run',
  )
  assert evaluation.returncode == 0, evaluation.stderr
  # Another collector is at work when the server dies.
  flags = {**flags, 'num_transitions': 500_000, 'collector': 1}
  client = clients.ReplayClient(address)
  before = client.sizes()
  collector = _start('collect_dataset', **flags, server_timeout=5)
  deadline = time.time() + 120
  while client.sizes() == before:
    assert collector.poll() is None and time.time() < deadline
    time.sleep(0.05)
  server.kill()
  server.communicate()
  _, stderr = collector.communicate(timeout=120)
  _expect_error(
      subprocess.CompletedProcess([], collector.returncode, '', stderr),
      f'--reverb_address={address}',
      'does not answer',
  )
  # What the first collector had is there.
  server = _start('replay_server', **serve)
  line = server.stdout.readline()
  assert int(line.split()[1].replace(',', '')) >= 2000
  server.terminate()
  server.communicate(timeout=60)
  assert server.returncode == 0


def test_evaluates():
  result = _run(
      'evaluate_policy',
      env='CartPole-v1',
      policy='random',
      num_episodes=10,
      json='true',
  )
  assert result.returncode == 0, result.stderr
  value = json.loads(result.stdout)
  assert value['num_episodes'] == 10
  assert 0.0 < value['value'] < 1.0
  assert value['standard_error'] > 0.0


@pytest.mark.parametrize(
    'name, flags, parts',
    [
        ('evaluate_policy', {'env': 'Hoper-v4'}, ['Hoper-v4', 'Hopper-v4']),
        (
            'evaluate_policy',
            {'env': 'Pendulum-v1', 'policy': 'random', 'num_episodes': 0},
            ['num_episodes'],
        ),
        (
            'evaluate_policy',
            {'env': 'Pendulum-v1', 'policy': 'random', 'gamma': 1.5},
            ['gamma'],
        ),
        ('collect_dataset', _collect_flags(), ['--dataset_dir']),
        (
            'collect_dataset',
            _collect_flags(num_transitions=-5, dataset_dir='x'),
            ['num_transitions'],
        ),
        (
            'collect_dataset',
            _collect_flags(setting='noise', dataset_dir='x'),
            ['--setting=noise', 'hard'],
        ),
        (
            'collect_dataset',
            _collect_flags(policy='/nowhere', dataset_dir='x'),
            ['--policy=/nowhere'],
        ),
        (
            'collect_dataset',
            _collect_flags(reverb_address='localhost:1', server_timeout=2),
            ['--reverb_address=localhost:1', 'does not answer'],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_bad_input_is_one_line(name, flags, parts):
  _expect_error(_run(name, **flags), *parts)


@pytest.mark.parametrize(
    'name', ['collect_dataset', 'evaluate_policy', 'replay_server', 'run_ope']
)
def test_full_help_shows_the_binarys_flags_in_whole_sentences(name):
  program = f'binaries/{name}.py', '--helpfull'
  if name == 'run_ope':  # In a Python of its own, with all of its imports.
    result = subprocess.run(
        [sys.executable, *program],
        cwd=source_tree.ROOT,
        capture_output=True,
        text=True,
    )
  else:
    result = warm_processes.run(*program)
  assert (result.returncode, result.stderr) == (0, '')
  assert '--alsologtostderr' not in result.stdout
  # The name of a group stands alone, between two flags.
  flags = re.sub(r'\n\n[A-Z][a-z]+\n', '\n', result.stdout)
  texts = re.split(r'^  --(\S+)\n', flags, flags=re.MULTILINE)[1:]
  texts = dict(zip(texts[::2], texts[1::2]))
  for flag, text in texts.items():
    text = ' '.join(text.split())
    text = re.sub(r'^<[^>]*>: | \(default: .*\)$', '', text)
    assert text[0].isupper() and text.endswith('.'), f'--{flag}: {text}'
  if name != 'replay_server':
    numbers = {'behaviour_policy', 'behaviour_sigma', 'uniform_probability'}
    assert texts.keys() >= numbers | {'epsilon', 'greedy_probability'}
    assert ('target_sigma' in texts) == (name != 'collect_dataset')
