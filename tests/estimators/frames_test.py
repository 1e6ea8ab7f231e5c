"""The estimators on frames: near the exact value of the corridor."""


import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import environments
from srdice_tf import training
from srdice_tf.data import datasets
from srdice_tf.environments import corridor
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import gradient_steps
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import tasks
from srdice_tf.networks import frame_networks
from srdice_tf.policies import base
from srdice_tf.policies import composed

_GAMMA = 0.9
_RATE = 1e-2  # Of single steps.
_EPSILON = 0.4  # The target goes to the right with probability 0.8.
_CONFIG = presets.preset('fixed', is_frames=True).replace(encoder_steps=150,
    successor_steps=300,
    updates=300,
    ratio_batch_size=256,
    batch_size=16,
    learning_rate=5e-4,
    tau=0.05,
    second_filters=16,
    hidden_units=64,
    num_features=64,
)


def _specs():
  env = environments.load('PixelCorridor')
  return env.observation_spec(), env.action_spec()


def _target():
  """To the right, but for a random action with probability 0.4."""
  specs = _specs()
  network = base.q_network(*specs, trunk=base.SMALL_TRUNK)
  for variable in network.variables:
    variable.assign(tf.zeros_like(variable))
  network.variables[-1].assign([0.0, 1.0])
  policy = base.deterministic_policy(*specs, network)
  return composed.EpsilonGreedy(policy, _EPSILON)


def _dataset(num_episodes: int) -> datasets.Dataset:
  """Episodes of the uniform policy."""
  rng, rows = np.random.default_rng(0), []
  for _ in range(num_episodes):
    place = corridor.START
    rows.append((corridor.frame(place), 0, 0, 0.0, 1.0))
    while 0 < place < corridor.NUM_PLACES - 1:
      action, reward = int(rng.integers(2)), corridor.reward(place)
      place += 2 * action - 1
      is_last = place in (0, corridor.NUM_PLACES - 1)
      rows.append((
          corridor.frame(place), 2 if is_last else 1, action, reward,
          0.0 if is_last else 1.0,
      ))
  pixels, types, actions, rewards, not_done = map(np.array, zip(*rows))
  return datasets.Dataset.from_rows(
      pixels, types, actions, rewards, not_done, frame_stack=4
  )


@pytest.fixture(scope='module')
def problem():
  return tasks.make_problem(_target(), _dataset(500), _specs(), _GAMMA)


def _train(problem, *names, **settings):
  config = _CONFIG.replace(**settings)
  estimators = registry.make_estimators(names, problem, config, seed=0)
  training.PhaseTrainer(estimators, interval=500).run()
  return estimators


def _assert_near(estimate):
  truth = corridor.value(1.0 - _EPSILON / 2, _GAMMA)  # 0.097
  behaviour = corridor.value(0.5, _GAMMA)  # 0.076
  assert abs(float(estimate) - truth) < 0.3 * abs(truth - behaviour)


@pytest.fixture(scope='module')
def fitted(problem):
  """With rate and updates of w as in the quick preset."""
  quick = presets.preset('quick', is_frames=True)
  return _train(
      problem,
      'srdice',
      'srdice_closed',
      'deep_sr',
      updates=quick['updates'],
      ratio_learning_rate=quick['ratio_learning_rate'],
      normalise_features=quick['normalise_features'],
  )


def test_srdice_comes_near_the_truth(fitted):
  for estimator in fitted.values():
    _assert_near(estimator.estimate())


def test_w_arrives_at_the_closed_form(fitted):
  """Not so as printed: phi is 1/40, and w would have to grow to that."""
  closed = fitted['srdice_closed']
  for name in ('srdice', 'deep_sr'):  # Theorem 4: one value for both.
    value = float(fitted[name].estimate())
    assert value == pytest.approx(float(closed.estimate()), rel=0.02), name
  mean = np.mean(fitted['srdice'].ratios())
  assert mean == pytest.approx(np.mean(closed.ratios()), rel=0.02)


def test_theorem_4_from_the_parts(problem, fitted):
  """The closed form is what rewards fitted to phi give at start states."""
  representation = fitted['srdice_closed']._representation
  states = problem.states(tf.range(problem.size)).numpy()  # [n, H, W, 4]
  phi = np.concatenate([
      representation._encoder._encoder(part)
      for part in np.array_split(states, 8)
  ]).astype(np.float64)  # [n, F]
  size = phi.shape[1]
  ridge = np.sqrt(_CONFIG['ridge'] * np.square(phi).sum() / size)
  weights, *_ = np.linalg.lstsq(  # A ridge is rows of zero rewards.
      np.concatenate([phi, ridge * np.eye(size)]),
      np.concatenate([problem.rewards, np.zeros(size)]),
      rcond=None,
  )
  # All episodes begin at one place, with no frames before; pi by hand.
  start = np.zeros((1, *_specs()[0].shape), np.uint8)
  start[0, ..., -1] = corridor.frame(corridor.START)
  psi = representation._successor(
      frame_networks.FrameActions(
          tf.constant(start), tf.constant([[_EPSILON / 2, 1 - _EPSILON / 2]])
      )
  ).numpy()[0]  # [F]
  expected = (1.0 - _GAMMA) * psi @ weights
  for found in (
      fitted['srdice_closed'].estimate(),
      fitted['srdice'].details()['closed_form'],
  ):
    assert float(found) == pytest.approx(expected, rel=2e-3)


def test_deep_td_comes_near_the_truth(problem):
  estimator = _train(problem, 'deep_td', updates=200)['deep_td']
  _assert_near(estimator.estimate())


def test_doubly_robust_sums_on_frames(problem):
  """Networks are hardly trained: the sum is put together from its parts."""
  few = problem.of_episodes(np.arange(5))
  made = _train(
      few, 'dr', 'srdice_closed', 'deep_td', dr_ratio='srdice_closed',
      encoder_steps=2, successor_steps=2, updates=2,
  )
  index, rng = tf.range(few.size), tf.random.Generator.from_seed(0)
  q = made['dr'].shared.value_function.of_members
  now = few.over_data(q)().numpy()[:, 0]  # [n]
  # Expectations over the two actions are exact: any rng will do.
  after = q(few.loaded.next_inputs(index, rng)).numpy()[:, 0]  # [n]
  rewards, not_done = few.rewards.numpy(), few.not_done.numpy()
  differences = rewards + _GAMMA * not_done * after - now
  ratios = made['srdice_closed'].ratios().numpy()
  start = float(made['deep_td'].estimate())
  expected = start + np.mean(ratios * differences)
  assert abs(expected - start) > 1e-3
  assert float(made['dr'].estimate()) == pytest.approx(expected, rel=1e-5)


def test_expectations_over_actions_are_exact(problem):
  rng = tf.random.Generator.from_seed(0)
  batch = problem.sample(8, rng)
  expected = np.tile([[_EPSILON / 2, 1.0 - _EPSILON / 2]], (8, 1))
  np.testing.assert_allclose(batch.next_inputs.weights, expected, rtol=1e-6)
  pool = problem.start_pool(10_000, rng)
  assert pool.weights.shape == (problem.num_starts, 2)
  np.testing.assert_allclose(pool.weights[:8], expected, rtol=1e-6)


class _Step:
  """A minimax method before its first step, with the minibatch of that step.

  Actions weigh the heads of the networks, so that slopes along the biases of
  the heads are means that can be written down.
  """

  def __init__(self, name):
    self.problem = tasks.make_problem(
        _target(), _dataset(10), _specs(), _GAMMA
    )
    config = _CONFIG.replace(ratio_batch_size=32,
        dual_dice_learning_rate=_RATE,
        gradient_dice_learning_rate=_RATE,
        gradient_dice_u_learning_rate=_RATE,
        adam_epsilon=1.0,
        ratio_adam_epsilon=1.0,
    )
    made = registry.make_estimators([name], self.problem, config, seed=0)
    self.estimator = made[name]
    rng = tf.random.Generator.from_state(
        self.estimator.rng.state.numpy(), self.estimator.rng.algorithm
    )
    self.batch = self.problem.sample(32, rng)
    starts = self.problem.sample_starts(32, rng)
    self.now = self.batch.inputs.weights.numpy()  # [B, A]
    self.after = self.batch.next_inputs.weights.numpy()  # [B, A]
    self.start = starts.weights.numpy()  # [B, A]
    self.not_done = self.batch.not_done.numpy()[:, None]  # [B, 1]
    assert {0.0, 1.0} == set(self.not_done.ravel())
    self.w, self.f, _ = self.values()
    self.f_bias, self.w_bias = self.biases()
    self.estimator.phases[0].step()

  def values(self):
    """Returns w(s, a), f(s, a) and f(s', a'), [B, 1] each, as they are now."""
    w, f = self.estimator._w, self.estimator._f
    now, after = self.batch.inputs, self.batch.next_inputs
    return w(now).numpy(), f(now).numpy(), f(after).numpy()

  def biases(self):
    """Returns the biases [A] of f and w as they are now."""
    networks = self.estimator._f, self.estimator._w
    return [network._head.bias.numpy() for network in networks]


def _move(slope):
  """Returns how far the first step of Adam goes, with an epsilon of 1.

  One that is small would leave nothing but the sign of the slope.
  """
  return _RATE * slope / (np.abs(slope) + 1.0)


def test_a_dual_dice_step_by_hand():
  step = _Step('dual_dice')
  f_bias, w_bias = step.biases()
  # Down for f: of E[w (f - gamma f')] - (1-gamma) E[f0].
  slope = np.mean(
      step.w * (step.now - _GAMMA * step.not_done * step.after), axis=0
  ) - (1.0 - _GAMMA) * step.start.mean(axis=0)
  np.testing.assert_allclose(f_bias - step.f_bias, -_move(slope), rtol=1e-4)
  # Up for w, with the new f: of E[w (f - gamma f') - w^2 / 2].
  _, f, next_f = step.values()
  slope = np.mean(
      step.now * (f - _GAMMA * step.not_done * next_f - step.w), axis=0
  )
  np.testing.assert_allclose(w_bias - step.w_bias, _move(slope), rtol=1e-4)


def test_a_gradient_dice_step_by_hand():
  step = _Step('gradient_dice')
  f_bias, w_bias = step.biases()
  # Up for f: of (1-gamma) E[f0] + gamma E[w f'] - E[w f] - E[f^2] / 2.
  slope = (1.0 - _GAMMA) * step.start.mean(axis=0) + np.mean(
      _GAMMA * step.not_done * step.w * step.after
      - (step.w + step.f) * step.now,
      axis=0,
  )
  np.testing.assert_allclose(f_bias - step.f_bias, _move(slope), rtol=1e-4)
  # Up for u, from 0: of u (E[w] - 1) - u^2 / 2.
  u = _move(step.w.mean() - 1.0)
  assert float(step.estimator._u) == pytest.approx(u, rel=1e-4)
  # Down for w, with the new f and u: of E[w (gamma f' - f + u)].
  _, f, next_f = step.values()
  slope = np.mean(
      step.now * (_GAMMA * step.not_done * next_f - f + u), axis=0
  )
  np.testing.assert_allclose(w_bias - step.w_bias, -_move(slope), rtol=1e-4)


def test_estimates_on_the_way_are_of_a_part(monkeypatch):
  problem = tasks.make_problem(_target(), _dataset(10), _specs(), _GAMMA)
  monkeypatch.setattr(problem.inputs, 'interim_size', problem.size // 2)
  estimators = _train(problem, 'dual_dice', updates=1, ratio_batch_size=8)
  ratios = estimators['dual_dice'].ratios().numpy()
  every = -(-problem.size // (problem.size // 2))
  assert every > 1
  np.testing.assert_allclose(
      estimators['dual_dice'].interim_estimate(),
      np.mean((ratios * problem.rewards.numpy())[::every]),
      rtol=1e-4,
  )


def _dense(value):
  model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
  model.build([None, 1])
  model.set_weights([np.full((1, 1), value), np.full(1, value)])
  return model


def test_targets_are_copied_at_intervals_or_follow():
  source, copied, following = _dense(1.0), _dense(0.0), _dense(0.0)
  count = tf.Variable(0, dtype=tf.int64)
  copy = config_fields.TargetNetworks(target_interval=3)
  follow = config_fields.TargetNetworks(tau=0.5)
  found = []

  @tf.function
  def step():
    update, after = gradient_steps.update_target, tf.constant(0.0)
    update(copied, source, copy, count, after)
    update(following, source, follow, count, after)

  for _ in range(4):
    step()
    found.append([float(m.get_weights()[0][0, 0]) for m in (copied, following)])
  assert found == [[0.0, 0.5], [0.0, 0.75], [1.0, 0.875], [1.0, 0.9375]]
