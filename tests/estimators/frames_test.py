"""The estimators on frames: near the exact value of the corridor."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import training
from srdice_tf.environments import corridor
from srdice_tf.estimators import base as base_lib
from srdice_tf.estimators import config as config_lib
from srdice_tf.estimators import registry
from srdice_tf.experiments import setup
from srdice_tf.networks import frames
from srdice_tf.policies import base
from srdice_tf.policies import composed
from srdice_tf.replay import dataset as dataset_lib

_GAMMA = 0.9
_EPSILON = 0.4  # The target goes to the right with probability 0.8.
_CONFIG = dataclasses.replace(
    config_lib.FRAME_PRESETS['fixed'],
    encoder_steps=150,
    successor_steps=300,
    updates=300,
    ratio_batch_size=256,
    batch_size=16,
    learning_rate=5e-4,
    adam_epsilon=1e-8,
    ratio_learning_rate=0.03,
    tau=0.05,
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


def _dataset(num_episodes: int) -> dataset_lib.Dataset:
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
  return dataset_lib.Dataset(
      pixels, types, actions, rewards, not_done, frame_stack=4
  )


@pytest.fixture(scope='module')
def problem():
  return setup.make_problem(_target(), _dataset(500), _specs(), _GAMMA)


def _train(problem, *names, **settings):
  config = dataclasses.replace(_CONFIG, **settings)
  estimators = registry.make_estimators(names, problem, config, seed=0)
  training.Trainer(estimators, interval=500).run()
  return estimators


def _assert_near(estimate):
  truth = corridor.value(1.0 - _EPSILON / 2, _GAMMA)  # 0.097
  behaviour = corridor.value(0.5, _GAMMA)  # 0.076
  assert abs(float(estimate) - truth) < 0.3 * abs(truth - behaviour)


@pytest.fixture(scope='module')
def fitted(problem):
  return _train(problem, 'srdice', 'srdice_closed', updates=1_000)


def test_srdice_comes_near_the_truth(fitted):
  for estimator in fitted.values():
    _assert_near(estimator.estimate())


def test_theorem_4_from_the_parts(problem, fitted):
  """The closed form is what rewards fitted to phi give at start states."""
  representation = fitted['srdice_closed']._representation
  dataset = problem.dataset
  states = dataset.states(tf.range(problem.size)).numpy()  # [n, H, W, 4]
  phi = np.concatenate([
      representation._encoder._encoder(part)
      for part in np.array_split(states, 8)
  ]).astype(np.float64)  # [n, F]
  size = phi.shape[1]
  ridge = np.sqrt(_CONFIG.ridge * np.square(phi).sum() / size)
  weights, *_ = np.linalg.lstsq(  # A ridge is rows of zero rewards.
      np.concatenate([phi, ridge * np.eye(size)]),
      np.concatenate([dataset.rewards, np.zeros(size)]),
      rcond=None,
  )
  # All episodes begin at one place, with no frames before; pi by hand.
  start = np.zeros((1, *_specs()[0].shape), np.uint8)
  start[0, ..., -1] = corridor.frame(corridor.START)
  psi = representation._successor(
      frames.FrameActions(
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


def test_expectations_over_actions_are_exact(problem):
  rng = tf.random.Generator.from_seed(0)
  batch = problem.sample(8, rng)
  expected = np.tile([[_EPSILON / 2, 1.0 - _EPSILON / 2]], (8, 1))
  np.testing.assert_allclose(batch.next_inputs.weights, expected, rtol=1e-6)
  pool = problem.start_pool(10_000, rng)
  assert pool.weights.shape == (problem.num_starts, 2)
  np.testing.assert_allclose(pool.weights[:8], expected, rtol=1e-6)


def test_minimax_methods_step():
  problem = setup.make_problem(_target(), _dataset(10), _specs(), _GAMMA)
  estimators = _train(
      problem, 'dual_dice', 'gradient_dice', updates=2, ratio_batch_size=8
  )
  for estimator in estimators.values():
    ratios = estimator.ratios().numpy()
    assert ratios.shape == (problem.size,)
    np.testing.assert_allclose(
        estimator.estimate(),
        np.mean(ratios * problem.dataset.rewards.numpy()),
        rtol=1e-5,
    )


def test_estimates_on_the_way_are_of_a_part(monkeypatch):
  problem = setup.make_problem(_target(), _dataset(10), _specs(), _GAMMA)
  monkeypatch.setattr(problem.inputs, 'interim_size', problem.size // 2)
  estimators = _train(problem, 'dual_dice', updates=1, ratio_batch_size=8)
  ratios = estimators['dual_dice'].ratios().numpy()
  every = -(-problem.size // (problem.size // 2))
  assert every > 1
  np.testing.assert_allclose(
      estimators['dual_dice'].interim_estimate(),
      np.mean((ratios * problem.dataset.rewards.numpy())[::every]),
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
  copy = dataclasses.replace(_CONFIG, target_interval=3)
  follow = dataclasses.replace(_CONFIG, tau=0.5)
  found = []

  @tf.function
  def step():
    base_lib.update_target(copied, source, copy, count, tf.constant(0.0))
    base_lib.update_target(following, source, follow, count, tf.constant(0.0))

  for _ in range(4):
    step()
    found.append([float(m.get_weights()[0][0, 0]) for m in (copied, following)])
  assert found == [[0.0, 0.5], [0.0, 0.75], [1.0, 0.875], [1.0, 0.9375]]


def test_presets_differ_in_the_two_traps_alone():
  paper, fixed = (config_lib.preset(n, True) for n in ('paper', 'fixed'))
  changed = dataclasses.replace(paper, pixel_scale=255.0, target_interval=0)
  assert changed == fixed
  assert (paper.pixel_scale, paper.target_interval) == (1.0, 8_000)
  assert (paper.batch_size, paper.learning_rate) == (32, 6.25e-5)
  assert (paper.adam_epsilon, paper.ratio_adam_epsilon) == (1.5e-4, 1e-8)
  assert paper.ratio_learning_rate == 3e-4
  assert paper.gradient_dice_u_learning_rate == 1e-3
  with pytest.raises(errors.UserError, match='--preset=fixed: the environment'):
    config_lib.preset('fixed', False)
