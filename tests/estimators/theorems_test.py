"""The paper's four theorems on random MDPs, in float64."""

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import finite
from srdice_tf.environments import finite_mdps
from srdice_tf.estimators import least_squares
from srdice_tf.estimators.tabular import tabular_srdice

_SEEDS = range(40)


class _Case:
  """A random MDP with a policy, data that cover it, and features."""

  def __init__(self, seed):
    rng = np.random.default_rng([seed, 3])
    num_states, num_actions = rng.integers(3, 20), rng.integers(2, 5)
    shape = num_states, num_actions
    self.rng, self.gamma = rng, rng.uniform(0.5, 0.99)
    self.mdp = finite_mdps.random_mdp(*shape, min(4, num_states), seed)
    # Some terminate, from each pair with another probability.
    if seed % 2:
      self.mdp.transition[...] *= rng.uniform(0.8, 1.0, shape)[..., None]
    self.policy = rng.dirichlet(np.ones(num_actions), num_states)
    self.counts = rng.integers(1, 30, shape)
    self.data = self.counts / self.counts.sum()  # d_D [S, A]
    self.pairs = np.repeat(np.arange(self.data.size), self.counts.ravel())
    # Rewards differ between visits of a pair.
    self.rewards = rng.normal(size=len(self.pairs))  # [n]
    sums = np.bincount(self.pairs, self.rewards, self.data.size)
    self.mean_rewards = sums.reshape(shape) / self.counts  # [S, A]
    self.starts = rng.integers(0, num_states, 7)
    self.start = np.bincount(self.starts, minlength=num_states) / 7
    self.occupancy = finite.occupancy(
        self.mdp.transition, self.policy, self.start, self.gamma
    )
    self.ratio = self.occupancy / self.data  # [S, A]

  def closed_form(self, successors):
    return tabular_srdice.closed_form(
        self.data, self.policy, successors, self.start, self.gamma
    )

  def successors_of(self, features):
    """Returns the exact psi(s0, a0) [m, F], its actions averaged over."""
    psi = finite.successor_representation(
        self.mdp.transition, self.policy, self.gamma
    )
    by_state = np.einsum('sa,saf->sf', self.policy, features)  # [S, F]
    return (psi @ by_state)[self.starts]

  def random_features(self):
    num_features = int(self.rng.integers(1, max(2, self.data.size // 2)))
    return self.rng.normal(size=(*self.data.shape, num_features))


@pytest.fixture(params=_SEEDS)
def case(request):
  return _Case(request.param)


def test_theorem_1_closed_form_is_the_density_ratio(case):
  successors = finite.successor_representation(
      case.mdp.transition, case.policy, case.gamma
  )
  ratio = case.closed_form(successors)
  np.testing.assert_allclose(ratio, case.ratio, rtol=1e-11, atol=1e-14)
  estimate = np.mean(ratio.ravel()[case.pairs] * case.rewards)
  value = np.sum(case.occupancy * case.mean_rewards)
  assert estimate == pytest.approx(value, rel=1e-11, abs=1e-14)


def test_theorem_1_closed_form_is_the_minimum(case):
  """Of 1/2 E_D[r^2] - (1-gamma) E_s0[sum_s Psi(s|s0) E_a[r(s, a)]]."""
  successors = case.rng.uniform(size=(len(case.start),) * 2)

  def objective(r):
    direct = tabular_srdice.direct_value(
        r, case.policy, successors, case.start, case.gamma
    )
    return 0.5 * np.sum(case.data * r**2) - direct

  best = case.closed_form(successors)
  for _ in range(5):
    step = case.rng.normal(size=best.shape)
    # Of a parabola, what it gains around its minimum is its square term.
    gain = objective(best + step) - objective(best)
    assert gain == pytest.approx(0.5 * np.sum(case.data * step**2), rel=1e-9)


def test_theorem_2_any_representation_gives_the_same_estimate(case):
  for scale in (1e-3, 1.0, 1e3):
    successors = scale * case.rng.normal(size=(len(case.start),) * 2)
    ratio = case.closed_form(successors)
    estimate = np.mean(ratio.ravel()[case.pairs] * case.rewards)
    direct = tabular_srdice.direct_value(
        case.mean_rewards, case.policy, successors, case.start, case.gamma
    )
    size = np.mean(np.abs(ratio.ravel()[case.pairs] * case.rewards))
    assert estimate == pytest.approx(direct, rel=1e-12, abs=1e-13 * size)


def test_theorem_3_exact_successors_give_the_least_squares_fit(case):
  features = case.random_features()
  over_data = features.reshape(case.data.size, -1)[case.pairs]  # [n, F]
  squares = least_squares.LeastSquares(
      least_squares.gram_of(tf.constant(over_data)), ridge=0.0
  )
  starts = case.successors_of(features).mean(axis=0)
  w = squares.solve((1.0 - case.gamma) * starts).numpy()
  expected, *_ = np.linalg.lstsq(
      over_data, case.ratio.ravel()[case.pairs], rcond=None
  )
  np.testing.assert_allclose(
      over_data @ w, over_data @ expected, rtol=1e-8, atol=1e-10
  )


def test_theorem_4_ratios_and_rewards_give_the_same_estimate(case):
  """For any psi: w fitted to the ratio, or to the reward."""
  features = case.random_features()
  over_data = features.reshape(case.data.size, -1)[case.pairs]  # [n, F]
  squares = least_squares.LeastSquares(
      least_squares.gram_of(tf.constant(over_data)), ridge=0.0
  )
  starts = case.rng.normal(size=over_data.shape[1])  # E[psi(s0, a0)]
  w = squares.solve((1.0 - case.gamma) * starts).numpy()
  ratio_estimate = np.mean((over_data @ w) * case.rewards)
  reward_weights, *_ = np.linalg.lstsq(over_data, case.rewards, rcond=None)
  reward_estimate = (1.0 - case.gamma) * starts @ reward_weights
  assert ratio_estimate == pytest.approx(reward_estimate, rel=1e-8, abs=1e-12)
