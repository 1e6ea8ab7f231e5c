"""Tests for the report: its files, and the page in a browser."""

import json
import re
import shutil
import subprocess
import warnings

from matplotlib import figure
import numpy as np
import pandas as pd
import pytest

from srdice_tf.experiments import finished_runs
from srdice_tf.reports import report_curves
from srdice_tf.reports import report_page
from srdice_tf.reports import report_parts
from srdice_tf.reports import report_tables
from srdice_tf.reports import run_records
from tests.reports import hand_made

_METHODS = {'srdice': -6.0, 'deep_td': -7.0, 'dual_dice': -1.0}
_CHROMIUM = shutil.which('chromium')


@pytest.fixture(name='report', scope='module')
def _report(tmp_path_factory):
  """Makes a report of several kinds of experiments; returns its directory."""
  root = tmp_path_factory.mktemp('runs')
  hard = root / 'hard'
  planned = [f'{env}/seed{seed}' for env in 'AB' for seed in range(3)]
  hand_made.write_experiment(hard, 'hard', [*planned, 'B/<seed3>'])
  for run in planned:
    hand_made.write_run(hard / run, run[0], int(run[-1]), _METHODS)
  size = root / 'ablation_size'
  hand_made.write_experiment(size, 'ablation_size')
  for number in (5000, 50_000):
    task = {'num_transitions': number}
    hand_made.write_run(size / str(number), 'A', 0, _METHODS, task=task)
  (root / 'chain').mkdir()
  lines = [f'tabular,srdice,{100 * i},-{i},-{i + 1}' for i in range(1, 5)]
  (root / 'chain' / 'chain.csv').write_text(
      '\n'.join(['features,method,step,0,1', *lines, ''])
  )
  hand_made.write_experiment(root / 'chain', 'chain')
  rewards = [f'A,0,{m},{i},-{i}.5' for m in ('srdice', 'behaviour')
             for i in range(9)]
  (root / 'random_rewards.csv').write_text(
      '\n'.join(['env,seed,method,reward,log_mse', *rewards, ''])
  )
  path = report_page.write(finished_runs.read(str(root)), str(root / 'report'))
  assert path == str(root / 'report' / 'report.html')
  return root / 'report'


def test_the_page_needs_nothing_else(report):
  page = (report / 'report.html').read_text()
  assert not re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="(?!data:)',
                        page)
  assert '@import' not in page and 'url(http' not in page
  ids = re.findall(r'\bid="([^"]+)"', page)
  assert len(ids) == len(set(ids))
  for name in re.findall(r'href="([\w.]+)"', page):
    assert (report / name).stat().st_size, name


def test_missing_runs_and_captions(report):
  page = (report / 'report.html').read_text()
  assert '1 of 7 runs are missing' in page
  assert 'hard/B/&lt;seed3&gt;' in page  # Names are text, not HTML.
  assert '3 seeds, 12,000 updates, minibatches of 256, scale “desk”.' in page
  assert 'python binaries/run_experiment.py --experiment=hard' in page
  assert '--ratio_batch_size=256' in page and 'tensorflow' in page


def test_files_beside_it(report):
  table = pd.read_csv(report / 'hard_table.csv')
  row = table[(table['task'] == 'A') & (table['method'] == 'SR-DICE')].iloc[0]
  assert row['runs'] == 3 and row['log error'] == pytest.approx(-5.9)
  latex = (report / 'hard_table.tex').read_text()
  assert r'\toprule' in latex and 'A & SR-DICE & 3 & ' in latex
  for name in ('hard_curves', 'hard_iqm', 'ablation_size_settings'):
    assert (report / f'{name}.png').read_bytes().startswith(b'\x89PNG')
  for name in ('chain_ratios', 'runs_errors'):
    assert (report / f'{name}.png').read_bytes().startswith(b'\x89PNG')
  assert not list(report.glob('*.tmp*'))
  verdicts = pd.read_csv(report / 'claims.csv')
  kinds = verdicts['verdict'].str.partition(' by ')[0]
  assert set(kinds) <= {'confirmed', 'refuted', 'open'}


def test_experiments_are_joined_without_a_warning():
  frames = [pd.DataFrame({'a': [i], 'b': [b]}) for i, b in ((1, None), (2, 3.))]
  with warnings.catch_warnings(action='error'):
    joined = report_page._joined(frames)
  assert list(joined['a']) == [1, 2]
  assert list(joined['b'].isna()) == [True, False]
  assert report_page._joined([]).empty


def test_phases_are_stacked():
  frame = pd.DataFrame([
      {'label': 'srdice', 'method': 'srdice', 'variant': '', 'seconds': 6.0,
       'phase_seconds': {'encoder': 1.0, 'srdice': 5.0}},
      {'label': 'srdice', 'method': 'srdice', 'variant': '', 'seconds': 8.0,
       'phase_seconds': {'encoder': 3.0, 'srdice': 5.0}},
      {'label': 'deep_td', 'method': 'deep_td', 'variant': '', 'seconds': 4.0,
       'phase_seconds': {}},
  ])
  times = report_curves.run_times(frame, 'times')
  assert [style.label for style in times.legend] == ['encoder', 'srdice']
  assert times.table.rows[0][:3] == ['SR-DICE', 2, 7.0]
  assert times.table.rows[0][4] == 'encoder 2.0, srdice 5.0'
  axes = figure.Figure().subplots()
  times.panels[0].draw(axes)
  bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
  assert bars == [(0.0, 2.0), (2.0, 5.0), (0.0, 4.0)]


def test_latex_is_escaped():
  table = report_parts.ReportTable('t', ('a_b', 'c'), [['50%', 1.5]], 'x')
  assert r'a\_b & c \\' in table.latex() and r'50\% & 1.500' in table.latex()


_PROBE = """
<script>
const problems = [];
window.addEventListener('error', (event) => problems.push(event.message));
window.addEventListener('load', () => {
  const sizes = [...document.querySelectorAll('.panel svg')].map((svg) => {
    const box = svg.getBoundingClientRect();
    const drawn = svg.querySelectorAll('path, use').length;
    return [Math.round(box.width), Math.round(box.height), drawn];
  });
  const table = document.querySelector('#table-hard_table');
  const column = [...table.tHead.rows[0].cells].findIndex(
      (cell) => cell.textContent === 'log error');
  const read = () => [...table.tBodies[0].rows].map(
      (row) => Number(row.cells[column].dataset.key));
  const head = table.tHead.rows[0].cells[column];
  head.querySelector('button').click();
  const up = read();
  head.querySelector('button').click();
  const seen = {problems, sizes, up, down: read(),
                width: document.documentElement.scrollWidth,
                window: window.innerWidth};
  const found = document.createElement('pre');
  found.id = 'found';
  found.textContent = JSON.stringify(seen);
  document.body.append(found);
});
</script>
"""


@pytest.mark.skipif(not _CHROMIUM, reason='no Chromium is installed')
@pytest.mark.parametrize('width', [1200, 500])  # Its narrowest window is 500.
def test_in_a_browser(report, tmp_path, width):
  page = (report / 'report.html').read_text()
  probed = tmp_path / 'probed.html'
  probed.write_text(page.replace('<head>', f'<head>{_PROBE}', 1))
  process = subprocess.run(
      [
          _CHROMIUM, '--headless', '--no-sandbox', '--disable-gpu',
          '--disable-quic', '--no-first-run', '--disable-background-networking',
          '--disable-component-update', '--disable-sync',
          f'--user-data-dir={tmp_path / "profile"}',
          '--enable-logging=stderr', f'--window-size={width},1000',
          '--dump-dom', probed.as_uri(),
      ],
      capture_output=True,
      text=True,
      timeout=120,
      check=True,
  )
  assert 'CONSOLE' not in process.stderr, process.stderr
  (text,) = re.findall(r'<pre id="found">(.*)</pre>', process.stdout)
  found = json.loads(text)
  assert found['problems'] == []
  assert len(found['sizes']) == page.count('class="panel"') > 8
  for size in found['sizes']:
    assert size[0] > 200 and size[1] > 80 and size[2] > 20, size
  assert found['up'] == sorted(found['up']) and len(found['up']) == 8
  assert found['down'] == found['up'][::-1]
  assert found['width'] <= found['window']  # Nothing sticks out sideways.


def test_a_column_for_each_task(tmp_path):
  methods = {'srdice': -6.0, 'deep_td': -7.0}
  for env, seed in (('A', 0), ('A', 1), ('B', 0)):
    hand_made.write_run(tmp_path / env / str(seed), env, seed, methods)
  hand_made.write_run(tmp_path / 'C', 'C', 0, {'srdice': -1.0})
  found = {
      table.name: table
      for table in report_page.tables(finished_runs.read(str(tmp_path)))
  }
  assert 'claims' in found and 'runs_iqm' in found
  table = found['runs_by_task']
  # The truth is 2; the second seed's log error is higher by 0.1.
  errors = [100.0 * np.sqrt(2.0 * np.exp(e)) / 2.0 for e in (-6.0, -5.9, -7.0)]
  (_, a, b, c), (_, _, td, none) = table.rows
  assert a == pytest.approx((errors[0] + errors[1]) / 2)
  assert b == pytest.approx(errors[0]) and td == pytest.approx(errors[2])
  assert c is not None and none is None
  assert '1 to 2' in table.caption
  assert table.markdown().splitlines() == [
      '| mean error in % | A | B | C |',
      '|---|---:|---:|---:|',
      f'| SR-DICE | {a:.1f} | {b:.1f} | {c:.1f} |',
      f'| Deep TD | {table.rows[1][1]:.1f} | {td:.1f} | - |',
  ]
  assert table.cells()[0][1]['text'] == f'{a:.1f}'


def test_a_row_for_each_method(tmp_path):
  for env, seed in (('A', 0), ('A', 1), ('B', 0)):
    methods = {'srdice': -6.0, 'deep_td': -7.0}
    hand_made.write_run(tmp_path / env / str(seed), env, seed, methods)
  (group,) = finished_runs.read(str(tmp_path))
  frame = run_records.frame(group)
  is_sr = frame['method'] == 'srdice'
  frame = frame.assign(
      low=np.where(is_sr, 1.0, np.nan), range_low=np.nan, range_high=np.nan,
      high=np.where(frame['seed'] == 1, 1.5, 2.5),  # The truth is 2.
  )
  looks = report_curves.styles(frame)
  table = report_tables.of_methods(frame, looks, 'methods')
  assert table.columns == [
      'method', 'runs', 'median error %', 'mean log error',
      'intervals that hold the truth', 'median seconds',
  ]
  srdice, deep_td = table.rows
  error = 100.0 * np.sqrt(2.0 * np.exp(-6.0)) / 2.0
  assert srdice[:2] == ['SR-DICE', 3] and deep_td[:2] == ['Deep TD', 3]
  assert srdice[2] == pytest.approx(error)
  assert srdice[3] == pytest.approx((-6.0 - 5.9 - 6.0) / 3)
  assert (srdice[4], deep_td[4]) == ('2 of 3', None)
  assert srdice[5] == 10.0
  one = frame[frame['env'] == 'A']
  assert report_tables.of_methods(one, looks, 'methods') is None



def test_what_diverged_has_no_mean(tmp_path):
  for env in 'AB':
    hand_made.write_run(tmp_path / env, env, 0, {'srdice': -6.0})
  hand_made.write_run(tmp_path / 'A1', 'A', 1, {'srdice': float('nan')})
  tables = report_page.tables(finished_runs.read(str(tmp_path)))
  (table,) = (t for t in tables if t.name == 'runs_by_task')
  assert table.markdown().splitlines()[2].startswith('| SR-DICE | diverged |')


def test_a_bar_in_a_markdown_cell():
  table = report_parts.ReportTable('x', ['a'], [['b|c']])
  assert table.markdown() == '| a |\n|---|\n| b\\|c |\n'


def test_random_rewards_of_several_settings(tmp_path):
  hand_made.write_experiment(tmp_path, 'schedules_rewards')
  for setting, error in (('fast5', -1), ('fast9', -9)):
    for env in ('A', 'B'):
      directory = tmp_path / setting / env / 'seed0'
      directory.mkdir(parents=True)
      rows = [f'{env},0,srdice_lstd,0,{error}', f'{env},0,behaviour,0,-3']
      (directory / 'random_rewards.csv').write_text(
          '\n'.join(['env,seed,method,reward,log_mse', *rows, ''])
      )
  found = report_page.tables(finished_runs.read(str(tmp_path)))
  (table,) = (t for t in found if t.name == 'schedules_rewards_log_mse')
  assert table.rows == [
      ['SR-DICE, LSTD, fast5', -1.0, -1.0],
      ['ratio 1 (behaviour)', -3.0, -3.0],
      ['SR-DICE, LSTD, fast9', -9.0, -9.0],
  ]
  # The paper's claims are judged by the paper's experiments.
  assert not [t for t in found if t.name == 'claim_rewards_behaviour']


def test_random_rewards_stand_beside_the_papers(tmp_path):
  rows = [f'{env},0,{m},0,-5' for env in ('Ant-v4', 'Reacher-v4')
          for m in ('srdice', 'gradient_dice', 'srdice_lstd')]
  (tmp_path / 'random_rewards.csv').write_text(
      '\n'.join(['env,seed,method,reward,log_mse', *rows, ''])
  )
  tables = report_page.tables(finished_runs.read(str(tmp_path)))
  (table,) = (t for t in tables if t.name == 'runs_errors')
  printed = {tuple(row[:2]): row[-2:] for row in table.rows}
  assert printed['Ant-v4', 'SR-DICE'] == [-6.3, 81.9]
  assert printed['Ant-v4', 'GradientDICE'] == [-3.2, 16.7]
  assert printed['Ant-v4', 'SR-DICE, LSTD'] == [None, None]
  assert printed['Reacher-v4', 'SR-DICE'] == [None, None]
  (wide,) = (t for t in tables if t.name == 'runs_log_mse')
  assert wide.columns == ['mean log MSE', 'Ant-v4', 'Reacher-v4']
  assert ['GradientDICE', -5.0, -5.0] in wide.rows
