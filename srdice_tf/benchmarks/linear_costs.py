"""Speed of linear SR-DICE's pass over the data."""

import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec

from srdice_tf.benchmarks import measure
from srdice_tf.data import datasets
from srdice_tf.estimators import action_expectations
from srdice_tf.estimators import feature_maps
from srdice_tf.estimators import flow
from srdice_tf.estimators import problems
from srdice_tf.estimators.linear import group_sums
from srdice_tf.networks import vector_inputs
from srdice_tf.policies import actions
from srdice_tf.policies import base
from srdice_tf.policies import settings

# As HalfCheetah-v4 has them.
_NUM_STATES, _NUM_ACTIONS, _EPISODE = 17, 6, 1000
_GOAL = 0.7


def _problem(num_transitions: int) -> problems.Problem:
  """Returns a problem of random numbers: speed does not depend on them."""
  rng = np.random.default_rng(0)
  size = num_transitions + -(-num_transitions // _EPISODE)
  step_types = (np.arange(size) % (_EPISODE + 1) > 0).astype(int)
  dataset = datasets.Dataset.from_rows(
      rng.normal(size=(size, _NUM_STATES)).astype(np.float32),
      step_types,
      rng.uniform(-1, 1, (size, _NUM_ACTIONS)).astype(np.float32),
      rng.normal(size=size).astype(np.float32),
      np.ones(size, np.float32),
  )
  specs = (
      array_spec.ArraySpec((_NUM_STATES,), np.float32),
      array_spec.BoundedArraySpec((_NUM_ACTIONS,), np.float32, -1.0, 1.0),
  )
  policy = settings.target_policy(base.deterministic_policy(*specs))
  return problems.Problem(
      dataset,
      actions.target_actions(policy),
      vector_inputs.VectorInputs(*specs),
      0.99,
  )


def accumulating(
    num_transitions: int, num_features: int, rounds: int = 3
) -> list[measure.Measurement]:
  """Compares accumulating G and C, features included, with bare products.

  The bare products have the same shapes and precision. The ratio is the share
  of the reachable floating-point speed.
  """
  problem = _problem(num_transitions)
  standardisation = feature_maps.standardisation(problem)
  expectations = action_expectations.Expectations(
      problem, 4, tf.random.Generator.from_seed(0)
  )
  functions = flow.TestFunctions(expectations, standardisation)
  accumulator = group_sums.Accumulator(expectations, functions)
  features = feature_maps.RandomLayer(
      standardisation, num_features, 1.0, np.random.default_rng(0)
  )
  width = num_features + functions.num_functions + 1
  # A multiplication and an addition for each entry: of C beside the test
  # functions and rewards, and of G.
  work = 2 * problem.size * num_features * (width + num_features)
  chunk = group_sums.CHUNK
  left = np.random.default_rng(0).normal(size=(chunk, num_features))
  right = np.random.default_rng(1).normal(size=(chunk, width))
  repeats = max(problem.size // chunk, 1)

  def ours() -> int:
    accumulator.sums(features, 2)
    accumulator.gram(features)
    return work

  def bare() -> int:
    for _ in range(repeats):
      left.T @ right
      left.T @ left
    return 2 * repeats * chunk * num_features * (width + num_features)

  rates = measure.alternate({'ours': ours, 'bare': bare}, rounds)
  return [
      measure.at_least(
          f'accumulate G and C, F={num_features} / bare product',
          rates['ours'] / rates['bare'],
          _GOAL,
          f'{rates["ours"] / 1e9:.1f} of {rates["bare"] / 1e9:.1f} GFLOP/s in'
          f' float64, {problem.size:,} transitions',
      )
  ]
