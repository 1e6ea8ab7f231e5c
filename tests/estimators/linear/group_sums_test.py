"""Coverage of the bootstrap on a chain that slips, against its exact value.

The five-state chain itself has no chance in it: all data that cover it give
the same value. Here a step goes the other way with probability 0.2.
"""

import numpy as np
import pytest

from srdice_tf.estimators.linear import group_sums
from srdice_tf.evaluation import intervals

_GAMMA = 0.9
_NUM_STATES, _SLIP = 5, 0.2
_BEHAVIOUR, _TARGET = 0.5, 0.8  # Probabilities of a step to the right.
_NUM_GROUPS = 20


def _transition() -> np.ndarray:
  """Returns P [S, A, S]."""
  transition = np.zeros((_NUM_STATES, 2, _NUM_STATES))
  for state in range(_NUM_STATES):
    for action in range(2):
      for step, share in ((2 * action - 1, 1 - _SLIP), (1 - 2 * action, _SLIP)):
        after = min(max(state + step, 0), _NUM_STATES - 1)
        transition[state, action, after] += share
  return transition


def _exact_value() -> float:
  policy = np.array([1.0 - _TARGET, _TARGET])
  transition = _transition()
  states = np.einsum('a,san->sn', policy, transition)
  occupancy = (1.0 - _GAMMA) * np.linalg.solve(
      np.eye(_NUM_STATES) - _GAMMA * states.T, np.eye(_NUM_STATES)[0]
  )
  return float(occupancy @ states[:, -1])  # Arriving in the last pays 1.


def _sums(rng, num_episodes=40, length=25) -> group_sums.GroupSums:
  """Plays episodes and sums up one-hot features, by plain loops."""
  policy = np.array([1.0 - _TARGET, _TARGET])
  size = 2 * _NUM_STATES
  products = np.zeros((_NUM_GROUPS, size, size + 1))
  for episode in range(num_episodes):
    state = 0
    for _ in range(length):
      action = int(rng.uniform() < _BEHAVIOUR)
      slips = rng.uniform() < _SLIP
      after = state + (1 if action != slips else -1)
      after = min(max(after, 0), _NUM_STATES - 1)
      row = products[episode % _NUM_GROUPS, 2 * state + action]
      row[2 * state + action] += 1.0
      row[2 * after : 2 * after + 2] -= _GAMMA * policy
      row[-1] += after == _NUM_STATES - 1
      state = after
  each = num_episodes // _NUM_GROUPS
  starts = np.zeros((_NUM_GROUPS, size))
  starts[:, :2] = each * policy
  return group_sums.GroupSums(
      products=products,
      squares=np.full(_NUM_GROUPS, each * length, float),
      starts=starts,
      test_starts=np.zeros((_NUM_GROUPS, 0)),
      counts=np.full(_NUM_GROUPS, each * length, float),
      start_counts=np.full(_NUM_GROUPS, each, float),
      gamma=_GAMMA,
  )


def _interval(rng, ridge=1e-9):
  sums = _sums(rng)
  moments = sums.total(np.ones(_NUM_GROUPS))
  value = moments.value(moments.solve(ridge))
  draws = group_sums.bootstrap(sums, ridge, 200, rng)
  return value, intervals.of_draws(value, draws, _NUM_GROUPS)


def test_much_data_give_the_exact_value():
  sums = _sums(np.random.default_rng(0), num_episodes=2000)
  moments = sums.total(np.ones(_NUM_GROUPS))
  value = moments.value(moments.solve(1e-9))
  assert value == pytest.approx(_exact_value(), rel=0.02)


def test_intervals_hold_the_exact_value():
  """Of 100 independent data sets; 95 are expected, 90 to 100 allowed."""
  rng = np.random.default_rng(1)
  truth = _exact_value()
  found = [_interval(rng) for _ in range(100)]
  held = sum(i.low <= truth <= i.high for _, i in found)
  assert 90 <= held <= 100
  # And they are no wider than the values spread.
  spread = np.std([value for value, _ in found])
  mean_error = np.mean([i.standard_error for _, i in found])
  assert 0.8 * spread < mean_error < 1.25 * spread


def test_a_draw_is_a_solution_of_the_drawn_groups():
  sums = _sums(np.random.default_rng(2))
  (draw,) = group_sums.bootstrap(
      sums, 1e-9, 1, np.random.default_rng(3)
  )
  shares = np.full(_NUM_GROUPS, 1.0 / _NUM_GROUPS)
  weights = np.random.default_rng(3).multinomial(_NUM_GROUPS, shares)
  matrix = np.einsum('k,kfx->fx', weights, sums.products)
  size = 2 * _NUM_STATES
  theta = np.linalg.solve(matrix[:, :size], matrix[:, -1])
  value = 0.1 * np.array([1.0 - _TARGET, _TARGET]) @ theta[:2]
  assert draw == pytest.approx(value, rel=1e-6)


def test_a_feature_that_no_transition_has_weighs_nothing():
  """Pair 2 is entered from pair 0, but there is no transition out of it."""
  products = np.array([
      [0.5, -0.2, -0.2, 1.0],
      [0.0, 0.3, 0.0, 2.0],
      [0.0, 0.0, 0.0, 0.0],
  ])  # [F, F + 1], no test functions.
  moments = group_sums.Moments(
      products, trace=1.0, starts=np.array([0.6, 0.3, 0.1]),
      test_starts=np.zeros(0), gamma=0.9,
  )
  w = moments.solve(ridge=0.0)
  # By hand: 0.5 w0 = 0.1 * 0.6 and -0.2 w0 + 0.3 w1 = 0.1 * 0.3.
  np.testing.assert_allclose(w, [0.12, 0.18, 0.0], rtol=1e-12)
  assert moments.value(w) == pytest.approx(0.12 + 2 * 0.18)
