"""Tests for policies that are ONNX networks, written by onnx itself."""

import importlib

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import actions
from srdice_tf.policies import loading
from srdice_tf.policies import seeded
from srdice_tf.policies import settings

onnx = pytest.importorskip('onnx')
pytest.importorskip('onnxruntime')

_VECTORS = array_spec.ArraySpec((3,), np.float32)
_TORQUES = array_spec.BoundedArraySpec((2,), np.float32, -9.0, 9.0)
_CHOICES = array_spec.BoundedArraySpec((), np.int64, 0, 3)
_RNG = np.random.default_rng(0)
_STATES = _RNG.normal(size=(6, 3)).astype(np.float32)
_STEP = ts.restart(tf.constant(_STATES), 6)
_FLOAT, _INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def _weight(units):
  return np.random.default_rng(units).normal(size=(3, units)).astype('f4')


def _save(path, units, *operations, output=None, batch='N', size=3, extra=()):
  """Writes x W, followed by operations of one argument."""
  helper = onnx.helper
  nodes = [helper.make_node('MatMul', ['x', 'w'], ['y0'])]
  for i, (kind, options) in enumerate(operations):
    nodes.append(
        helper.make_node(kind, [f'y{i}'], [f'y{i + 1}'], **options)
    )
  kind, shape = output or (_FLOAT, [batch, units])
  graph = helper.make_graph(
      nodes,
      'policy',
      [
          helper.make_tensor_value_info('x', _FLOAT, [batch, size]),
          *(helper.make_tensor_value_info(n, _FLOAT, [1, 4]) for n in extra),
      ],
      [helper.make_tensor_value_info(nodes[-1].output[0], kind, shape)],
      [onnx.numpy_helper.from_array(_weight(units)[:size], 'w')],
  )
  opset = helper.make_opsetid('', 13)
  model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
  onnx.save(model, str(path))
  return path


def _load(path, action_spec, **options):
  return loading.load(str(path), 'X', _VECTORS, action_spec, **options)


def _error(path, action_spec=_TORQUES) -> str:
  with pytest.raises(errors.UserError) as error:
    _load(path, action_spec)
  message = str(error.value)
  assert message.startswith(f'policy={path}: ') and '\n' not in message
  return message


def test_continuous_actions_are_as_they_are(tmp_path):
  policy = _load(_save(tmp_path / 'a.onnx', 2), _TORQUES)
  expected = _STATES @ _weight(2)
  target = settings.target_policy(policy, 0.0)
  np.testing.assert_allclose(target.action(_STEP).action, expected, rtol=1e-5)
  # In a graph, as in roll-outs.
  compiled = seeded.SeededPyPolicy(target, 6, seed=0)
  step = ts.restart(_STATES, 6)
  np.testing.assert_allclose(compiled.action(step).action, expected, rtol=1e-5)
  other = _load(_save(tmp_path / 'b.onnx', 2, ('Neg', {})), _TORQUES)
  assert loading.checksum(policy) != loading.checksum(other)


def test_logits_probabilities_and_actions(tmp_path):
  logits = _STATES @ _weight(4)
  softmax, argmax = ('Softmax', {}), ('ArgMax', {'axis': 1, 'keepdims': 0})
  greedy = np.eye(4)[logits.argmax(axis=1)]
  for operations, output, expected in (
      ([], None, tf.nn.softmax(logits)),
      ([softmax], None, tf.nn.softmax(logits)),
      ([argmax], (_INT64, ['N']), greedy),
  ):
    path = _save(tmp_path / 'a.onnx', 4, *operations, output=output)
    view = actions.target_actions(_load(path, _CHOICES))
    compiled = tf.function(view.parameters, autograph=False)
    found = compiled(tf.constant(_STATES))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)
  fewer = array_spec.BoundedArraySpec((), np.int64, 0, 1)
  view = actions.target_actions(_load(path, fewer))
  with pytest.raises(errors.UserCodeError, match='a.onnx: gave the action'):
    view.parameters(tf.constant(_STATES))


def test_files_that_cannot_be_read(tmp_path):
  path = _save(tmp_path / 'a.onnx', 2)
  whole = path.read_bytes()
  for content in (b'', b'no network', whole[: len(whole) // 2]):
    path.write_bytes(content)
    assert 'cannot be read' in _error(path)


def test_networks_that_do_not_fit(tmp_path):
  path = tmp_path / 'a.onnx'
  _save(path, 2, size=2)
  assert "its inputs are [None, 2], the environment's are [None, 3]" in _error(
      path
  )
  _save(path, 4)
  assert "outputs are float32[4], the environment's are float32[2]" in _error(
      path
  )
  _save(path, 2, batch=1)
  assert 'it is for batches of 1' in _error(path)
  _save(path, 2, extra=['h0'])
  message = _error(path)
  assert 'it has 2 inputs, x, h0' in message and 'RNNs' in message


def test_nan_actions_are_refused(tmp_path):
  path = _save(tmp_path / 'a.onnx', 2, ('Log', {}))  # Of negative numbers.
  view = actions.target_actions(_load(path, _TORQUES))
  with pytest.raises(errors.UserCodeError, match='a.onnx: gave .*not NaN'):
    view.check(view.parameters(tf.constant(_STATES)))


def test_without_onnxruntime_it_says_so(tmp_path, monkeypatch):
  path = _save(tmp_path / 'a.onnx', 2)
  original = importlib.import_module

  def fails(name, *args):
    if name == 'onnxruntime':
      raise ImportError(name)
    return original(name, *args)

  monkeypatch.setattr(importlib, 'import_module', fails)
  assert 'onnxruntime is not installed; pip install' in _error(path)
