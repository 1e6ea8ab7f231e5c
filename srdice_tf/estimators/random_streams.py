"""Random streams that depend on a seed and a name, and on nothing else.

So each estimator draws the same numbers, whatever else a run holds.
"""

import hashlib

import numpy as np
import tensorflow as tf

START_POOL = 'start_pool'  # The stream of the start pairs, which all share.


def stable_hash(name: str) -> int:
  """Returns a number that is the same in every process, unlike hash()."""
  return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def generator(seed: int, name: str) -> tf.random.Generator:
  """Returns TensorFlow's generator of the stream."""
  state = np.random.SeedSequence([seed, stable_hash(name)])
  return tf.random.Generator.from_seed(int(state.generate_state(1)[0]))


def numpy_generator(seed: int, name: str) -> np.random.Generator:
  """Returns numpy's generator of the stream."""
  return np.random.default_rng([seed, stable_hash(name)])
