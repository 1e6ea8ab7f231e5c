"""Tests for reading all that was run below a directory."""

import json

import pytest

from srdice_tf import errors
from srdice_tf.experiments import finished_runs
from srdice_tf.reports import origins
from tests.reports import hand_made


def test_runs_belong_to_the_experiment_above_them(tmp_path):
  hard = tmp_path / 'desk' / 'hard'
  hand_made.write_experiment(hard, 'hard', ['A/seed0', 'A/seed1'])
  hand_made.write_run(hard / 'A' / 'seed0', 'A', 0, {'srdice': -3.0})
  hand_made.write_run(tmp_path / 'other', 'B', 4, {'deep_td': -3.0})
  loose, group = sorted(finished_runs.read(str(tmp_path)), key=lambda g: g.name)
  assert group.name == 'hard' and group.scale == 'desk'
  (record,) = group.records
  assert record.directory == 'desk/hard/A/seed0'
  assert record.evaluation.env_id == 'A' and record.config['seed'] == 0
  assert group.missing == ['desk/hard/A/seed1']
  (record,) = loose.records
  assert loose.name == '' and record.evaluation.seed == 4


def test_the_directory_of_the_experiment_itself(tmp_path):
  hand_made.write_experiment(tmp_path, 'hard', ['seed0', 'seed1'])
  hand_made.write_run(tmp_path / 'seed0', 'A', 0, {'srdice': -3.0})
  (group,) = finished_runs.read(str(tmp_path))
  assert group.name == 'hard' and group.missing == ['seed1']


def test_an_experiment_without_any_run_is_all_missing(tmp_path):
  hand_made.write_experiment(tmp_path / 'easy', 'easy', ['seed0'])
  hand_made.write_run(tmp_path / 'other', 'B', 4, {'deep_td': -3.0})
  groups = {group.name: group for group in finished_runs.read(str(tmp_path))}
  assert groups['easy'].missing == ['easy/seed0']


def test_further_tables(tmp_path):
  (tmp_path / 'chain').mkdir()
  (tmp_path / 'chain' / 'chain.csv').write_text(
      'features,method,step,0\ntabular,srdice,100,-1.5\n'
  )
  (tmp_path / 'random_rewards.csv').write_text(
      'env,seed,method,reward,log_mse\nA,0,srdice,3,-5.0\n'
  )
  (group,) = finished_runs.read(str(tmp_path))
  assert list(group.tables['chain']['0']) == [-1.5]
  assert list(group.tables['random_rewards']['log_mse']) == [-5.0]


def _fails(path) -> str:
  with pytest.raises(errors.UserError) as error:
    finished_runs.read(str(path))
  assert '\n' not in str(error.value)
  return str(error.value)


def test_no_runs_are_one_line(tmp_path):
  assert 'no run is finished there' in _fails(tmp_path)
  assert 'expected a directory' in _fails(tmp_path / 'none')


def test_a_half_written_result_is_one_line(tmp_path):
  hand_made.write_run(tmp_path, 'A', 0, {'srdice': -3.0})
  path = tmp_path / 'result.json'
  path.write_text(path.read_text()[:-100])
  assert _fails(tmp_path).startswith(f'{path}: cannot be read as JSON')


def test_the_others_are_read_beside_a_damaged_one(tmp_path):
  hand_made.write_run(tmp_path / 'good', 'A', 0, {'srdice': -3.0})
  hand_made.write_run(tmp_path / 'bad', 'A', 1, {'srdice': -3.0})
  (tmp_path / 'bad' / 'result.json').write_text('{')
  (tmp_path / 'bad' / 'chain.csv').write_text('a,b\n1,2\n')
  (group,) = finished_runs.read(str(tmp_path))
  assert [record.directory for record in group.records] == ['good']
  texts = list(map(str, group.damaged.values()))
  assert len(texts) == 2 and not group.tables
  assert texts[0].startswith(str(tmp_path / 'bad' / 'result.json'))


def test_runs_say_where_they_were_made(tmp_path):
  usual, other = {'Python': '3.11'}, {'Python': '3.12'}
  hand_made.write_experiment(tmp_path, 'hard', origin=usual)
  for seed in range(3):
    hand_made.write_run(tmp_path / f's{seed}', 'A', seed, {'srdice': -3.0})
  (tmp_path / 's1' / 'origin.json').write_text(json.dumps(other))
  (group,) = finished_runs.read(str(tmp_path))
  assert group.origins == {'s0': usual, 's1': other, 's2': usual}
  assert origins.of_runs(group) == [
      {'origin': usual, 'directories': ['s0', 's2']},
      {'origin': other, 'directories': ['s1']},
  ]


def test_a_result_of_another_version_is_one_line(tmp_path):
  hand_made.write_run(tmp_path, 'A', 0, {'srdice': -3.0})
  path = tmp_path / 'result.json'
  content = json.loads(path.read_text())
  path.write_text(json.dumps({**content, 'version': 0}))
  assert 'has the version 0, expected' in _fails(tmp_path)


def test_an_experiment_of_another_version_is_one_line(tmp_path):
  hand_made.write_run(tmp_path / 'run', 'A', 0, {'srdice': -3.0})
  hand_made.write_experiment(tmp_path, 'hard', version=0)
  assert 'experiment.json: has the version 0, expected' in _fails(tmp_path)


@pytest.mark.parametrize('content', ['', 'a,b\n1,2\n', '\x00\n"'])
def test_another_table_is_one_line(tmp_path, content):
  (tmp_path / 'chain.csv').write_text(content)
  assert 'chain.csv: ' in _fails(tmp_path)
