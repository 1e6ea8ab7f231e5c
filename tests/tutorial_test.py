"""Tests that the tutorial for users of TF-Agents runs, in small."""

import re

from srdice_tf import tutorial
from tests import source_tree

_NUMBER = r'-?\d+\.\d+'
_SMALL = {'updates': 5, 'linear_num_features': 16, 'bootstrap_draws': 0}


def test_each_policy_is_evaluated_then_played(capsys):
  tutorial.main(num_policies=2, steps_between=80, num_episodes=1, **_SMALL)
  first, second, chosen, *played = capsys.readouterr().out.splitlines()
  grade = '(usable|unsure|do_not_use): .+'
  assert re.fullmatch(rf'\S+policy1: {_NUMBER}, {grade}', first)
  assert re.fullmatch(rf'\S+policy2: {_NUMBER}, {grade}', second)
  assert re.fullmatch(r'take (\S+policy[12]|none of them)', chosen)
  if 'do_not_use' in first and 'do_not_use' in second:
    assert chosen == 'take none of them'
  assert len(played) == 2
  for number, line in enumerate(played, 1):
    found = re.fullmatch(rf'\S+policy{number}: ({_NUMBER}) when played', line)
    # CartPole pays 1 a step, for 8 steps at least and 500 at most.
    assert 1 - 0.99**8 - 5e-4 <= float(found[1]) <= 1 - 0.99**500 + 5e-4


def test_it_is_short():
  text = (source_tree.ROOT / 'srdice_tf/tutorial.py').read_text()
  assert len(text.splitlines()) < 100
