"""Tests for arrays with one row a step: what is taken, assumed, refused."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import data
from srdice_tf import errors
from srdice_tf.data.sources import array_fields
from tests import collected_data


def _arrays(**fields):
  """Two episodes, of 3 steps to a terminal state and of 2 that are cut."""
  arrays = {
      'observations': [[0.0, 0], [0, 1], [0, 2], [1, 0], [1, 1]],
      'actions': [[0.1], [0.2], [0.3], [0.4], [-0.5]],
      'rewards': [1, 2, 3, 4, 5],
      'terminals': [0, 0, 1, 0, 0],
      'timeouts': [False, False, False, False, True],
      **fields,
  }
  return {
      name: np.asarray(array)
      for name, array in arrays.items()
      if array is not None
  }


_NEXT = np.array([[0.0, 1], [0, 2], [0, 3], [1, 1], [1, 2]])


def _transitions(found):
  batch = found.dataset.batch(tf.range(found.dataset.num_transitions))
  return batch.states.numpy().tolist(), batch.next_states.numpy().tolist()


@pytest.mark.parametrize(
    'env_id', [collected_data.PENDULUM, collected_data.CARTPOLE]
)
def test_round_trip(env_id, monkeypatch):
  dataset = collected_data.dataset(env_id)
  arrays = collected_data.arrays(dataset)
  found = data.from_arrays(arrays)
  assert found.dataset.checksum() == dataset.checksum()
  assert found.notes == () and not found.bounds_known
  monkeypatch.setattr(array_fields, '_BLOCK_BYTES', 100)  # Many blocks.
  assert data.from_arrays(arrays).dataset.checksum() == dataset.checksum()


def test_with_next_observations():
  found = data.from_arrays(_arrays(next_observations=_NEXT))
  states, next_states = _transitions(found)
  assert states == _arrays()['observations'].tolist()
  assert next_states == _NEXT.tolist()
  np.testing.assert_array_equal(found.dataset.not_done, [1, 1, 0, 1, 1])
  np.testing.assert_array_equal(found.dataset.episodes, [0, 0, 0, 1, 1])
  np.testing.assert_array_equal(found.dataset.rewards, [1, 2, 3, 4, 5])
  assert found.action_spec.minimum == np.float32(-0.5)
  assert found.action_spec.maximum == np.float32(0.4)


def test_without_next_observations():
  found = data.from_arrays(_arrays())
  states, next_states = _transitions(found)
  assert states == [[0, 0], [0, 1], [0, 2], [1, 0]]
  assert next_states == [[0, 1], [0, 2], [0, 2], [1, 1]]
  np.testing.assert_array_equal(found.dataset.not_done, [1, 1, 0, 1])
  np.testing.assert_allclose(found.dataset.actions[:, 0], [0.1, 0.2, 0.3, 0.4])
  cut, ended = found.notes
  assert cut.startswith('the last steps of 1 episodes are left out')
  assert ended.startswith('the terminal states of 1 episodes are not')


def test_the_last_row_ends_an_episode():
  found = data.from_arrays(_arrays(timeouts=None, next_observations=_NEXT))
  assert found.dataset.num_initial_states == 2
  assert found.dataset.not_done.numpy()[-1] == 1


def test_cut_episodes_of_one_step_are_left_out():
  found = data.from_arrays(_arrays(timeouts=[0, 0, 0, 1, 1]))
  assert found.dataset.num_initial_states == 1
  assert _transitions(found)[0] == [[0, 0], [0, 1], [0, 2]]
  assert found.notes[0].startswith('the last steps of 2 episodes')


def test_episode_ids_rule():
  ids = np.array(['b', 'b', 'b', 'a', 'a'])
  found = data.from_arrays(
      _arrays(terminals=None, timeouts=None, episode_ids=ids,
              next_observations=_NEXT)
  )
  np.testing.assert_array_equal(found.dataset.episodes, [0, 0, 0, 1, 1])
  np.testing.assert_array_equal(found.dataset.not_done, np.ones(5))
  assert 'no terminals are given' in found.notes[0]


def test_other_names_whole_numbers_and_other_arrays():
  found = data.from_arrays({
      'states': [0, 1, 4],
      'actions': [0, 2, 1],
      'rewards': [0.5, 0.5, 0.5],
      'terminations': [0, 0, 1],
      'log_probabilities': [-1.0, -2.0, -3.0],
      'colour': ['red'],
  })
  assert found.observation_spec.dtype == found.action_spec.dtype == tf.int64
  assert found.observation_spec.maximum == 4 and found.action_spec.maximum == 2
  np.testing.assert_array_equal(found.dataset.log_probabilities, [-1, -2, -3])
  assert found.notes[0] == 'not read: colour'
  assert 'an episode that was cut would go on' in found.notes[1]


def test_types_of_observations():
  vectors = data.from_arrays(_arrays(observations=np.ones((5, 2), np.int16)))
  assert vectors.observation_spec.dtype == tf.float32
  pictures = np.zeros((5, 4, 4, 2), np.uint8)
  frames = data.from_arrays(_arrays(observations=pictures))
  assert frames.observation_spec.dtype == tf.uint8
  assert frames.observation_spec.shape == (4, 4, 2)


_NAN = [[0.0, 0], [0, 1], [0, np.nan], [1, 0], [1, 1]]


@pytest.mark.parametrize('fields, found, expected', [
    ({'rewards': None}, 'there is no rewards, only observations, actions',
     'expected observations, actions, rewards and terminals or'),
    ({'terminals': None, 'timeouts': None}, 'nothing says where episodes end',
     'expected terminals or timeouts or episode_ids'),
    ({'states': [0] * 5}, 'two arrays of observations', 'expected one'),
    ({'observations': [0.0] * 5}, 'observations are float64[5]',
     'expected floats [n, ...] or whole numbers [n]'),
    ({'observations': 0}, 'observations are int64[]', 'expected floats'),
    ({'actions': [0.0] * 5}, 'actions are float64[5]',
     'expected floats [n, A] or whole numbers [n]'),
    ({'actions': [[0]] * 5}, 'actions are int64[5, 1]', 'or whole numbers [n]'),
    ({'rewards': [[0.0]] * 5}, 'rewards are float64[5, 1]', 'expected [n]'),
    ({'rewards': [0.0] * 4}, 'rewards has 4 rows, observations 5',
     'expected one row for each step'),
    ({'next_observations': [0] * 5}, 'next_observations are int64[5]',
     'expected the same shape'),
    ({'next_observations': _NEXT.astype(int)},
     'next_observations are int64[5, 2], observations float64[5, 2]',
     'kind of numbers'),
    ({'observations': _NAN}, 'observations has the value nan in row 2',
     'expected finite'),
    ({'next_observations': _NAN}, 'next_observations has the value nan in row'
     ' 2', 'expected finite'),
    ({'rewards': [0, 1, 1e300, 0, 0]}, 'rewards has the value 1e+300 in row 2',
     'expected finite'),
    ({'actions': [[0.0]] * 4 + [[np.inf]]}, 'actions has the value inf in row'
     ' 4', 'expected finite'),
    ({'actions': [0, -1, 0, 0, 0]}, 'actions has the value -1 in row 1',
     'whole numbers from 0'),
    ({'observations': [0, 1, -3, 0, 0]}, 'observations has the value -3',
     'whole numbers from 0'),
    ({'terminals': [0, 0, 2, 0, 0]}, 'terminals has the value 2 in row 2',
     'expected 0 or 1'),
    ({'timeouts': [0, 0.5, 0, 0, 0]}, 'timeouts has the value 0.5 in row 1',
     'expected 0 or 1'),
    ({'log_probabilities': [np.nan] * 5}, 'log_probabilities has the value nan',
     'expected finite'),
    ({'episode_ids': [0, 0, 0, 0, 0]}, 'row 2 ends an episode by terminals or',
     'expected them only in the last row'),
    ({'episode_ids': [0, 1, 1, 0, 0], 'terminals': None, 'timeouts': None},
     'episode_ids 0 comes again in row 3', 'one after the other'),
    ({'episode_ids': [0, 1, 2, 3, 4], 'terminals': None, 'timeouts': None},
     'each episode is one step', 'expected next_observations'),
    ({'next_observations': _NEXT[::-1]}, 'next_observations of 3 steps are not'
     ' the observations of the next row, the first in row 0',
     'give episode_ids or timeouts'),
    ({'rewards': ['a'] * 5}, 'rewards are of <U1', 'array of real numbers'),
    ({'actions': np.array([None] * 5)}, 'actions are of object',
     'array of real numbers'),
    ({name: [] for name in ('actions', 'rewards', 'terminals', 'timeouts')}
     | {'observations': np.zeros((0, 2)), 'actions': np.zeros((0, 1))},
     'there are no steps', ''),
    ({'observations': np.zeros((5, 0))}, 'observations are float64[5, 0]',
     'expected floats'),
])
def test_what_is_refused(fields, found, expected):
  with pytest.raises(errors.UserError) as info:
    data.from_arrays(_arrays(**fields), 'logs')
  message = str(info.value)
  assert message.startswith('logs: ') and '\n' not in message
  assert found in message and expected in message


def test_what_the_memory_cannot_hold_is_refused(monkeypatch):
  monkeypatch.setattr(
      array_fields.limits, 'available_bytes', lambda: 10
  )
  with pytest.raises(errors.UserError, match='observations need .* GiB'):
    data.from_arrays(_arrays())
