"""DualDICE and GradientDICE over phi or psi, linear or through networks."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import neural_dice
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import tasks
from tests import walk
from tests.estimators import frames_test

_RATE = 0.01
_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=20,
    successor_steps=30,
    updates=40,
    num_features=12,
    hidden_units=16,
    batch_size=16,
    ratio_batch_size=32,
    bootstrap_draws=0,
    start_pool=64,
    dual_dice_learning_rate=_RATE,
    gradient_dice_learning_rate=_RATE,
    gradient_dice_u_learning_rate=_RATE,
    # One that is small would leave nothing but the signs of slopes.
    adam_epsilon=1.0,
)
_METHODS = 'dual_dice', 'gradient_dice'
_ACTIVATIONS = {
    'dual_dice': np.tanh, 'gradient_dice': lambda x: np.maximum(x, 0.0)
}


@pytest.fixture(name='problem', scope='module')
def _problem():
  return walk.problem(walk.dataset(seed=0, num_episodes=20))


def _make(problem, *names, **values):
  values = _CONFIG.replace(**values)
  return registry.make_estimators(names, problem, values, seed=0)


def _train(problem, *names, directory=None, **values):
  estimators = _make(problem, *names, **values)
  training.PhaseTrainer(estimators, directory, interval=20).run()
  return estimators


@pytest.fixture(name='trained', scope='module')
def _trained(problem):
  """Returns a function that trains both methods, once for each setting."""
  return functools.cache(
      lambda inputs, linear: _train(
          problem, *_METHODS, dice_inputs=inputs, dice_linear=linear
      )
  )


def _given(estimator, pairs) -> np.ndarray:
  """Returns what f and w should take [B, F]."""
  features = estimator.shared.representation
  function = {
      'states_actions': tf.identity,
      'phi': features.encode,
      'psi': features.successor,
  }[estimator.config.dice_inputs]
  return function(pairs).numpy()


def _forward(weights, inputs, activation) -> np.ndarray:
  """Returns the outputs [B] of a network with biases."""
  *hidden, (kernel, bias) = zip(*[iter(weights)] * 2)
  for k, b in hidden:
    inputs = activation(inputs @ k + b)
  return (inputs @ kernel + bias)[:, 0]


@pytest.mark.parametrize('inputs', ['states_actions', 'phi', 'psi'])
@pytest.mark.parametrize('linear', [False, True])
def test_ratios_are_a_function_of_what_is_asked_for(
    problem, trained, inputs, linear
):
  pairs = problem.state_actions(tf.range(problem.size))
  size = problem.inputs.size if inputs == 'states_actions' else 12
  for name, estimator in trained(inputs, linear).items():
    given, weights = _given(estimator, pairs), estimator._w.get_weights()
    assert given.shape == (problem.size, size)
    if linear:
      (w,) = weights
      assert w.shape == (size, 1)  # No bias.
      expected = (given @ w)[:, 0]
    else:
      assert len(weights) == 2 * 3
      expected = _forward(weights, given, _ACTIVATIONS[name])
    ratios = estimator.ratios().numpy()
    np.testing.assert_allclose(ratios, expected, rtol=1e-4, atol=1e-5)
    assert np.ptp(ratios) > 1e-3
    value = np.mean(expected * problem.rewards.numpy())
    assert float(estimator.estimate()) == pytest.approx(value, abs=1e-5)


class _Step:
  """A linear method before its first step, with the minibatch of that step."""

  def __init__(self, problem, name, inputs):
    made = _make(problem, name, dice_inputs=inputs, dice_linear=True)
    self.estimator = made[name]
    rng = tf.random.Generator.from_state(
        self.estimator.rng.state.numpy(), self.estimator.rng.algorithm
    )
    batch = problem.sample(32, rng)
    starts = problem.sample_starts(32, rng)
    self.now = _given(self.estimator, batch.inputs)  # [B, F]
    self.not_done = batch.not_done.numpy()[:, None]  # [B, 1]
    after = _given(self.estimator, batch.next_inputs)  # [B, F]
    self.after = walk.GAMMA * self.not_done * after  # [B, F]
    self.start = (1.0 - walk.GAMMA) * _given(self.estimator, starts).mean(0)
    self.f, self.w = self.weights()
    self.estimator.phases[-1].step()
    self.new_f, self.new_w = self.weights()

  def weights(self):
    networks = self.estimator._f, self.estimator._w
    return [network.get_weights()[0][:, 0] for network in networks]


def _move(slope):
  """Returns how far the first step of Adam goes, with an epsilon of 1."""
  return _RATE * slope / (np.abs(slope) + 1.0)


@pytest.mark.parametrize('inputs', ['phi', 'psi'])
def test_a_linear_dual_dice_step_by_hand(problem, inputs):
  step = _Step(problem, 'dual_dice', inputs)
  difference = step.now - step.after  # [B, F] x - gamma x'
  # Down for f: of E[w.x f.(x - gamma x')] - (1-gamma) E[f.x0].
  ratio = step.now @ step.w  # [B]
  slope = np.mean(ratio[:, None] * difference, 0) - step.start
  np.testing.assert_allclose(
      step.new_f - step.f, -_move(slope), rtol=1e-3, atol=1e-7
  )
  # Up for w, with the new f: of E[w.x f.(x - gamma x') - (w.x)^2 / 2].
  slope = np.mean(step.now * (difference @ step.new_f - ratio)[:, None], 0)
  np.testing.assert_allclose(
      step.new_w - step.w, _move(slope), rtol=1e-3, atol=1e-7
  )


@pytest.mark.parametrize('inputs', ['phi', 'psi'])
def test_a_linear_gradient_dice_step_by_hand(problem, inputs):
  step = _Step(problem, 'gradient_dice', inputs)
  ratio, value = step.now @ step.w, step.now @ step.f  # [B]
  # Up for f: of (1-gamma) E[f.x0] + E[w.x f.(gamma x' - x) - (f.x)^2 / 2].
  slope = step.start + np.mean(
      ratio[:, None] * (step.after - step.now) - value[:, None] * step.now, 0
  )
  np.testing.assert_allclose(
      step.new_f - step.f, _move(slope), rtol=1e-3, atol=1e-7
  )
  # Up for u, from 0; down for w with the new f and u.
  u = _move(ratio.mean() - 1.0)
  assert float(step.estimator._u) == pytest.approx(u, rel=1e-4)
  gain = (step.after - step.now) @ step.new_f + u  # [B]
  np.testing.assert_allclose(
      step.new_w - step.w,
      -_move(np.mean(step.now * gain[:, None], 0)),
      rtol=1e-3,
      atol=1e-7,
  )


@pytest.mark.parametrize(
    'inputs, names',
    [
        ('states_actions', []),
        ('phi', ['encoder']),
        ('psi', ['encoder', 'successor']),
    ],
)
def test_features_are_trained_first_and_with_those_of_srdice(
    problem, inputs, names
):
  made = _make(problem, 'srdice', 'dual_dice', dice_inputs=inputs)
  own = made['dual_dice'].phases
  assert [phase.name for phase in own] == [*names, 'dual_dice']
  for mine, theirs in zip(own[:-1], made['srdice'].phases):
    assert mine is theirs
  config = _CONFIG.replace(dice_inputs=inputs)
  parts = list(config.for_methods(['dual_dice']))
  assert ('representation' in parts) == bool(names)


@pytest.mark.parametrize('inputs', ['phi', 'psi'])
def test_features_are_those_of_srdice_and_stay_frozen(
    problem, trained, inputs
):
  alone = trained(inputs, False)['dual_dice']  # Without SR-DICE.
  both = _train(problem, 'srdice', 'dual_dice', dice_inputs=inputs)
  pairs = problem.state_actions(tf.range(50))
  np.testing.assert_array_equal(
      _given(alone, pairs), _given(both['dual_dice'], pairs)
  )
  np.testing.assert_array_equal(alone.ratios(), both['dual_dice'].ratios())


def test_a_resumed_run_has_the_features_it_was_trained_on(problem, tmp_path):
  values = {'dice_inputs': 'psi', 'directory': str(tmp_path)}
  first = _train(problem, 'gradient_dice', **values)['gradient_dice']
  second = _train(problem, 'gradient_dice', **values)['gradient_dice']
  np.testing.assert_array_equal(first.ratios(), second.ratios())


def test_kept_ratios_follow_the_features(problem):
  estimators = _make(problem, 'dual_dice', dice_inputs='phi', updates=0)
  before = estimators['dual_dice'].ratios()
  assert estimators['dual_dice'].ratios() is before
  training.PhaseTrainer(estimators).run()
  assert not np.array_equal(before, estimators['dual_dice'].ratios())


@pytest.mark.parametrize('inputs', ['states_actions', 'phi'])
def test_one_more_hidden_layer(problem, inputs):
  """The "big" networks of the paper."""
  values = {'dice_inputs': inputs, 'hidden_layers': 3}
  pairs = problem.state_actions(tf.range(problem.size))
  untrained = _make(problem, *_METHODS, **values)
  for name, big in _train(problem, *_METHODS, **values).items():
    weights = big._w.get_weights()
    assert [w.shape for w in weights[2::2]] == [(16, 16), (16, 16), (16, 1)]
    assert len(big._f.get_weights()) == 8
    expected = _forward(weights, _given(big, pairs), _ACTIVATIONS[name])
    np.testing.assert_allclose(big.ratios(), expected, rtol=1e-4, atol=1e-5)
    before = untrained[name]
    for new, old in ((big._f, before._f), (big._w, before._w)):
      layers = zip(new.trainable_variables[::2], old.trainable_variables[::2])
      assert all(np.any(a != b) for a, b in layers)  # Every layer learns.


@pytest.mark.parametrize(
    'values, message',
    [
        ({'dice_inputs': 'phi'}, '^dice_inputs=phi: .*frames.*states_actions'),
        ({'dice_linear': True}, '^dice_linear=True: .*frames'),
    ],
)
def test_frames_are_for_networks(values, message):
  problem = tasks.make_problem(
      frames_test._target(),
      frames_test._dataset(2),
      frames_test._specs(),
      gamma=0.9,
  )
  config = presets.preset('quick', is_frames=True).replace(**values)
  with pytest.raises(errors.UserError, match=message):
    registry.make_estimators(['dual_dice'], problem, config, seed=0)


def test_unknown_inputs_are_refused():
  with pytest.raises(errors.UserError, match='^dice_inputs=q: .*phi, psi'):
    hyperparameters.Hyperparameters(dice_inputs='q')


def test_the_predicted_cost_of_a_step():
  cost = lambda **fields: neural_dice.NeuralDICEConfig(
      ratio_batch_size=100, **fields
  ).step_cost
  assert cost() == pytest.approx(160.0)
  assert cost(dice_linear=True) < cost() < cost(dice_inputs='psi')
