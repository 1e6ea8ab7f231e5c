"""A noisy walk in the plane: episodes of continuous states and actions."""

import numpy as np
from tf_agents.specs import array_spec

from srdice_tf.data import datasets
from srdice_tf.estimators import problems
from srdice_tf.networks import vector_inputs
from srdice_tf.policies import actions
from srdice_tf.policies import composed

GAMMA = 0.9
SPECS = (
    array_spec.BoundedArraySpec((2,), np.float32, -10.0, 10.0),
    array_spec.BoundedArraySpec((1,), np.float32, -1.0, 1.0),
)
_END_PROBABILITY = 0.03


def policy():
  """Returns the target policy: uniform, unlike the data's."""
  return composed.UniformPolicy(*SPECS)


def problem(dataset) -> problems.Problem:
  return problems.Problem(
      dataset,
      actions.target_actions(policy()),
      vector_inputs.VectorInputs(*SPECS),
      GAMMA,
  )


def dataset(
    seed: int, num_episodes: int = 40, length: int = 25
) -> datasets.Dataset:
  """Returns episodes that end in a terminal state or by a time limit."""
  rng = np.random.default_rng(seed)
  columns = zip(*(
      row for _ in range(num_episodes) for row in _episode(rng, length)
  ))
  rows, step_types, taken, rewards, not_done = map(np.asarray, columns)
  return datasets.Dataset.from_rows(
      rows.astype(np.float32),
      step_types,
      taken.astype(np.float32),
      rewards.astype(np.float32),
      not_done.astype(np.float32),
  )


def _episode(rng, length: int):
  """Yields state, step type, and the action, reward, discount before it."""
  state = 0.1 * rng.normal(size=2)
  yield state, 0, [0.0], 0.0, 1.0
  for _ in range(length):
    action = np.clip(0.5 * rng.normal(), -1.0, 1.0)
    noise = 0.1 * rng.normal(size=2)
    state = 0.9 * state + 0.2 * np.array([action, 0.5]) + noise
    ended = rng.uniform() < _END_PROBABILITY
    yield state, 1, [action], state[0] + 0.1 * action, 1.0 - ended
    if ended:
      return
