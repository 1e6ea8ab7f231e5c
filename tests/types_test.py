"""Tests that the types of what people import are right, with mypy."""

import re
import subprocess
import sys

import srdice_tf
from tests import source_tree

_PROGRAM = """
import numpy as np
import srdice_tf

logs = [srdice_tf.Episode([0.0, 1.0], [0.5], np.ones(1), is_terminal=False)]
found = srdice_tf.evaluate('pretrained', logs, algos=['srdice'])
reveal_type(found)
reveal_type(found['srdice'].value)
reveal_type(found['srdice'].interval)
if found.recommended:
  srdice_tf.save(found.recommended.estimator, 'somewhere')
reveal_type(srdice_tf.load('somewhere', 'pretrained', logs))
try:
  srdice_tf.load_policy('pretrained', 'Pendulum-v1')
except srdice_tf.UserError as error:
  print(error.details.upper())

srdice_tf.evaluate('pretrained', 3)
srdice_tf.evaluate('pretrained', logs, gama=0.9)
srdice_tf.no_such_name
"""
_REVEALED = [
    'srdice_tf.results.Evaluation',
    'builtins.float',
    'Union[tuple[builtins.float, builtins.float], None]',
    'srdice_tf.results.MethodResult',
]
_ERRORS = ['[arg-type]', '[call-arg]', '[attr-defined]']


def test_types_of_the_public_api(tmp_path):
  """One call of mypy for the API and a program that uses it: it is slow."""
  program = tmp_path / 'program.py'
  program.write_text(_PROGRAM)
  pyproject = (source_tree.ROOT / 'pyproject.toml').read_text()
  files = re.search(r'\[tool\.mypy\]\nfiles = \[(.*?)\]', pyproject, re.S)[1]
  process = subprocess.run(
      [
          sys.executable, '-m', 'mypy', '--cache-dir=/dev/null',
          *re.findall(r'"(.*?)"', files), program,
      ],
      capture_output=True,
      text=True,
      cwd=source_tree.ROOT,
      check=False,
  )
  lines = process.stdout.splitlines()
  ours = [line for line in lines if 'program.py:' in line]
  revealed = [line for line in ours if 'Revealed type' in line]
  assert re.findall(r'"(.*)"', '\n'.join(revealed)) == _REVEALED
  errors = [line.rsplit(' ')[-1] for line in lines if ' error: ' in line]
  assert errors == _ERRORS, process.stdout + process.stderr


def test_the_stub_has_the_public_names():
  stub = (source_tree.ROOT / 'srdice_tf' / '__init__.pyi').read_text()
  found = re.findall(r'^from srdice_tf\.(\S+) import (\w+) as \2$', stub, re.M)
  assert {name: module for module, name in found} == srdice_tf._PUBLIC
