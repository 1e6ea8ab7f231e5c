"""Tests that all programs that compute a truth can be told how."""

import json

from tests import warm_processes

_SCRIPT = """
import importlib, json
from absl import flags
from binaries import common_flags

found = {}
for name in ('run_ope', 'run_study', 'run_coverage', 'evaluate_policy'):
  module = importlib.import_module(f'binaries.{name}')
  own = flags.FLAGS.get_key_flags_for_module(module)
  found[name] = [flag.name for flag in own]
  # The next one defines some of them again.
  for flag in own:
    delattr(flags.FLAGS, flag.name)
  common_flags._holders.clear()
print(json.dumps(found))
"""


def test_the_form_of_the_truth_is_a_flag_everywhere():
  process = warm_processes.run('-c', _SCRIPT)
  assert process.returncode == 0, process.stderr
  found = json.loads(process.stdout.splitlines()[-1])
  for name, flags in found.items():
    missing = {'keep_time_limit', 'truth_max_episodes', 'gamma'} - set(flags)
    assert not missing, name
    assert {'truth_episodes', 'num_episodes'} & set(flags), name
