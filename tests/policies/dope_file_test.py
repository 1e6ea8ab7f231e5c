"""Tests for DOPE's policies, and that their pickles run nothing."""

import io
import os
import pickle

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from srdice_tf import errors
from srdice_tf.policies import actions
from srdice_tf.policies import array_pickles
from srdice_tf.policies import loading
from srdice_tf.policies import seeded
from srdice_tf.policies import settings

_VECTORS = array_spec.ArraySpec((3,), np.float32)
_TORQUES = array_spec.BoundedArraySpec((2,), np.float32, -2.0, 2.0)
_STATES = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)


def _content(hidden=5, **changes) -> dict:
  """Returns a policy with weights [out, in], as DOPE has them."""
  rng = np.random.default_rng(1)
  sizes = {
      'fc0': (3, hidden),
      'fc1': (hidden, hidden),
      'last_fc': (hidden, 2),
      'last_fc_log_std': (hidden, 2),
  }
  content = {'nonlinearity': 'relu', 'output_distribution': 'tanh_gaussian'}
  for name, (num_in, num_out) in sizes.items():
    weight = rng.normal(size=(num_out, num_in)) / 2
    content[f'{name}/weight'] = weight.astype(np.float32)
    content[f'{name}/bias'] = rng.normal(size=num_out).astype(np.float32)
  return {**content, **{k.replace('__', '/'): v for k, v in changes.items()}}


def _save(path, content, protocol=4):
  path.write_bytes(pickle.dumps(content, protocol))
  return path


def _load(path, specs=(_VECTORS, _TORQUES), **options):
  return loading.load(str(path), 'X', *specs, **options)


def _error(path, specs=(_VECTORS, _TORQUES)) -> str:
  with pytest.raises(errors.UserError) as error:
    _load(path, specs)
  message = str(error.value)
  assert message.startswith(f'policy={path}: ') and '\n' not in message
  return message


def _gaussian(content, states):
  """Returns mean and standard deviation [B, A], in numpy."""
  relu = lambda x: np.maximum(x, 0.0)
  activation = relu if content['nonlinearity'] == 'relu' else np.tanh
  x = states
  for name in ('fc0', 'fc1'):
    x = x @ content[f'{name}/weight'].T + content[f'{name}/bias']
    x = activation(x)
  mean, log_std = (
      x @ content[f'{name}/weight'].T + content[f'{name}/bias']
      for name in ('last_fc', 'last_fc_log_std')
  )
  return mean, np.exp(np.clip(log_std, -5.0, 2.0))


@pytest.mark.parametrize('nonlinearity', ['relu', 'tanh'])
def test_actions_are_those_of_the_network(tmp_path, nonlinearity):
  content = _content(nonlinearity=nonlinearity)
  # Standard deviations on both ends.
  content['last_fc_log_std/bias'] = np.array([-30.0, 0.1], np.float32)
  policy = _load(_save(tmp_path / 'a.pkl', content))
  assert settings.target_policy(policy) is policy
  states = np.repeat(_STATES[:1], 4000, axis=0)
  step = ts.restart(tf.constant(states), 4000)
  drawn = policy.action(step, seed=tf.constant([1, 2])).action.numpy()
  again = policy.action(step, seed=tf.constant([1, 2])).action.numpy()
  np.testing.assert_array_equal(drawn, again)
  assert np.abs(drawn).max() <= 2.0
  before = np.arctanh(drawn.astype(np.float64) / 2.0001)
  mean, std = _gaussian(content, _STATES[:1])
  assert std[0, 0] == pytest.approx(np.exp(-5.0))
  np.testing.assert_allclose(before.mean(0), mean[0], atol=0.15)
  np.testing.assert_allclose(before.std(0), std[0], rtol=0.1)


def test_it_can_be_evaluated(tmp_path):
  policy = _load(_save(tmp_path / 'a.pkl', _content()))
  view = actions.target_actions(policy)
  view.check(view.parameters(tf.constant(_STATES)))
  drawn = seeded.SeededPyPolicy(policy, 6, seed=0).action(
      ts.restart(_STATES, 6)
  )
  assert drawn.action.shape == (6, 2)
  # Those of tanh, if data are all that is known.
  policy = _load(tmp_path / 'a.pkl', bounds_known=False)
  assert (policy.action_spec.minimum, policy.action_spec.maximum) == (-1, 1)


@pytest.mark.parametrize('protocol', range(6))
def test_each_form_of_a_pickle(tmp_path, protocol):
  """Also of other types, orders of bytes and texts."""
  content = _content()
  expected = _load(_save(tmp_path / 'a.pkl', content))
  other = {
      key: v.astype('>f8', order='F') if isinstance(v, np.ndarray) else v
      for key, v in content.items()
  }
  other['nonlinearity'] = np.str_('relu')
  other['output_distribution'] = b'tanh_gaussian'
  found = _load(_save(tmp_path / 'b.pkl', other, protocol))
  step = ts.restart(tf.constant(_STATES), 6)
  np.testing.assert_allclose(
      *(p.distribution(step).action.mode() for p in (found, expected)),
      rtol=1e-5,
  )
  assert loading.checksum(found) != loading.checksum(expected)


def test_weights_are_taken_as_they_fit(tmp_path):
  content = _content()
  turned = {
      key: value.T if key.endswith('weight') else value
      for key, value in content.items()
  }
  step = ts.restart(tf.constant(_STATES), 6)
  policies = (
      _load(_save(tmp_path / f'{i}.pkl', c))
      for i, c in enumerate((content, turned))
  )
  np.testing.assert_array_equal(
      *(p.distribution(step).action.mode() for p in policies)
  )
  # Not each in an order of its own.
  turned['fc0/weight'] = content['fc0/weight']
  assert 'do not take 3 observations to 2 actions' in _error(
      _save(tmp_path / 'c.pkl', turned)
  )


def test_policies_that_do_not_fit(tmp_path):
  path = tmp_path / 'a.pkl'
  for changes, message in (
      ({'output_distribution': 'gaussian'}, "is 'gaussian'; expected tanh_g"),
      ({'nonlinearity': 'selu'}, "nonlinearity is 'selu'; expected relu or"),
      ({'nonlinearity': 3}, 'nonlinearity is 3'),
      ({'fc1__weight': np.ones((5, 4), 'f4')}, 'do not take'),
      ({'fc0__bias': np.ones((5, 1), 'f4')}, 'float32[5, 1]; expected floats'),
      ({'fc0__bias': [1.0] * 5}, 'fc0/bias is list'),
      ({'fc0__bias': np.full(5, np.nan, 'f4')}, 'NaN or infinite'),
      ({'fc0__bias': np.ones(5, int)}, 'fc0/bias is int64[5]'),
  ):
    assert message in _error(_save(path, _content(**changes)))
  content = _content()
  del content['last_fc/bias']
  assert 'there is no last_fc/bias, only' in _error(_save(path, content))
  _save(path, _content())
  wider = array_spec.ArraySpec((4,), np.float32)
  assert 'do not take 4 observations' in _error(path, (wider, _TORQUES))
  choices = array_spec.BoundedArraySpec((), np.int64, 0, 3)
  assert 'for vectors; the environment has' in _error(path, (_VECTORS, choices))


def test_files_that_cannot_be_read(tmp_path):
  path = _save(tmp_path / 'a.pkl', _content())
  whole = path.read_bytes()
  for content in (
      b'',
      b'no pickle',
      whole[: len(whole) // 2],
      pickle.dumps([1, 2]),
      pickle.dumps({'fc0/weight': np.array([{}, None])}),
      pickle.dumps({'fc0/weight': {1, 2}}),
  ):
    path.write_bytes(content)
    assert 'cannot be read' in _error(path)


class _Calls:
  """What a pickle of it calls."""

  def __init__(self, function, *args):
    self._call = function, args

  def __reduce__(self):
    return self._call


def _hostile(mark: str):
  """Yields pickles that would make a file."""
  command = f'touch {mark}'
  code = f"open({mark!r}, 'w')"
  yield pickle.dumps(_Calls(os.system, command))
  yield pickle.dumps({'fc0/weight': _Calls(eval, code)})
  yield pickle.dumps([_Calls(exec, code), np.ones(3)])
  # Hidden in what is allowed.
  yield pickle.dumps(_Calls(_reconstruct(), _Calls(eval, code), (0,), b'b'))
  yield pickle.dumps(_Calls(np.dtype, _Calls(eval, code)))
  yield pickle.dumps(_Calls(_Calls, _Calls(open, mark, 'w')))
  for line in (
      f'cos\nsystem\n(V{command}\ntR.',
      f'(S{command!r}\nios\nsystem\n.',
      f'cnumpy.f2py\ncompile\n(V{command}\ntR.',
      f'cnumpy.testing._private.utils\nrunstring\n(V{code}\n(dtR.',
      'cbuiltins\ngetattr\n(cbuiltins\n__import__\nV__call__\ntR(Vos\ntR.',
      f'cnumpy\ncore.multiarray.os.system\n(V{command}\ntR.',
      # Changes what stands for a function, then calls it.
      f'cnumpy\ndtype\n(dV_make\ncos\nsystem\nsb(V{command}\ntR.',
      f'cnumpy\ndtype\n(dV_make\nV{command}\nsb.',
  ):
    yield line.encode()
  text = bytes([len(command)]) + command.encode()
  yield b'\x80\x04\x8c\x02os\x8c\x06system\x93\x8c' + text + b'\x85R.'


def _reconstruct():
  return np.ones(1).__reduce__()[0]


def test_a_hostile_pickle_is_refused(tmp_path):
  mark = str(tmp_path / 'ran')
  path = tmp_path / 'a.pkl'
  for content in _hostile(mark):
    path.write_bytes(content)
    assert 'cannot be read' in _error(path)
    assert not os.path.exists(mark), content
  # They would have run.
  pickle.loads(next(_hostile(mark)))
  assert os.path.exists(mark)


def test_arrays_are_as_long_as_they_say():
  """Else numpy would read what is behind them."""
  content = pickle.dumps(np.arange(4, dtype=np.float32), 2)
  assert array_pickles.load(io.BytesIO(content)).tolist() == [0, 1, 2, 3]
  longer = content.replace(b'K\x04\x85', b'K\x08\x85')
  assert longer != content
  with pytest.raises(pickle.UnpicklingError, match='as many bytes'):
    array_pickles.load(io.BytesIO(longer))
