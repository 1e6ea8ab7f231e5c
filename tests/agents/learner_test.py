"""Tests of replay: what is stored, how it is sampled, how it is restored."""

import numpy as np
import pytest
from tf_agents.specs import array_spec

from srdice_tf.agents import collector
from srdice_tf.agents import configs
from srdice_tf.agents import ddqn
from srdice_tf.agents import item_learner
from srdice_tf.agents import tensor_learner

_OBSERVATIONS = array_spec.ArraySpec((3,), np.float32)
_ACTIONS = array_spec.BoundedArraySpec((), np.int64, 0, 3)


def _config(**settings):
  defaults = dict(batch_size=4, replay_capacity=12, block_steps=4)
  return configs.DdqnConfig(**{**defaults, **settings})


def _agent(config):
  return ddqn.make_agent(_OBSERVATIONS, _ACTIONS, config, seed=0)


def _block(first: int, count: int):
  """Transitions that are told apart by their rewards."""
  rng = np.random.default_rng(first)
  return collector.Steps(
      observation=rng.normal(size=(count, 3)).astype(np.float32),
      action=rng.integers(4, size=count),
      reward=np.arange(first, first + count, dtype=np.float32),
      discount=(np.arange(count) % 2).astype(np.float32),
      next_observation=rng.normal(size=(count, 3)).astype(np.float32),
  )


@pytest.fixture
def tensors():
  config = _config()
  made = []

  def make():
    made.append(tensor_learner.TensorLearner(_agent(config), config, 100))
    return made[-1]

  yield make
  for learner in made:
    learner.close()


@pytest.fixture
def items():
  made = []

  def make(**settings):
    config = _config(replay_capacity=100, **settings)
    learner = item_learner.ItemLearner(_agent(config), config)
    made.append(learner)
    return learner

  yield make
  for learner in made:
    learner.close()


def _rewards(learner):
  return learner._rows.numpy()[:, 4]  # After 3 observations and the action.


def test_a_row_holds_a_transition(tensors):
  learner, block = tensors(), _block(0, 4)
  learner.add(block)
  unpacked = learner._unpack(learner._rows[:4])
  for stored, given in zip(unpacked, block):
    np.testing.assert_array_equal(stored, given.astype(np.float32))


def test_the_oldest_rows_are_replaced(tensors):
  learner = tensors()
  for first in (0, 5, 10):
    learner.add(_block(first, 5))
  expected = [12, 13, 14, 3, 4, 5, 6, 7, 8, 9, 10, 11]
  np.testing.assert_array_equal(_rewards(learner), expected)


@pytest.mark.parametrize('num_blocks', [1, 2, 3, 5])
def test_rows_are_restored_to_their_places(tensors, tmp_path, num_blocks):
  original, restored = tensors(), tensors()
  for i in range(num_blocks):
    original.add(_block(5 * i, 5))
  original.save(str(tmp_path))
  restored.restore(str(tmp_path))
  np.testing.assert_array_equal(_rewards(restored), _rewards(original))
  for learner in (original, restored):
    learner.add(_block(100, 5))
  np.testing.assert_array_equal(_rewards(restored), _rewards(original))


def test_updates_are_counted_and_repeat_with_their_seed(tensors):
  losses = []
  for seed in ((0, 1), (0, 1), (0, 2)):
    learner = tensors()
    learner.add(_block(0, 8))
    losses.append(learner.learn(3, seed)['loss'])
    assert int(learner._agent.train_step_counter) == 3
  assert losses[0] == losses[1] != losses[2]


def test_samples_follow_the_priorities(items):
  learner = items(priority_exponent=0.5)
  learner.add(_block(0, 3))
  keys = {}
  for sample in learner._priorities.server.sample(100):
    keys[int(sample.data[2])] = sample.info.key
  priorities = {keys[0]: 1.0, keys[1]: 16.0, keys[2]: 25.0}
  learner._priorities.server.update_priorities(priorities)
  samples = learner._priorities.server.sample(4000)
  counts = np.bincount([int(s.data[2]) for s in samples], minlength=3)
  # Priorities to the power of a half: 1, 4, 5 of 10.
  np.testing.assert_allclose(counts / 4000, [0.1, 0.4, 0.5], atol=0.03)
  probability = {int(s.data[2]): s.info.probability for s in samples}
  np.testing.assert_allclose(
      [probability[i] for i in range(3)], [0.1, 0.4, 0.5], rtol=1e-5
  )


def test_importance_weights_undo_the_sampling(items):
  learner = items(priority_exponent=1.0, importance_exponent=1.0)
  learner.add(_block(0, 2))
  samples = learner._priorities.server.sample(50)
  keys = {int(s.data[2]): s.info.key for s in samples}
  learner._priorities.server.update_priorities({keys[0]: 1.0, keys[1]: 4.0})
  samples = learner._priorities.server.sample(50)
  weights = learner._priorities.importance_weights(samples)
  expected = [1.0 if s.data[2] == 0 else 0.25 for s in samples]
  np.testing.assert_allclose(weights, expected, rtol=1e-5)


def test_an_update_makes_large_errors_likely(items):
  learner = items(priority_exponent=1.0, batch_size=16)
  learner.add(_block(0, 4))  # Values are near 0: the errors are 0 to 3.
  learner.learn(10, (0, 0))
  samples = learner._priorities.server.sample(1000)
  counts = np.bincount([int(s.data[2]) for s in samples], minlength=4)
  assert counts[0] < counts[1] < counts[2] < counts[3]


def test_new_transitions_get_the_largest_priority(items):
  learner = items(priority_exponent=1.0)
  learner.add(_block(50, 4))
  learner.learn(4, (0, 0))
  assert learner._priorities.max_priority > 40.0
  learner.add(_block(0, 1))
  new = [s for s in learner._priorities.server.sample(500) if s.data[2] == 0.0]
  assert new[0].info.priority == pytest.approx(learner._priorities.max_priority)


def test_priorities_are_restored(items, tmp_path):
  original, restored = items(), items()
  original.add(_block(50, 4))
  original.learn(4, (0, 0))
  original.save(str(tmp_path))
  restored.restore(str(tmp_path))
  assert restored._priorities.max_priority == original._priorities.max_priority
  found = [
      {
          sample.info.key: sample.info.priority
          for sample in learner._priorities.server.sample(200)
      }
      for learner in (original, restored)
  ]
  assert found[0] == found[1]
