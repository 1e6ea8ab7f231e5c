"""Tests of the checks of logged data, each finding there and not there."""

import dataclasses

import numpy as np
import pytest
from tf_agents.specs import tensor_spec

from srdice_tf import data
from srdice_tf import errors
from srdice_tf.data import finding
from srdice_tf.data import findings
from srdice_tf.data import logged
from srdice_tf.data.sources import array_checks
from srdice_tf.data.sources import array_fields


def _episode(rng, length, terminal=True, **fields):
  steps = rng.normal(size=(length + 1, 3)) * 0.1
  parts = dict(
      observations=rng.normal(size=3) + np.cumsum(steps, axis=0),
      actions=rng.uniform(-0.9, 0.9, (length, 2)),
      rewards=rng.normal(1.0, 0.1, length),
      is_terminal=terminal,
  )
  return data.Episode(**{**parts, **fields})


def _episodes(count=40, lengths=range(5, 15), terminal=True):
  rng = np.random.default_rng(0)
  lengths = np.resize(list(lengths), count)
  return [_episode(rng, length, terminal) for length in lengths]


def _with(episode, **fields):
  """Returns the episode; a field may be a function that changes a copy."""
  changed = {}
  for name, value in fields.items():
    if callable(value):
      array = getattr(episode, name).copy()
      value(array)
      value = array
    changed[name] = value
  return dataclasses.replace(episode, **changed)


def _logged(episodes, **fields):
  found = logged.described_by_itself(data.Dataset.from_episodes(episodes))
  return dataclasses.replace(found, **fields)


def _find(episodes, accepted=(), time_limit=None, **fields):
  return findings.find(_logged(episodes, **fields), time_limit, accepted)


def _one(found, name) -> finding.DataFinding:
  (one,) = [each for each in found if each.name == name]
  return one


def _names(episodes, **fields):
  return {each.name for each in _find(episodes, **fields)}


def _set(*place):
  *where, value = place
  return lambda array: array.__setitem__(tuple(where), value)


def test_nothing_is_found_in_good_data():
  assert not _find(_episodes())
  assert findings.check_logged(_logged(_episodes())) == []


@pytest.mark.parametrize('name', ['observations', 'actions', 'rewards'])
def test_numbers_that_are_not_finite(name):
  episodes = _episodes()
  where = (2,) if name == 'rewards' else (2, 0)
  episodes[1] = _with(episodes[1], **{name: _set(*where, np.nan)})
  one = _one(_find(episodes), 'not_finite')
  assert one.severity == finding.ERROR and name in one.text
  assert one.rows == (5 + 2,)
  assert one.first == 'the first is step 2 of episode 1'


def test_a_last_observation_is_of_the_step_that_leads_to_it():
  episodes = _episodes()
  episodes[0] = _with(episodes[0], observations=_set(5, 0, np.inf))
  assert _one(_find(episodes), 'not_finite').rows == (4,)


def test_missing_rewards_of_last_steps_are_called_so():
  episodes = [_with(each, rewards=_set(-1, np.nan)) for each in _episodes()]
  assert 'at the last steps' in _one(_find(episodes), 'not_finite').text
  episodes[3] = _with(episodes[3], rewards=_set(0, np.nan))
  assert 'at the last steps' not in _one(_find(episodes), 'not_finite').text


def test_flags_within_an_episode_and_between_0_and_1():
  rows = dict(
      rows=np.arange(6.0)[:, None],
      step_types=[0, 1, 1, 2, 0, 2],
      actions=np.arange(6.0)[:, None],
      rewards=np.arange(6.0),
  )
  for not_done, text in (([1, 1, 0, 1, 1, 0], 'goes on'),
                         ([1, 1, 1, 0.5, 1, 0], 'is 0.5')):
    dataset = data.Dataset.from_rows(**rows, not_done=not_done)
    found = findings.find(logged.described_by_itself(dataset))
    assert text in _one(found, 'flags').text
  dataset = data.Dataset.from_rows(**rows, not_done=[1, 1, 1, 0, 1, 1])
  found = findings.find(logged.described_by_itself(dataset))
  assert 'flags' not in {each.name for each in found}


def test_rewards_that_are_all_0_or_the_same():
  zeros = [_with(each, rewards=each.rewards * 0) for each in _episodes()]
  assert _one(_find(zeros), 'no_rewards').severity == finding.ERROR
  ones = [_with(each, rewards=each.rewards * 0 + 1) for each in _episodes()]
  assert _names(ones) == {'constant_rewards'}


@pytest.mark.parametrize('step, name', [(-1, 'terminal'), (0, 'first')])
def test_rewards_that_are_missing_at_an_end_of_episodes(step, name):
  episodes = [_with(each, rewards=_set(step, 0.0)) for each in _episodes()]
  one = _one(_find(episodes), f'{name}_rewards')
  assert one.severity == finding.WARNING
  assert one.rows[:2] == ((4, 10) if step else (0, 5))
  episodes[7] = _with(episodes[7], rewards=_set(step, 0.5))
  assert f'{name}_rewards' not in _names(episodes)
  # Sparse rewards are 0 at most steps.
  sparse = [_with(each, rewards=_set(slice(1, None), 0.0))
            for each in _episodes()]
  assert not _names(sparse) & {'terminal_rewards', 'first_rewards'}


def test_rewards_of_another_scale():
  episodes = _episodes()
  episodes[2] = _with(episodes[2], rewards=_set(0, -999.0))
  one = _one(_find(episodes), 'reward_outliers')
  assert one.rows == (5 + 6,) and '-999' in one.text


def test_actions_and_the_bounds_of_the_source():
  spec = tensor_spec.BoundedTensorSpec([2], np.float32, -1.0, 1.0)
  known = dict(action_spec=spec, bounds_known=True)
  episodes = _episodes()
  assert not _find(episodes, **known)
  episodes[1] = _with(episodes[1], actions=_set(3, 1, 1.5))
  one = _one(_find(episodes, **known), 'action_range')
  assert one.severity == finding.ERROR and one.rows == (5 + 3,)
  assert not _find(episodes)  # The bounds are those of the data.
  clipped = [_with(each, actions=np.clip(each.actions * 5, -1, 1))
             for each in _episodes()]
  assert _names(clipped, **known) == {'actions_at_bounds'}
  open_spec = tensor_spec.BoundedTensorSpec([2], np.float32, -np.inf, np.inf)
  assert not _find(episodes, action_spec=open_spec, bounds_known=True)


def test_discrete_actions_out_of_range_or_never_taken():
  rng = np.random.default_rng(1)
  episodes = [_with(each, actions=rng.integers(0, 3, len(each.rewards)))
              for each in _episodes()]
  assert not _find(episodes)
  spec = tensor_spec.BoundedTensorSpec([], np.int64, 0, 4)
  one = _one(_find(episodes, action_spec=spec), 'actions_not_taken')
  assert '2 of 5 actions are never taken (3, 4)' in one.text
  spec = tensor_spec.BoundedTensorSpec([], np.int64, 0, 1)
  wrong = _one(_find(episodes, action_spec=spec), 'action_range')
  assert wrong.severity == finding.ERROR and len(wrong.rows) > 50


def test_probabilities_that_are_no_logarithms():
  rng = np.random.default_rng(1)
  episodes = [
      _with(
          each,
          actions=rng.integers(0, 3, len(each.rewards)),
          log_probabilities=np.full(len(each.rewards), 0.3),
      )
      for each in _episodes()
  ]
  one = _one(_find(episodes), 'log_probabilities')
  assert one.severity == finding.ERROR
  right = [_with(each, log_probabilities=np.log(each.log_probabilities))
           for each in episodes]
  assert not _find(right)


def test_columns_that_never_change():
  episodes = [_with(each, observations=_set(slice(None), 1, 7.0))
              for each in _episodes()]
  one = _one(_find(episodes), 'constant_columns')
  assert 'observations: column 1 is always 7' in one.text
  episodes = [_with(each, actions=_set(slice(None), 0, 0.5))
              for each in _episodes()]
  one = _one(_find(episodes), 'constant_columns')
  assert 'actions: column 0 is always 0.5' in one.text


def test_errors_come_first_and_can_be_accepted():
  episodes = [_with(each, rewards=each.rewards * 0) for each in _episodes(20)]
  found = _find(episodes)
  assert [each.name for each in found] == ['no_rewards', 'few_episodes']
  found = _find(episodes, accepted=['no_rewards'])
  assert {each.severity for each in found} == {finding.WARNING}
  with pytest.raises(errors.UserError, match='^accept=nan: expected some of'):
    _find(episodes, accepted=['nan'])


def test_an_evaluation_is_refused_in_one_line():
  episodes = [_with(each, rewards=each.rewards * 0) for each in _episodes(1)]
  with pytest.raises(errors.UserError) as caught:
    findings.check_logged(_logged(episodes), 'data=x.npz')
  line = str(caught.value)
  assert line.startswith('data=x.npz: all rewards are 0')
  assert '1 more error; see python binaries/check_data.py --data=x.npz' in line
  assert 'accept=no_rewards' in line and '\n' not in line
  episodes = _episodes()
  episodes[1] = _with(episodes[1], rewards=_set(2, np.nan))
  with pytest.raises(errors.UserError, match=r'infinite \[row 7; the first is'):
    findings.check_logged(_logged(episodes))
  (warning,) = findings.check_logged(_logged(_episodes(20)))
  assert warning.startswith('20 episodes: intervals')


def test_rows_are_few_and_counted():
  assert finding.row_text(()) == ''
  assert finding.row_text((3,)) == 'row 3'
  assert finding.row_text(tuple(range(6))) == 'rows 0, 1, 2, 3, 4 and 1 other'
  many = finding.row_text(tuple(range(2000)))
  assert many == 'rows 0, 1, 2, 3, 4 and 1,995 others'


def test_rows_are_those_of_the_source():
  logs = np.where(np.arange(40) == 27, 0.3, -1.0)
  arrays = {
      'observations': np.random.default_rng(0).normal(size=(40, 2)),
      'actions': np.arange(40) % 3,
      'rewards': np.ones(40),
      'episode_ids': np.arange(40) // 10,
      'log_probabilities': logs,
  }
  # Steps 9 and 19 are left out: what follows them is not known.
  one = _one(findings.find(data.from_arrays(arrays)), 'log_probabilities')
  assert one.rows == (27,) and 'step 7 of episode 2' in one.first
  # A table's rows may have another order than the steps.
  origin = array_checks.Origin('log.csv', order=np.arange(40)[::-1])
  found = array_fields.load(arrays, 'log.csv', origin)
  assert _one(findings.find(found), 'log_probabilities').rows == (12,)
