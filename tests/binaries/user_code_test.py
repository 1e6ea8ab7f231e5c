"""Tests of the binaries with environments and policies that fail."""

import json
import os

from tests import source_tree
from tests import warm_processes


def _run(name, **flags):
  return warm_processes.run(
      f'binaries/{name}.py',
      *warm_processes.flags(flags),
      env={**os.environ, 'PYTHONPATH': str(source_tree.ROOT)},
  )


def test_the_traceback_of_an_environment_stands_below_the_line(tmp_path):
  result = _run(
      'collect_dataset',
      env='tests.environments.failing:TestFailing-raise-v0',
      policy='untrained',
      num_transitions=200,
      num_envs=2,
      dataset_dir=tmp_path,
  )
  assert result.returncode == 1
  lines = result.stderr.splitlines()
  (at,) = [i for i, line in enumerate(lines) if line.startswith('error: ')]
  assert 'TestFailing-raise-v0: episode 0, step 3: ZeroDivision' in lines[at]
  assert lines[at + 1] == 'Traceback (most recent call last):'
  assert 'tests/environments/failing.py' in lines[at + 2]
  library = str(source_tree.ROOT / 'srdice_tf')
  assert library not in ''.join(lines[at:])
  description = json.loads((tmp_path / 'dataset.json').read_text())
  assert description['counts']['transitions'] == 4
