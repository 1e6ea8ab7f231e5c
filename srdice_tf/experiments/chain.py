"""The paper's toy experiment: ratios on the five-state chain, 10 trials."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import os

import numpy as np
import tensorflow as tf

from srdice_tf import config_file
from srdice_tf import csv_file
from srdice_tf import errors
from srdice_tf import limits
from srdice_tf import ranges
from srdice_tf import training
from srdice_tf.experiments import chain_methods
from srdice_tf.logging import progress
from srdice_tf.logging import tensorboard
from srdice_tf.reports import figures

# Of a pair in a minibatch, its four indices and what is gathered for it; of a
# trial's networks with Adam's means, two of 32 by 32 units.
_PAIR_BYTES, _TRIAL_BYTES = 64, 16 * 2 * 32 * 32
CSV, PICTURE = 'chain.csv', 'chain.png'
_CELLS = tuple(
    itertools.product(chain_methods.FEATURES, chain_methods.METHODS)
)


@dataclasses.dataclass(frozen=True)
class ChainConfig:
  """The settings of the paper's appendix.

  Attributes:
    num_trials: Trials of each method, all trained at once.
    num_steps: Updates of each trial.
    interval: Updates between two evaluations.
    batch_size: Pairs in a minibatch.
    gamma: Discount factor.
    srdice_learning_rate: Learning rate of SR-DICE's psi.
    dual_dice_learning_rate: Learning rate of DualDICE's f and w.
    gradient_dice_learning_rate: Learning rate of GradientDICE's f, w and u.
    gradient_dice_norm_weight: Weight lambda of the normalisation in
      GradientDICE.
    gradient_dice_f_penalty: Whether GradientDICE has its -1/2 E[f^2].
    expected_actions: Whether losses average over next and start actions,
      instead of drawing one.
    printed_loss: Whether psi's loss is half the sum of the squared errors, as
      the paper prints it, instead of their mean.
    seed: Seed of all randomness.
  """

  num_trials: int = ranges.at_least(1, 10)
  num_steps: int = ranges.at_least(1, 50_000)
  interval: int = ranges.at_least(1, 100)
  batch_size: int = ranges.at_least(1, 128)
  gamma: float = ranges.inside(0, 1, 0.99)
  srdice_learning_rate: float = ranges.positive(0.05)
  dual_dice_learning_rate: float = ranges.positive(0.05)
  gradient_dice_learning_rate: float = ranges.positive(0.1)
  gradient_dice_norm_weight: float = ranges.at_least(0, 1.0)
  gradient_dice_f_penalty: bool = True
  expected_actions: bool = True
  printed_loss: bool = True
  seed: int = ranges.seed(0)

  def __post_init__(self):
    ranges.check(self)
    if self.num_steps % self.interval:
      expected = f'expected a multiple of interval={self.interval}'
      raise errors.UserError('num_steps', self.num_steps, expected)
    needed = {
        'num_trials': lambda trials: _TRIAL_BYTES * trials,
        'batch_size': lambda size: _PAIR_BYTES * size * self.num_trials,
        'num_steps': self._bytes_of_curves,
    }
    for name, bytes_of in needed.items():
      limits.check_memory(name, getattr(self, name), bytes_of)

  def _bytes_of_curves(self, num_steps: int) -> int:
    """Returns what the errors of all trials and curves need, in float64."""
    points = num_steps // self.interval
    return 8 * points * self.num_trials * len(_CELLS)


@dataclasses.dataclass(frozen=True)
class ChainCurve:
  """How one method learned with one kind of features.

  Attributes:
    features: kind of the features.
    method: name of the method.
    steps: [E] updates at the evaluations.
    log_mse: [T, E] log of the mean squared error of the ratios of each trial.
  """

  features: str
  method: str
  steps: np.ndarray
  log_mse: np.ndarray


def run(config: ChainConfig, run_dir: str) -> list[ChainCurve]:
  """Trains all methods with all features; keeps what is in chain.csv.

  Args:
    config: settings.
    run_dir: gets config.json, chain.csv, chain.png and TensorBoard events.

  Raises:
    UserError: if the directory holds another configuration, or another process
      works in it.
  """
  with config_file.hold(run_dir):
    return _run(config, run_dir)


def find(config: ChainConfig, run_dir: str) -> list[ChainCurve] | None:
  """Returns the curves of a run if all of them are there.

  Raises:
    UserError: if the directory holds another configuration.
  """
  config_file.check(run_dir, config, traces=[CSV])
  found = read_csv(os.path.join(run_dir, CSV), config)
  return found if len(found) == len(_CELLS) else None


def _run(config: ChainConfig, run_dir: str) -> list[ChainCurve]:
  config_file.check(run_dir, config)
  path = os.path.join(run_dir, CSV)
  found = read_csv(path, config)
  config_file.claim(run_dir, config, traces=[CSV])
  curves = {(curve.features, curve.method): curve for curve in found}
  total = config.num_steps * len(_CELLS)
  done = config.num_steps * len(curves)
  with progress.Progress(total, 'steps', 'train', initial=done) as bar:
    for cell in _CELLS:
      if cell in curves:
        continue
      done = config.num_steps * len(curves)
      on_steps = lambda steps, before=done: bar.update(before + steps)
      curves[cell] = train(*cell, config, on_steps)
      _write_events(curves[cell], run_dir)
      write_csv(path, list(curves.values()))
  curves = [curves[cell] for cell in _CELLS]
  plot(os.path.join(run_dir, PICTURE), curves)
  return curves


def train(
    features: str,
    method: str,
    config: ChainConfig,
    on_steps: Callable[[int], None] = lambda steps: None,
) -> ChainCurve:
  """Trains all trials of one method, `interval` steps in a compiled call.

  Args:
    features: kind of the features.
    method: name of the method.
    config: settings.
    on_steps: called with the number of steps done.
  """
  chain = chain_methods.Chain(features, config.gamma)
  learner = chain_methods.METHODS[method](chain, config, f'{features} {method}')
  take_steps = training.compile_steps(learner.step)
  ratios = tf.function(learner.ratios, autograph=False)
  steps = _steps(config)
  errors_at = []
  for step in steps:
    take_steps(tf.constant(config.interval))
    difference = ratios().numpy().astype(np.float64) - chain.ratio  # [T, 10]
    errors_at.append(np.log(np.mean(np.square(difference), axis=1)))
    on_steps(int(step))
  return ChainCurve(features, method, steps, np.stack(errors_at, axis=1))


def plot(path: str, found: list[ChainCurve]):
  """Draws a panel per kind of features."""
  panels = {}
  for curve in found:
    panel = panels.setdefault(f'{curve.features} features', {})
    panel[curve.method] = curve.steps, curve.log_mse
  figures.plot_panels(path, panels, 'log MSE of the density ratio')


def write_csv(path: str, curves: Sequence[ChainCurve]):
  """Writes a line per evaluation, with a column per trial."""
  rows = [
      [curve.features, curve.method, step, *(f'{x:.2f}' for x in values)]
      for curve in curves
      for step, values in zip(curve.steps, curve.log_mse.T)
  ]
  csv_file.write(path, _columns(curves[0].log_mse.shape[0]), rows)


def read_csv(path: str, config: ChainConfig) -> list[ChainCurve]:
  """Returns the whole curves of a run; none if there is no file.

  Raises:
    UserError: if the file is not one that `write_csv` wrote for this config.
  """
  advice = 'remove it to train again'
  columns = _columns(config.num_trials)
  tables = {}
  for row in csv_file.read(path, columns, advice, ('features', 'method')):
    features, method, *numbers = row.values()
    tables.setdefault((features, method), []).append(numbers)
  steps = _steps(config)
  curves = []
  for cell, rows in tables.items():
    table = np.asarray(rows).T  # [1 + T, E]
    if cell not in _CELLS or not np.array_equal(table[0], steps):
      raise errors.at(
          path,
          f'the curve of {" ".join(cell)} has {len(rows)} lines, expected one'
          f' every {config.interval} of {config.num_steps} steps of a known'
          ' method',
          advice,
      )
    curves.append(ChainCurve(*cell, steps, table[1:]))
  return curves


def to_json(curves: Sequence[ChainCurve]) -> list[dict]:
  """Returns curves with the digits that chain.csv has."""
  return [
      {
          'features': curve.features,
          'method': curve.method,
          'steps': curve.steps.tolist(),
          'log_mse': np.round(curve.log_mse, 2).tolist(),
      }
      for curve in curves
  ]


def from_json(content: Sequence[Mapping]) -> list[ChainCurve]:
  """Returns what `to_json` made."""
  as_array = lambda value: np.array(value) if isinstance(value, list) else value
  return [
      ChainCurve(**{name: as_array(value) for name, value in curve.items()})
      for curve in content
  ]


def _columns(num_trials: int) -> list[str]:
  return ['features', 'method', 'step', *map(str, range(num_trials))]


def _steps(config: ChainConfig) -> np.ndarray:
  """Returns the updates [E] after which the ratios are compared."""
  return np.arange(config.interval, config.num_steps + 1, config.interval)


def _write_events(curve: ChainCurve, run_dir: str):
  """Writes mean and standard deviation, with a directory per curve."""
  board = tensorboard.TensorBoard(
      os.path.join(run_dir, 'events', curve.features, curve.method)
  )
  degrees = 1 if len(curve.log_mse) > 1 else 0
  means = curve.log_mse.mean(axis=0)  # [E]
  deviations = curve.log_mse.std(axis=0, ddof=degrees)  # [E]
  for step, mean, deviation in zip(curve.steps, means, deviations):
    board.write(int(step), {'log_mse': mean, 'log_mse_std': deviation})
  board.close()
