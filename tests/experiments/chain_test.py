"""Tests for the toy experiment on the five-state chain."""

import dataclasses
import os

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import losses
from srdice_tf.experiments import chain
from srdice_tf.experiments import chain_methods
from srdice_tf.reports import chain_table

_CONFIG = chain.ChainConfig(
    num_trials=3, num_steps=20, interval=10, batch_size=16
)
_MAY_BE_ZERO = ('gradient_dice_norm_weight', 'seed')


def test_settings_are_the_papers():
  config = chain.ChainConfig()
  assert (config.num_trials, config.num_steps, config.interval) == (
      10,
      50_000,
      100,
  )
  assert config.batch_size == 128 and config.gamma == 0.99
  assert config.dual_dice_learning_rate == 0.05
  assert config.gradient_dice_learning_rate == 0.1
  assert config.srdice_learning_rate == 0.05


def test_features_are_the_papers():
  np.testing.assert_array_equal(
      chain_methods.state_features('tabular')[1], [0, 1, 0, 0, 0]
  )
  np.testing.assert_array_equal(
      chain_methods.state_features('inverted')[1], [0.5, 0, 0.5, 0.5, 0.5]
  )
  half, third = 2**-0.5, 3**-0.5
  np.testing.assert_allclose(
      chain_methods.state_features('dependent'),
      [
          [1, 0, 0],
          [half, half, 0],
          [third, third, third],
          [0, half, half],
          [0, 0, 1],
      ],
  )


def test_exact_ratio_balances_what_flows_in_and_out():
  """d(s) = (1-gamma) start(s) + gamma / 2 (d of the two states before)."""
  ratio = chain_methods.Chain('tabular', 0.99).ratio
  assert ratio.shape == (10,) and ratio.mean() == pytest.approx(1.0)
  np.testing.assert_allclose(ratio[::2], ratio[1::2], rtol=1e-12)
  d = ratio[::2] / 5
  before = np.array(
      [d[0] + d[1], d[0] + d[2], d[1] + d[3], d[2] + d[4], d[3] + d[4]]
  )
  expected = 0.01 * np.eye(5)[0] + 0.495 * before
  np.testing.assert_allclose(d, expected, rtol=1e-12)


def _plain(network, trial, inputs):
  """Evaluates one network of a stack at inputs [B, I], row by row."""
  *hidden, last = zip(network._kernels, network._biases)
  outputs = inputs
  for kernel, bias in hidden:
    outputs = tf.tanh(outputs @ kernel[trial] + bias[trial])
  return outputs @ last[0][trial] + last[1][trial]


def _loss_of_trial(name, method, chain_, batch, k, expected):
  """The loss of trial k by its own network at its own 16 rows."""
  pairs, states, next_actions, start_actions = (part[k] for part in batch)
  at = lambda net, pair: _plain(net, k, tf.gather(chain_.inputs, pair))
  average = lambda net, state: 0.5 * (
      at(net, 2 * state) + at(net, 2 * state + 1)
  )
  if expected:
    after = lambda net: average(net, states)
    start = lambda net: average(net, states * 0)
  else:
    after = lambda net: at(net, 2 * states + next_actions)
    start = lambda net: at(net, start_actions)
  if name == 'srdice':
    features = tf.gather(chain_.features, pairs)
    target = tf.stop_gradient(features + 0.99 * after(method._psi))
    error = at(method._psi, pairs) - target  # [B, F]
    if not method._config.printed_loss:
      return tf.reduce_mean(tf.square(error))
    return tf.reduce_mean(0.5 * tf.reduce_sum(tf.square(error), axis=-1))
  f, w = method._f, method._w
  values = [at(w, pairs), at(f, pairs), after(f), start(f)]
  values = losses.DiceValues(*(value[:, 0] for value in values))
  if name == 'dual_dice':
    return losses.dual_dice_objective(values, 0.99, 1.0)
  u = method._u[k, 0]
  return losses.gradient_dice_objective(values, u, 0.99, 1.0)


@pytest.mark.parametrize('is_default', [False, True])
@pytest.mark.parametrize('name', list(chain_methods.METHODS))
def test_each_trial_descends_its_own_loss(name, is_default):
  config = dataclasses.replace(
      _CONFIG, expected_actions=is_default, printed_loss=is_default
  )
  chain_ = chain_methods.Chain('dependent', config.gamma)
  method = chain_methods.METHODS[name](chain_, config, 'test')
  if name == 'gradient_dice':
    method._u.assign([[0.3], [-0.2], [0.5]])
  batch = method._sample()
  method._sample = lambda: batch

  def total_loss():
    return tf.add_n(
        [
            _loss_of_trial(name, method, chain_, batch, k, is_default)
            for k in range(3)
        ]
    )

  rate = {'srdice': 0.05, 'dual_dice': 0.05, 'gradient_dice': 0.1}[name]
  start = [variable.numpy() for variable in method.trainable_variables]
  for sign, variables in _turns(name, method):
    with tf.GradientTape() as tape:
      loss = total_loss()
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
      assert np.abs(gradient).max() > 0.0
      variable.assign_add(sign * rate * gradient)
  expected = [variable.numpy() for variable in method.trainable_variables]
  for variable, value in zip(method.trainable_variables, start):
    variable.assign(value)
  method.step()
  for variable, value in zip(method.trainable_variables, expected):
    np.testing.assert_allclose(variable, value, rtol=1e-4, atol=1e-7)


def _turns(name, method):
  """Returns the directions of the steps in their turn, with variables."""
  if name == 'srdice':
    return [(-1.0, method._psi.trainable_variables)]
  f, w = method._f.trainable_variables, method._w.trainable_variables
  if name == 'dual_dice':
    return [(-1.0, f), (1.0, w)]
  return [(1.0, (*f, method._u)), (-1.0, w)]


@pytest.mark.parametrize('features', chain_methods.FEATURES)
def test_exact_successors_give_the_least_squares_fit(features):
  """Theorem 3. Three features cannot do better than -3.76."""
  chain_ = chain_methods.Chain(features, 0.99)
  method = chain_methods.METHODS['srdice'](chain_, _CONFIG, 'test')
  phi = chain_.features.numpy().astype(np.float64)  # [10, F]
  # Of all pairs; (1-gamma) E[psi0] is E_d_pi[phi].
  start = (chain_.ratio / 10) @ phi / 0.01  # [F]
  psi = tf.constant(np.broadcast_to(start, (3, *phi.shape)), tf.float32)
  method._psi = lambda inputs: psi
  weights, *_ = np.linalg.lstsq(phi, chain_.ratio, rcond=None)
  for ratios in method.ratios().numpy():
    np.testing.assert_allclose(ratios, phi @ weights, rtol=1e-5)
  log_mse = np.log(np.mean(np.square(phi @ weights - chain_.ratio)))
  assert log_mse == pytest.approx(-3.759, abs=1e-3) or log_mse < -60


@pytest.mark.parametrize('name', list(chain_methods.METHODS))
def test_methods_learn(name):
  config = dataclasses.replace(
      _CONFIG,
      num_steps=1500,
      interval=500,
      batch_size=128,
      dual_dice_learning_rate=0.5,
  )
  curve = chain.train('tabular', name, config)
  assert curve.steps.tolist() == [500, 1000, 1500]
  assert curve.log_mse.shape == (3, 3)
  assert (curve.log_mse[:, -1] < -4.0).all()
  assert len(set(curve.log_mse[:, -1])) == 3  # Trials differ.


def test_same_seed_same_numbers():
  curve = chain.train('inverted', 'dual_dice', _CONFIG)
  again = chain.train('inverted', 'dual_dice', _CONFIG)
  np.testing.assert_array_equal(curve.log_mse, again.log_mse)
  config = dataclasses.replace(_CONFIG, seed=1)
  other = chain.train('inverted', 'dual_dice', config)
  assert np.abs(curve.log_mse - other.log_mse).max() > 0.0


def test_run_directory_and_resuming(tmp_path):
  run_dir = str(tmp_path / 'run')
  curves = chain.run(_CONFIG, run_dir)
  assert len(curves) == 9
  path = os.path.join(run_dir, chain.CSV)
  with open(path) as file:
    whole = file.read()
  lines = whole.splitlines()
  assert lines[0] == 'features,method,step,0,1,2'
  assert len(lines) == 1 + 9 * 2
  numbers = [float(number) for number in lines[1].split(',')[3:]]
  np.testing.assert_allclose(numbers, curves[0].log_mse[:, 0], atol=0.005)
  assert os.path.exists(os.path.join(run_dir, chain.PICTURE))
  assert os.listdir(os.path.join(run_dir, 'events/dependent/srdice'))
  with open(path, 'w') as file:  # As if killed in the last curve.
    file.write('\n'.join(lines[: 1 + 8 * 2]) + '\n')
  chain.run(_CONFIG, run_dir)
  with open(path) as file:
    assert file.read() == whole
  assert 'dependent' in chain_table.table(curves)
  with pytest.raises(errors.UserError, match='seed=0, asked for is 3'):
    chain.run(dataclasses.replace(_CONFIG, seed=3), run_dir)


@pytest.mark.parametrize(
    'content, message',
    [
        ('', "found 'nothing'"),
        ('features,method,step,0\n', 'expected features,method,step,0,1,2;'),
        ('{}tabular,srdice,10,x,1,1\n', 'line 2 is'),
        ('{}tabular,srdice,10,1,1,1\n', 'tabular srdice has 1 lines'),
        ('{}tabular,other,10,1,1,1\n', 'tabular other has 1 lines'),
        (
            '{}tabular,srdice,10,1,1,1\ntabular,srdice,30,1,1,1\n',
            'tabular srdice has 2 lines',
        ),
    ],
)
def test_broken_csv(tmp_path, content, message):
  path = tmp_path / chain.CSV
  path.write_text(content.format('features,method,step,0,1,2\n'))
  with pytest.raises(errors.UserError, match=message) as error:
    chain.read_csv(str(path), _CONFIG)
  assert str(error.value).endswith('; remove it to train again.')


_NUMBERS = [
    field.name
    for field in dataclasses.fields(chain.ChainConfig)
    if field.type in (int, float)
]


@pytest.mark.parametrize(
    'field, value',
    [
        ('num_steps', 150),
        *((name, 0) for name in _NUMBERS if name not in _MAY_BE_ZERO),
        *((name, value) for name in _NUMBERS for value in (-1, np.nan, np.inf)),
    ],
)
def test_settings_that_cannot_be_used(field, value):
  with pytest.raises(errors.UserError, match=f'^{field}={value}: expected'):
    chain.ChainConfig(**{field: value})


def test_table_by_hand():
  steps = np.arange(100, 1001, 100)
  errors_of = np.stack([-np.arange(10.0), -np.arange(10.0) - 2.0])  # [T, E]
  curve = chain.ChainCurve('tabular', 'srdice', steps, errors_of)
  *_, row = chain_table.table([curve]).splitlines()
  # At 100 (2% is before the first), 100, 200 and 500; last ten: -5.5, and
  # sqrt(2) by n - 1.
  assert row.split() == [
      'tabular', 'srdice', '-1.000', '-1.000', '-2.000', '-5.000', '-5.500',
      '1.414',
  ]


def test_a_row_for_each_trial_by_hand():
  errors_ = np.array([[5.0] + [-1.0] * 10, [5.0] + [-2.0] * 5 + [-4.0] * 5])
  curve = chain.ChainCurve('tabular', 'srdice', np.arange(1, 12), errors_)
  frame = chain_table.frame([curve])
  assert frame.to_dict('list') == {
      'features': ['tabular'] * 2,
      'method': ['srdice'] * 2,
      'trial': [0, 1],
      'updates': [11, 11],
      'log_mse': [-1.0, -3.0],
  }


@pytest.mark.parametrize(
    'fields',
    [
        {'batch_size': 2**31 - 1},
        {'num_trials': 2**31 - 1},
        {'num_steps': 2**31 - 1, 'interval': 1, 'num_trials': 100},
    ],
)
def test_sizes_that_cannot_fit_the_memory_are_refused(fields):
  name = next(iter(fields))
  with pytest.raises(errors.UserError, match=rf'^{name}=\d+: needs .*at most'):
    chain.ChainConfig(**fields)
