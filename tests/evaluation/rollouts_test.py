"""Tests for the true value against exact solutions."""

import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf.evaluation import rollouts
from srdice_tf.policies import loading


def _random_policy(env_id):
  env = environments.load(env_id)
  return loading.load(
      'random', env_id, env.observation_spec(), env.action_spec()
  )


def _chain_value(gamma):
  """Solves the chain under the uniform policy; reward 1 for arriving in x5."""
  transition = np.zeros((5, 5))
  for state in range(5):
    for move in (-1, 1):
      transition[state, np.clip(state + move, 0, 4)] += 0.5
  rewards = transition[:, 4]
  values = np.linalg.solve(np.eye(5) - gamma * transition, rewards)
  return (1.0 - gamma) * values[0]


@pytest.mark.parametrize('gamma', [0.9, 0.99])
def test_chain_value_is_exact_within_three_errors(gamma, monkeypatch):
  monkeypatch.setattr(rollouts, 'BATCH_SIZE', 400)  # A step takes one call.
  policy = _random_policy('FiveStateChain')
  value = rollouts.policy_value('FiveStateChain', policy, gamma, 150, seed=1)
  exact = _chain_value(gamma)
  assert abs(value.value - exact) < 3.0 * value.standard_error
  assert value.standard_error < 0.1 * exact


def test_time_limit_is_no_end(monkeypatch):
  """With the limit kept, rewards after 200 steps are lost: gamma^200 = 0.13."""
  monkeypatch.setattr(rollouts, 'BATCH_SIZE', 400)
  policy = _random_policy('FiveStateChain')
  arguments = ('FiveStateChain', policy, 0.99, 150)
  whole = rollouts.policy_value(*arguments, seed=1)
  cut = rollouts.policy_value(*arguments, seed=1, keep_time_limit=True)
  assert whole.horizon == 917 and cut.horizon == 200
  assert whole.value - cut.value > 3.0 * whole.standard_error
  # The return is that of the environment's own episodes, in either case.
  assert whole.mean_return == cut.mean_return
  assert whole.mean_length == 200.0


def test_rewards_are_discounted_by_hand():
  observer = rollouts.RollOuts(2, gamma=0.5, time_limit=2)
  batch = environments.load_batch('CartPole-v1', 2)
  step = batch.reset()
  last = step._replace(
      reward=np.float32([1.0, 2.0]), step_type=np.int32([2, 1])
  )
  observer((step, None, last))  # Both alive: rewards 1, 2.
  observer((last, None, last))  # The first has ended: 0, 2.
  observer((last, None, last))
  np.testing.assert_allclose(observer.discounted, [1.0, 2.0 + 1.0 + 0.5])
  np.testing.assert_allclose(observer.returns, [1.0, 4.0])
  np.testing.assert_allclose(observer.lengths, [1.0, 2.0])


def test_same_seed_same_value():
  policy = _random_policy('Pendulum-v1')
  first, second, other = (
      rollouts.policy_value('Pendulum-v1', policy, 0.9, 5, seed=seed)
      for seed in (1, 1, 2)
  )
  assert first == second
  assert first.value != other.value


def test_cartpole_value_of_terminating_episodes():
  """Reward 1 until the fall at step n: the value is 1 - gamma^n."""
  policy = _random_policy('CartPole-v1')
  value = rollouts.policy_value('CartPole-v1', policy, 0.99, 50, seed=0)
  low, high = 1.0 - 0.99**8, 1.0 - 0.99**120
  assert low < value.value < high
  # Alive is all that CartPole rewards.
  assert value.occupancy == pytest.approx(value.value, rel=1e-5)
  assert value.mean_return == value.mean_length < 100


def test_a_value_does_not_wait_for_whole_episodes():
  policy = _random_policy('Pendulum-v1')
  whole, part = (
      rollouts.policy_value('Pendulum-v1', policy, 0.9, 3, whole_episodes=whole)
      for whole in (True, False)
  )
  assert (whole.horizon, part.horizon) == (200, rollouts.horizon_of(0.9))
  # What comes later is part of the return, but of neither value.
  assert whole.value == part.value
  assert whole.mean_return < part.mean_return - 10.0


def _chain(**fields):
  return rollouts.RollOutConfig('FiveStateChain', gamma=0.9, **fields)


class _Outcomes:
  """Stands in for the environment: outcomes of batches, drawn by number."""

  def __init__(self, monkeypatch, deviation, mean=1.0, rewards=(1.0, 1.0, 1.0)):
    self.played = []
    self._parameters = mean, deviation, list(rewards)
    monkeypatch.setattr(rollouts, '_roll_out', self)

  def __call__(self, config, policy, name, earlier, bar):
    del config, policy, earlier, bar
    self.played.append(name)
    number, size = map(int, name.split(':'))
    mean, deviation, rewards = self._parameters
    values = np.random.default_rng(number).normal(mean, deviation, size)
    ones = [1.0] * size
    return rollouts.RollOutBatch(values.tolist(), ones, ones, ones, rewards)


def test_roll_outs_go_on_until_the_error_is_half_a_percent(monkeypatch):
  # 0.5% of 1 takes 0.08^2 / 0.005^2 = 256 roll-outs.
  outcomes = _Outcomes(monkeypatch, deviation=0.08)
  found = rollouts.measure(_chain(), None)
  assert outcomes.played == ['0:100', '1:100', '2:100']
  assert found.num_episodes == 300 and not found.is_capped
  assert found.wanted_error == pytest.approx(0.005 * found.value)
  assert found.standard_error == pytest.approx(0.08 / np.sqrt(300), rel=0.1)


def test_roll_outs_end_at_the_cap(monkeypatch):
  outcomes = _Outcomes(monkeypatch, deviation=1.0)
  found = rollouts.measure(_chain(), None, max_episodes=250)
  assert outcomes.played == ['0:100', '1:100', '2:50']
  assert found.num_episodes == 250 and found.is_capped


@pytest.mark.parametrize('episodes', [2, 100, 130])
def test_a_number_that_is_given_is_played(monkeypatch, episodes):
  _Outcomes(monkeypatch, deviation=1.0)
  found = rollouts.measure(_chain(), None, episodes, max_episodes=10)
  assert found.num_episodes == episodes
  assert found.wanted_error is None and not found.is_capped


def test_near_zero_the_spread_of_the_rewards_is_the_measure(monkeypatch):
  """Rewards 3 and -3: a deviation of 3, and a tenth of it is 0.3."""
  outcomes = _Outcomes(
      monkeypatch, deviation=0.02, mean=0.0, rewards=(100.0, 0.0, 900.0)
  )
  found = rollouts.measure(_chain(), None)
  assert found.wanted_error == pytest.approx(0.005 * 0.3)
  assert len(outcomes.played) == 2  # 0.02^2 / 0.0015^2 = 178 roll-outs.


def test_rewards_that_are_all_zero_are_known_at_once(monkeypatch):
  outcomes = _Outcomes(
      monkeypatch, deviation=0.0, mean=0.0, rewards=(100.0, 0.0, 0.0)
  )
  assert not rollouts.measure(_chain(), None).is_capped
  assert len(outcomes.played) == 1


def test_the_first_batch_is_a_hundred_roll_outs_of_the_seed():
  """What 100 roll-outs gave before there were batches."""
  policy = _random_policy('FiveStateChain')
  found = rollouts.measure(_chain(), policy, 100)
  assert found.value == pytest.approx(0.096011071, abs=1e-8)
  assert found.standard_error == pytest.approx(0.009509777, abs=1e-8)


def test_batches_differ_and_go_on_to_the_same_number():
  policy = _random_policy('FiveStateChain')
  batches = {}
  whole = rollouts.measure(_chain(), policy, 230, on_batch=batches.__setitem__)
  assert list(batches) == ['0:100', '1:100', '2:30']
  assert batches['0:100'].values != batches['1:100'].values
  del batches['1:100'], batches['2:30']
  seen = []
  again = rollouts.measure(
      _chain(), policy, 230, known=batches, on_batch=lambda *b: seen.append(b)
  )
  assert again == whole
  assert [name for name, _ in seen] == ['1:100', '2:30']


def test_no_batch_has_the_seed_of_another():
  seeds = [rollouts._batch_seed(s, k) for s in range(30) for k in range(30)]
  assert len(set(seeds)) == len(seeds)
  assert all(0 <= seed < 2**31 for seed in seeds)
