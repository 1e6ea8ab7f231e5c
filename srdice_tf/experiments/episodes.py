"""Parts of a data set, each of whole episodes."""

import numpy as np

from srdice_tf import errors
from srdice_tf.estimators import random_streams


def split(
    num_episodes: int, fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the numbers of the episodes to fit and of those held out.

  Raises:
    UserError: if one of the two would be empty.
  """
  num_held_out = round(fraction * num_episodes)
  if not 0 < num_held_out < num_episodes:
    raise errors.UserError(
        'holdout_fraction',
        fraction,
        f'of {num_episodes} episodes that are {num_held_out}; expected at least'
        ' one held out and one to fit',
    )
  rng = random_streams.numpy_generator(seed, 'holdout')
  order = rng.permutation(num_episodes)
  return np.sort(order[num_held_out:]), np.sort(order[:num_held_out])


def part(dataset, number: int, num_parts: int):
  """Returns one of several parts of a data set, with about as many episodes.

  Raises:
    UserError: if there are fewer than two episodes for each part.
  """
  num_episodes = dataset.num_initial_states
  if num_episodes < 2 * num_parts:
    raise errors.UserError(
        'num_parts',
        num_parts,
        f'there are {num_episodes} episodes; expected two for each part, from'
        ' a larger num_transitions',
    )
  parts = np.array_split(np.arange(num_episodes), num_parts)
  return dataset.of_episodes(parts[number])
