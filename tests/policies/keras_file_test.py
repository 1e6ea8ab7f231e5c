"""Tests for policies that are Keras models in files."""

import zipfile

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import actions
from srdice_tf.policies import loading
from srdice_tf.policies import model_policies
from srdice_tf.policies import settings
from tests.policies import models

_VECTORS = array_spec.ArraySpec((3,), np.float32)
_TORQUES = array_spec.BoundedArraySpec((2,), np.float32, -2.0, 2.0)
_CHOICES = array_spec.BoundedArraySpec((), np.int64, 0, 3)
_STATES = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
_STEP = ts.restart(tf.constant(_STATES), 6)


def _save(path, *layers, inputs=None):
  inputs = tf.keras.Input([3]) if inputs is None else inputs
  outputs = inputs
  for layer in layers:
    outputs = layer(outputs)
  tf.keras.Model(inputs, outputs).save(path)
  return path


def _dense(units, scale=1.0, **options):
  tf.keras.utils.set_random_seed(1)
  initializer = tf.keras.initializers.RandomNormal(stddev=scale)
  return tf.keras.layers.Dense(
      units, kernel_initializer=initializer, **options
  )


def _load(path, action_spec, **options):
  return loading.load(str(path), 'X', _VECTORS, action_spec, **options)


def _error(path, action_spec=_TORQUES) -> str:
  with pytest.raises(errors.UserError) as error:
    _load(path, action_spec)
  message = str(error.value)
  assert message.startswith(f'policy={path}: ') and '\n' not in message
  return message


def test_continuous_actions_are_as_they_are(tmp_path):
  path = _save(tmp_path / 'a.keras', _dense(2))
  expected = tf.keras.models.load_model(path)(_STATES).numpy()
  assert np.abs(expected).max() > 2.0
  policy = _load(path, _TORQUES)
  found = settings.target_policy(policy, 0.0).action(_STEP).action
  np.testing.assert_allclose(found, expected.clip(-2.0, 2.0), rtol=1e-6)
  view = actions.target_actions(settings.target_policy(policy, 0.0))
  parameters = view.parameters(tf.constant(_STATES))
  np.testing.assert_allclose(parameters, expected, rtol=1e-6)
  drawn, weights = view.support(parameters, 5, None)
  np.testing.assert_allclose(drawn[:, 0], found, rtol=1e-6)
  assert drawn.shape == (6, 1, 2) and weights is None
  with pytest.warns(UserWarning, match='a.keras: .*% of its actions are out'):
    view.check(parameters)
  # Logged actions do not bound a policy.
  unknown = _load(path, _TORQUES, bounds_known=False)
  np.testing.assert_allclose(
      unknown.action(_STEP).action, expected, rtol=1e-6
  )


@pytest.mark.parametrize('last', ['softmax', 'layer', 'sums', 'logits'])
def test_logits_and_probabilities_are_told_apart(tmp_path, last):
  layers = {
      'softmax': [_dense(4, activation='softmax')],
      'layer': [_dense(4), tf.keras.layers.Softmax()],
      # Nothing says so but the numbers.
      'sums': [_dense(4, activation='softmax'), tf.keras.layers.Reshape([4])],
      'logits': [_dense(4)],
  }[last]
  path = _save(tmp_path / 'a.keras', *layers)
  outputs = tf.keras.models.load_model(path)(_STATES)
  expected = tf.nn.softmax(outputs) if last == 'logits' else outputs
  policy = _load(path, _CHOICES)
  assert settings.target_policy(policy) is policy
  view = actions.target_actions(policy)
  assert view.parameters_are_probabilities
  parameters = view.parameters(tf.constant(_STATES))
  np.testing.assert_allclose(parameters, expected, rtol=1e-5)
  view.check(parameters)


def test_the_number_of_logged_actions_does_not_bound_a_policy(tmp_path):
  path = _save(tmp_path / 'a.keras', _dense(5))
  message = _error(path, _CHOICES)
  assert "its discrete actions are 5, the environment's are 4" in message
  policy = _load(path, _CHOICES, bounds_known=False)
  assert policy.action_spec.maximum == 4
  path = _save(tmp_path / 'b.keras', _dense(3))
  with pytest.raises(errors.UserError, match="are 3, the data's are 4"):
    loading.load(str(path), '', _VECTORS, _CHOICES, bounds_known=False)


def test_checksums_are_of_the_file(tmp_path):
  one = _load(_save(tmp_path / 'a.keras', _dense(2)), _TORQUES)
  other = _load(_save(tmp_path / 'b.keras', _dense(2, 0.1)), _TORQUES)
  assert loading.checksum(one) != loading.checksum(other)
  assert isinstance(one, model_policies.ActionModel)


def test_files_that_cannot_be_read(tmp_path):
  path = _save(tmp_path / 'a.keras', _dense(2))
  whole = path.read_bytes()
  for content in (b'', b'no model', whole[: len(whole) // 2]):
    path.write_bytes(content)
    assert 'cannot be read' in _error(path)
  with zipfile.ZipFile(path, 'w') as archive:
    archive.writestr('config.json', '{}')
  assert 'cannot be read' in _error(path)


def test_code_in_a_file_is_not_run(tmp_path):
  layer = tf.keras.layers.Lambda(lambda x: x[:, :2])
  path = _save(tmp_path / 'a.keras', layer)
  assert 'cannot be read' in _error(path)


def test_models_that_do_not_fit(tmp_path):
  path = tmp_path / 'a.keras'
  _save(path, _dense(2), inputs=tf.keras.Input([5]))
  assert "its inputs are [None, 5], the environment's are [None, 3]" in _error(
      path
  )
  _save(path, _dense(4))
  assert "its outputs are float32[4], the environment's are float32[2]" in (
      _error(path)
  )
  _save(path, tf.keras.layers.Reshape([3, 1]))
  assert 'its outputs are float32[3, 1], and there are 4' in _error(
      path, _CHOICES
  )
  _save(path, _dense(2), inputs=tf.keras.Input([3], 7))
  assert 'it is for batches of 7' in _error(path)


def test_rnn_states_are_refused(tmp_path):
  path = tmp_path / 'a.keras'
  inputs = tf.keras.Input([3], 1)
  lstm = tf.keras.layers.LSTM(2, stateful=True)
  _save(path, tf.keras.layers.Reshape([1, 3]), lstm, inputs=inputs)
  assert 'keeps a state from step to step, as RNNs do' in _error(path)
  inputs = [tf.keras.Input([3], name='now'), tf.keras.Input([4], name='state')]
  _save(path, tf.keras.layers.Concatenate(), _dense(2), inputs=inputs)
  message = _error(path)
  assert 'it has 2 inputs, now, state' in message and 'RNNs' in message


def test_nan_actions_are_refused(tmp_path):
  bias = tf.keras.initializers.Constant(float('nan'))
  path = _save(tmp_path / 'a.keras', _dense(2, bias_initializer=bias))
  view = actions.target_actions(_load(path, _TORQUES))
  with pytest.raises(errors.UserCodeError, match='a.keras: gave the action'):
    view.check(view.parameters(tf.constant(_STATES)))
  path = _save(tmp_path / 'b.keras', _dense(4, bias_initializer=bias))
  view = actions.target_actions(_load(path, _CHOICES))
  with pytest.raises(errors.UserCodeError, match='b.keras: gave probab.* NaN'):
    view.parameters(tf.constant(_STATES))


def test_states_of_finite_mdps(tmp_path):
  layer = tf.keras.layers.Embedding(5, 2)
  inputs = tf.keras.Input([], dtype=tf.int64)
  path = _save(tmp_path / 'a.keras', layer, inputs=inputs)
  specs = models.specs('FiveStateChain')
  policy = loading.load(str(path), 'FiveStateChain', *specs)
  table = actions.probability_table(policy, 5)
  logits = tf.keras.models.load_model(path)(np.arange(5))
  np.testing.assert_allclose(table, tf.nn.softmax(logits), rtol=1e-5)
