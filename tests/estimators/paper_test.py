"""The paper's hyper-parameters against what its presets make of them.

The two tables stand here as the paper's appendix prints them, to be compared
by eye; each number is read from the optimisers and minibatches of estimators
that are made with the preset, not from the preset's fields.
"""


import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec

from srdice_tf import errors
from srdice_tf.data import datasets
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import tasks
from srdice_tf.networks import layers
from srdice_tf.policies import composed
from tests import finite

_METHODS = ('srdice', 'dual_dice', 'gradient_dice', 'deep_sr', 'deep_td')

# "Continuous action environment training hyper-parameters." Bold w is _w_.
_CONTINUOUS = """
Hyper-parameter          | SR-DICE | DualDICE | GradientDICE | Deep SR | Deep TD
Optimizer                | Adam    | Adam     | Adam         | Adam    | Adam
psi, Q Learning rate     | 3e-4    | -        | -            | 3e-4    | 3e-4
_w_ Learning rate        | 3e-4    | -        | -            | 3e-4    | -
f Learning rate          | -       | 5e-5     | 1e-5         | -       | -
w Learning rate          | -       | 5e-5     | 1e-5         | -       | -
u Learning rate          | -       | -        | 1e-2         | -       | -
psi, Q Mini-batch size   | 256     | -        | -            | 256     | 256
_w_, f, w, u Mini-batch  | 2048    | 2048     | 2048         | 2048    | -
psi, Q Target update     | 0.005   | -        | -            | 0.005   | 0.005
"""

# "Training hyper-parameters for the Atari domain."
_ATARI = """
Hyper-parameter          | SR-DICE | DualDICE | GradientDICE | Deep SR | Deep TD
Optimizer                | Adam    | Adam     | Adam         | Adam    | Adam
psi, Q Learning rate     | 6.25e-5 | -        | -            | 6.25e-5 | 6.25e-5
psi, Q, f, w Adam eps    | 1.5e-4  | 1.5e-4   | 1.5e-4       | 1.5e-4  | 1.5e-4
_w_, u Adam eps          | 1e-8    | -        | 1e-8         | 1e-8    | -
_w_ Learning rate        | 3e-4    | -        | -            | 3e-4    | -
f Learning rate          | -       | 6.25e-5  | 6.25e-5      | -       | -
w Learning rate          | -       | 6.25e-5  | 6.25e-5      | -       | -
u Learning rate          | -       | -        | 1e-3         | -       | -
psi, Q Mini-batch size   | 32      | -        | -            | 32      | 32
_w_, f, w, u Mini-batch  | 32      | 32       | 32           | 32      | -
psi, Q Target update     | 8000    | -        | -            | 8000    | 8000
"""


def _cells(table: str):
  """Yields row, method and number, or name, of each cell that is not empty."""
  header, *rows = table.strip().splitlines()
  assert len(header.split('|')) == len(_METHODS) + 1
  for row in rows:
    name, *cells = [cell.strip() for cell in row.split('|')]
    for method, cell in zip(_METHODS, cells, strict=True):
      if cell != '-':
        yield name, method, cell


def _made_on_vectors():
  preset = presets.preset('paper', is_frames=False)
  return registry.make_estimators(_METHODS, finite.chain().problem, preset, 0)


def _made_on_frames():
  specs = (
      array_spec.BoundedArraySpec((84, 84, 4), np.uint8, 0, 255),
      array_spec.BoundedArraySpec((), np.int64, 0, 1),
  )
  dataset = datasets.Dataset.from_rows(
      np.zeros((3, 84, 84), np.uint8),
      np.array([0, 1, 1]),
      np.zeros(3, np.int64),
      np.zeros(3, np.float32),
      np.ones(3, np.float32),
      frame_stack=4,
  )
  policy = composed.UniformPolicy(*specs)
  problem = tasks.make_problem(policy, dataset, specs, 0.99)
  preset = presets.preset('paper', is_frames=True)
  return registry.make_estimators(_METHODS, problem, preset, 0)


@pytest.fixture(scope='module', params=['continuous', 'atari'])
def printed(request):
  """Returns the table and the estimators of its preset."""
  if request.param == 'continuous':
    return _CONTINUOUS, _made_on_vectors()
  return _ATARI, _made_on_frames()


def _deep(estimator):
  """Returns what trains psi or Q, or else the estimator itself."""
  if estimator.name == 'deep_td':
    return estimator._value_function
  return getattr(estimator, '_representation', None) or estimator


def _optimizers(estimator) -> dict:
  """Returns the optimisers by what the tables call them."""
  found = {
      'f': getattr(estimator, '_f_optimizer', None),
      'w': getattr(estimator, '_w_optimizer', None),
      'u': getattr(estimator, '_u_optimizer', None),
  }
  if estimator.name == 'deep_td':
    found['psi, Q'] = _deep(estimator)._optimizer
  elif estimator.name in ('srdice', 'deep_sr'):
    found['psi, Q'] = _deep(estimator)._successor_optimizer
    found['encoder'] = _deep(estimator)._encoder_optimizer
    found['_w_'] = estimator._optimizer
  return {name: optimizer for name, optimizer in found.items() if optimizer}


def _read(row: str, estimator, monkeypatch):
  """Returns the number of a row, as the estimator has it."""
  optimizers = _optimizers(estimator)
  config = _deep(estimator).config
  if row.endswith('Learning rate'):
    name = row.removesuffix(' Learning rate')
    return float(optimizers[name].learning_rate)
  if row.endswith('Adam eps'):
    names = {'psi, Q, f, w': ('psi, Q', 'encoder', 'f', 'w')}
    names = names.get(row.removesuffix(' Adam eps'), ('_w_', 'u'))
    (epsilon,) = {optimizers[n].epsilon for n in names if n in optimizers}
    return epsilon
  if row == 'psi, Q Target update':
    return config.target_interval or config.tau
  if row == 'psi, Q Mini-batch size':
    phase = estimator.phases[0 if estimator.name == 'deep_td' else 1]
    return _minibatch(phase, estimator, monkeypatch)
  assert row == '_w_, f, w, u Mini-batch'
  return _minibatch(estimator.phases[-1], estimator, monkeypatch)


class _Drawn(Exception):
  """Carries the size of a minibatch."""


def _minibatch(phase, estimator, monkeypatch) -> int:
  """Returns how many transitions a step draws, without taking it."""

  def stop(size):
    raise _Drawn(size)

  class _Generator:
    uniform = staticmethod(lambda shape, *_: stop(shape[0]))

  with monkeypatch.context() as patch:
    patch.setattr(estimator, 'rng', _Generator)
    patch.setattr(estimator.problem, 'sample', lambda size, _: stop(size))
    # What is frozen by then need not be there.
    features = tf.zeros([5, 256])
    patch.setattr(_deep(estimator), '_features', features, raising=False)
    with pytest.raises(_Drawn) as drawn:
      estimator._start_minibatches = features
      phase.step()
  return drawn.value.args[0]


def test_each_number_of_the_table(printed, monkeypatch):
  table, estimators = printed
  count = 0
  for row, method, cell in _cells(table):
    where = f'{row}, {method}'
    if row == 'Optimizer':
      for name, optimizer in _optimizers(estimators[method]).items():
        assert type(optimizer).__name__ == cell, f'{where} {name}'
        assert isinstance(optimizer, layers.Adam)  # PyTorch's.
        assert float(optimizer.beta_1) == pytest.approx(0.9)
        assert float(optimizer.beta_2) == pytest.approx(0.999)
      continue
    found = _read(row, estimators[method], monkeypatch)
    assert found == pytest.approx(float(cell), rel=1e-6), where
    count += 1
  assert count == {_CONTINUOUS: 20, _ATARI: 28}[table]


def test_the_rate_of_the_encoder_is_that_of_all_networks(printed):
  _, estimators = printed
  optimizers = _optimizers(estimators['srdice'])
  rates = [optimizers[name].learning_rate for name in ('encoder', 'psi, Q')]
  assert float(rates[0]) == float(rates[1])


@pytest.mark.parametrize('is_frames', [False, True])
def test_numbers_of_the_text(is_frames):
  """Appendices "SR-DICE Practical Details" and "Experimental Details"."""
  paper = presets.preset('paper', is_frames)
  # "These networks were trained for 30k and 100k time steps", "250k".
  assert (paper['encoder_steps'], paper['successor_steps']) == (30_000, 100_000)
  assert paper['updates'] == 250_000
  # "lambda_s' = 1, lambda_a = 1 and lambda_r = 0.1"; Atari lambda_phi = 0.1.
  names = 'next_state', 'action', 'reward', 'feature'
  weights = [paper[f'{name}_weight'] for name in names]
  assert weights == [1.0, 1.0, 0.1, 0.1]
  # "a feature vector of 256"; "2 hidden layers of 256", Atari "a single
  # hidden layer of 512".
  assert paper['num_features'] == 256
  layers_and_units = paper['hidden_layers'], paper['hidden_units']
  assert layers_and_units == ((1, 512) if is_frames else (2, 256))
  # "We found 0.5 w(s,a)^2 performed the best"; "we use lambda=1".
  assert paper['dual_dice_power'] == 2.0
  assert paper['gradient_dice_norm_weight'] == 1.0
  # As the authors' code has it.
  assert paper['feature_product'] == 'mean'
  assert not paper['normalise_features'] and paper['mask_terminal_frame']


def test_frames_without_the_papers_traps():
  paper, fixed = (presets.preset(n, True) for n in ('paper', 'fixed'))
  assert (paper['pixel_scale'], paper['target_interval']) == (1.0, 8_000)
  changed = paper.replace(
      pixel_scale=255.0,
      target_interval=0,
      normalise_features=True,
      adam_epsilon=1e-8,
  )
  assert changed == fixed
  with pytest.raises(errors.UserError, match='^preset=fixed: observations'):
    presets.preset('fixed', False)


def test_help_says_where_frames_differ():
  assert presets.paper_text('updates') == '250000'
  assert presets.paper_text('pixel_scale') == '255.0, on frames 1.0'
  assert presets.paper_text('target_interval') == '0, on frames 8000'
