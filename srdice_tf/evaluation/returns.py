"""What the logged episodes themselves came to."""

import numpy as np

from srdice_tf import results
from srdice_tf.data import datasets


def of_dataset(
    dataset: datasets.Dataset, gamma: float
) -> results.EpisodeReturns:
  """Returns the mean returns of the episodes that ended by themselves.

  Args:
    dataset: of whole episodes, or parts of them.
    gamma: discount.
  """
  rewards = dataset.rewards.numpy().astype(np.float64)  # [n]
  episodes, size = dataset.episodes.numpy(), dataset.num_initial_states
  has_ended = np.zeros(size, bool)  # [m]
  has_ended[episodes[dataset.not_done.numpy() == 0.0]] = True
  sums = lambda values: np.bincount(episodes, values, size)[has_ended]
  num_ended = int(has_ended.sum())
  discounts = gamma ** dataset.steps.numpy().astype(np.float64)  # [n]
  mean = lambda values: float(sums(values).mean()) if num_ended else None
  return results.EpisodeReturns(
      num_ended, size - num_ended, mean(rewards), mean(discounts * rewards)
  )
