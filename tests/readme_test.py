"""Tests that what the README shows works."""

import re

from srdice_tf.estimators import presets
from tests import source_tree

_README = (source_tree.ROOT / 'README.md').read_text()


def test_the_first_code_block_runs_as_it_stands(monkeypatch, capsys):
  """Word for word, but for the length of the schedule."""
  first = re.search(r'^(```.*?\n(.*?)```|    \S)', _README, re.M | re.S)
  assert first[0].startswith('```python')
  block = first[2]
  assert "policy, logs, algos=('srdice', 'deep_td'), gamma=0.99" in block
  short = {
      'encoder_steps': 5, 'successor_steps': 5, 'updates': 5, 'hidden_units': 8
  }
  monkeypatch.setitem(presets.PRESETS, 'quick', short)
  exec(compile(block, 'README.md', 'exec'), {})
  srdice, deep_td = capsys.readouterr().out.splitlines()
  assert re.match(r'srdice -?\d\S* \(.*, .*\) \d', srdice)
  assert re.match(r'deep_td -?\d\S* None None', deep_td)
