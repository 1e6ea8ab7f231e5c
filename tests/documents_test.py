"""Tests that the documents name what there is, and figures that were found."""

import ast
import collections
import itertools
import json
import re
import tomllib

import pandas as pd
import pytest

from srdice_tf import results
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import costs
from srdice_tf.experiments import designs
from srdice_tf.experiments import known_experiments
from srdice_tf.experiments import own_experiments
from srdice_tf.experiments import runs
from srdice_tf.experiments import scales
from srdice_tf.experiments import tasks
from srdice_tf.reports import paper_claims
from tests import documents
from tests import result_tables
from tests import source_tree

_ROOT = source_tree.ROOT
_RESULTS = _ROOT / 'srdice_tf/experiments/results'
_BEYOND = 'srdice_tf/experiments/results/beyond.md'
_README_BLOCKS = documents.blocks(documents.README)
# A number; not a part of a word, of a version or of an environment's id.
_NUMBER = re.compile(r'(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.]*\w)%?')
_FILE = re.compile(r'[\w./-]*\w\.(?:py|sh|md|csv|txt|svg|png|toml)')
# Files of users, and of runs, that documents speak of.
_THEIRS = {
    'results.csv', 'curve.png', 'log.csv', 'metrics.csv', 'evaluations.csv',
    'linear_srdice_trials.csv', 'train_Humanoid-v4.png',
}


def _figures(table):
  return [_NUMBER.findall(re.sub('`[^`]*`', '', row)) for row in
          table.text.splitlines()]


def test_the_readme_is_short():
  assert len(documents.read(documents.README).splitlines()) <= 200


@pytest.mark.parametrize('path', documents.files())
def test_links_resolve(path):
  for target, file in documents.links(path):
    assert file.exists(), f'{path}: {target}'


@pytest.mark.parametrize('path', documents.files())
def test_files_exist(path):
  names = {name for text in documents.spans(path)
           for name in _FILE.findall(text)}
  for block in documents.blocks(path):
    names |= {word for words in documents.commands(block) for word in words
              if word.startswith(('binaries/', 'tests/'))}
  places = _ROOT, (_ROOT / path).parent, _ROOT / 'binaries', _ROOT / 'srdice_tf'
  known = {p.name for top in ('srdice_tf', 'tests')
           for p in (_ROOT / top).rglob('*') if p.is_file()}
  for name in names - _THEIRS:
    found = any((place / name).exists() for place in places)
    assert found or name in known, f'{path}: {name}'


@pytest.mark.parametrize('path', documents.files())
def test_flags_exist(path):
  flags = documents.flags()
  every = set().union(*flags.values()) | {'help', 'helpfull', 'lock', 'version'}
  for program, *words in (w[1:] for w in documents.all_commands(path) if w[1:]):
    named = {documents.FLAG.match(w)[1] for w in words if w[:2] == '--'}
    known = {*flags.get(program, every)}
    assert named <= known, f'{path}: {program} {named - known}'
  for text in documents.spans(path):
    names = {*documents.FLAG.findall(text)}
    negated = {f'no{name}' for name in names}
    assert names <= every or negated <= every, f'{path}: {text}'


@pytest.mark.parametrize('path', documents.files())
def test_values_of_flags_exist(path):
  """Methods, experiments, presets and what else a flag has a list of."""
  known = {}
  for program in documents.flags().values():
    for flag, values in program.items():
      known.setdefault(flag, set()).update(values)
  known['algo'] = {*registry.ESTIMATORS}
  known['experiment'] = {*known_experiments.EXPERIMENTS}
  known['scale'] = {*scales.SCALES}
  assert known['preset'] and known['agent']
  for flag, value in documents.VALUE.findall(documents.read(path)):
    if known.get(flag):
      assert {*value.split(',')} <= known[flag], f'{path}: --{flag}={value}'


def test_commands_are_installed():
  content = tomllib.loads((_ROOT / 'pyproject.toml').read_text())
  named = {text for text in documents.spans(documents.README)
           if re.fullmatch(r'srdice-[\w-]+', text)}
  assert named
  assert named <= {*content['project']['scripts']}


def test_methods_and_experiments_are_all_there():
  methods, figures = (
      ' '.join(table.text for table in _README_BLOCKS
               if table.kind == 'table' and head in table.text)
      for head in ('| `--algo` |', '| figure |')
  )
  assert {*re.findall(r'`(\w+)`', methods)} >= {*registry.ESTIMATORS}
  assert {*re.findall(r'^\| `(\w+)`', methods, re.M)} <= {*registry.ESTIMATORS}
  own = {*own_experiments.EXPERIMENTS}  # Not the paper's.
  known = {*known_experiments.EXPERIMENTS}
  assert {*re.findall(r'`(\w+)`', figures)} == known - own


def _tables_of_figures():
  return [b for b in _README_BLOCKS if b.mark.startswith('figures: ')]


def test_tables_without_a_file_have_no_figures():
  tables = [b for b in _README_BLOCKS if b.kind == 'table']
  for table in tables:
    if table not in _tables_of_figures():
      head, rows = documents.rows(table)
      if head[0] in ('figure', 'it says'):  # Numbers of figures; of errors.
        continue
      assert not any(_figures(table)), table.text
  assert len(_tables_of_figures()) == 2


def _shown(value: float, text: str) -> bool:
  """Whether a value, rounded as the text is, is the text."""
  number = text.removesuffix('%')
  value *= 100.0 if text.endswith('%') else 1.0
  digits = len(number.partition('.')[2])
  return float(f'{value:.{digits}f}') == float(number)


@pytest.mark.parametrize('table', _tables_of_figures(), ids=lambda t: t.mark)
def test_each_figure_is_in_its_file(table):
  file, *conditions = table.mark.removeprefix('figures: ').split()
  found = pd.read_csv(_ROOT / file)
  for condition in conditions:
    name, _, pattern = condition.partition('=')
    found = found[found[name].astype(str).str.fullmatch(pattern)]
  head, rows = documents.rows(table)
  count = 0
  for row, (place, cell) in itertools.product(rows, enumerate(head)):
    if not _NUMBER.fullmatch(row[place]):
      continue
    key, column = row[0].strip('`'), cell.strip('`')
    own = found[found.iloc[:, 0] == key]
    error = 'error' if 'error' in own else 'relative_error'
    values = (
        own[column] if column in own
        else own[own['method'] == column][error]
    )
    # Of several data sets it is their mean.
    assert len(values), (key, column)
    assert _shown(values.mean(), row[place]), (key, column, row[place])
    count += 1
  # Each number of each row was looked at.
  assert count == sum(map(len, _figures(table)))


def test_tables_of_results_are_those_of_the_kept_runs():
  blocks = [b for found in result_tables.marked().values() for b in found]
  for block in blocks:
    assert block.text == result_tables.render(block.mark), (
        f'{block.mark}: run python -m tests.result_tables'
    )
  assert len(blocks) >= 3


def test_the_page_of_claims_has_each_with_its_rule_and_figures():
  text = documents.read('srdice_tf/experiments/results/claims.md')
  parts = {
      part.partition('\n')[0]: ' '.join(part.split())
      for part in text.split('\n## ')[1:]
  }
  assert list(parts) == [claim.words for claim in paper_claims.CLAIMS]
  known = result_tables.names()
  for claim in paper_claims.CLAIMS:
    part, name = parts[claim.words], f'claim_{claim.name}'
    assert f'{claim.where}. Rule: {claim.rule}' in part, claim.name
    assert (f'<!-- table: {name} -->' in part) == (name in known), claim.name


def test_the_readme_counts_the_claims():
  text = documents.read('srdice_tf/experiments/results/claims.md')
  (table,) = (b for b in documents.blocks(
      'srdice_tf/experiments/results/claims.md') if b.mark == 'table: claims')
  _, rows = documents.rows(table)
  assert len(rows) == text.count('\n## ')
  rows = [row for row in rows if not row[1].startswith('Not in the paper')]
  counts = collections.Counter(row[2].split()[0] for row in rows)
  assert (
      f'Of its {len(rows)} sentences\non results [{counts["confirmed"]} are'
      f' confirmed, {counts["refuted"]} refuted and {counts["open"]} open]'
  ) in documents.read(documents.README)


def test_errors_of_what_is_recommended():
  """The table of beyond.md, by the rule as it is and the runs that are kept."""
  runs = _RESULTS / 'runs/desk/beyond.jsonl'
  found = {}
  for line in runs.read_text().splitlines():
    line = json.loads(line)
    if line['run'].startswith('closed/'):
      evaluation = results.from_json(line['result'], str(runs), '')
      best, truth = evaluation.recommended, evaluation.truth.value
      place = evaluation.env_id.partition('-')[0], evaluation.seed
      error = 100.0 * abs(best.value - truth) / abs(truth)
      found[place] = error, best.method
  (table,) = (b for b in documents.blocks(_BEYOND) if b.text.startswith(
      '| error in % |'))
  head, rows = documents.rows(table)
  for seed, row in enumerate(rows[:-1]):
    for env, cell in zip(head[1:], row[1:]):
      error, method = found.pop((env, seed))
      named = '' if method == 'dr' else f' (`{method}`)'
      assert cell == f'{error:.1f}{named}', (env, seed)
  assert not found


def test_costs_are_those_of_the_list_of_experiments():
  rows = pd.read_csv(_RESULTS / 'costs.csv').set_index('method')
  minutes = {}
  for env, column in (('HalfCheetah-v4', 'vectors'), ('ALE/Pong-v5', 'frames')):
    values = presets.preset('paper', is_frames=column == 'frames')
    for name in designs.SR_METHODS + designs.DICE_METHODS:
      config = runs.RunConfig(tasks.TaskConfig(env), (name,), values, 0)
      taken = sum(cost for _, cost in costs.phases(config).values())
      minutes[name, column] = taken / 60
      assert rows[column][name] == pytest.approx(taken / 60, abs=0.051)
  both = minutes['srdice_closed', 'vectors'] + minutes['deep_td', 'vectors']
  assert rows['vectors']['dr'] == pytest.approx(both, abs=0.2)


def test_the_output_is_that_of_the_run():
  (block,) = (b for b in _README_BLOCKS if b.mark.startswith('output: '))
  whole = (_ROOT / block.mark.removeprefix('output: ')).read_text()
  assert block.text in whole
  row = pd.read_csv(_RESULTS / 'hopper_srdice.csv').iloc[0]
  shown = re.search(r'^srdice .*unsure$', block.text, re.M)[0].split()[1:-1]
  names = 'value low high truth truth_error relative_error log_error'.split()
  for name, text in zip(names, shown, strict=True):
    assert _shown(row[name], text), name


def test_verdicts_were_as_often_right_as_documents_say():
  rows = pd.read_csv(_RESULTS / 'verdict.csv')
  rows = rows[rows['half'] == 'report']
  near = rows['error'] <= 0.1
  usable, bad = rows['grade'] == 'usable', rows['grade'] == 'do_not_use'
  brief = ' '.join(documents.read(documents.README).split())
  assert (
      f'{sum(near & usable)} of {sum(usable)} estimates called usable were'
      f' within 10% of the truth, and {sum(near & bad)} of {sum(bad)} called do'
      ' not use' in brief
  )
  whole = ' '.join((_RESULTS / 'README.md').read_text().split())
  within = sum(usable & (rows['error'] <= 0.15))
  assert (
      f'{sum(near & usable)} of {sum(usable)} called usable are within 10% of'
      f' the truth and {within} within 15%, {sum(~near & bad)} of {sum(bad)}'
      f' called do not use are not within 10%; of all {len(rows)},'
      f' {sum(near)} are.' in whole
  )


def _sources() -> dict[str, str]:
  """Returns the text of each class and module of the package, by its name."""
  found = {}
  for path in source_tree.files():
    if path.startswith('srdice_tf/'):
      text = (_ROOT / path).read_text()
      found[path.removesuffix('.py').rpartition('/')[2]] = text
      for node in source_tree.tree(path).body:
        if isinstance(node, ast.ClassDef):
          found[node.name] = ast.get_source_segment(text, node)
  return found


def test_names_of_code_exist():
  """What stands as `Class.name` or `module.name` in a document."""
  sources, count = _sources(), 0
  public = ''.join(
      (_ROOT / path).read_text()
      for path in ('srdice_tf/__init__.py', 'pyproject.toml')
  )
  for path in documents.files():
    for text in documents.spans(path):
      found = re.fullmatch(r'(\w+)\.(\w+)(?:\(.*\))?', text)
      if found and not _FILE.fullmatch(text):
        owner, name = found.groups()
        source = public if owner == 'srdice_tf' else sources.get(owner)
        if source is not None:
          assert re.search(rf'\b{name}\b', source), f'{path}: {text}'
          count += 1
  assert count > 15


def _defined(file) -> set[str]:
  """Returns the functions, classes and methods of a file."""
  found = set()
  for node in ast.parse(file.read_text()).body:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
      found.add(node.name)
    for inner in getattr(node, 'body', ()):
      if isinstance(inner, ast.FunctionDef):
        found.add(f'{node.name}.{inner.name}')
  return found


def test_each_equation_and_theorem_has_its_place_in_the_code():
  (table,) = (b for b in documents.blocks('srdice_tf/README.md')
              if b.text.startswith('| paper |'))
  covered, theorems = set(), set()
  for paper, _, file, names in documents.rows(table)[1]:
    file, names = file.strip('`'), re.findall(r'`([\w.]+)`', names)
    place = _ROOT if file.startswith('tests/') else _ROOT / 'srdice_tf'
    assert names and {*names} <= _defined(place / file), (file, names)
    theorems |= {*re.findall(r'theorem (\d)', paper)}
    numbers = [int(n) for n in re.findall(r'\((\d+)\)', paper)]
    is_range = ' to ' in paper
    covered |= {*(range(numbers[0], numbers[1] + 1) if is_range else numbers)}
  assert covered == {*range(1, 69)} and theorems == {*'1234'}


def test_errors_are_those_of_the_programs():
  """The longest words of each error are in a string of the sources."""
  strings = [(_ROOT / 'binaries/setup_venv.sh').read_text()]
  for path in source_tree.files():
    if not path.startswith('tests/'):
      strings += [node.value for node in ast.walk(source_tree.tree(path))
                  if isinstance(node, ast.Constant)
                  and isinstance(node.value, str)]
  (table,) = (b for b in _README_BLOCKS if b.text.startswith('| it says |'))
  lines = [row[0].strip('`') for row in documents.rows(table)[1]]
  assert len(lines) >= 5
  for line in lines:
    words = max(re.split(r'[^a-z ,;]+', line), key=len).strip()
    assert len(words) > 15
    assert any(words in text for text in strings), words
