"""The episodes that are held out of a fit."""

import numpy as np

from srdice_tf import errors
from srdice_tf.estimators import random_streams


def split_episodes(
    num_episodes: int, fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the numbers of the episodes to fit and of those held out.

  Raises:
    UserError: if one of the two would be empty.
  """
  num_held_out = round(fraction * num_episodes)
  if not 0 < num_held_out < num_episodes:
    raise errors.UserError(
        f'--holdout_fraction={fraction}: of {num_episodes} episodes that are'
        f' {num_held_out}; expected at least one held out and one to fit.'
    )
  order = random_streams.numpy_generator(seed, 'holdout')
  order = order.permutation(num_episodes)
  return np.sort(order[num_held_out:]), np.sort(order[:num_held_out])
