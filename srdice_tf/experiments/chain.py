"""The paper's toy experiment: ratios on the five-state chain, 10 trials."""

from collections.abc import Callable
import csv
import dataclasses
import io
import os

import numpy as np
import tensorflow as tf

from srdice_tf import config_file
from srdice_tf import errors
from srdice_tf import training
from srdice_tf.experiments import chain_methods
from srdice_tf.logging import progress as progress_lib
from srdice_tf.logging import tensorboard
from srdice_tf.reports import curves as curves_lib

CSV, PICTURE = 'chain.csv', 'chain.png'


@dataclasses.dataclass(frozen=True)
class ChainConfig:
  """The settings of the paper's appendix.

  Attributes:
    num_trials: trials of each method, all trained at once.
    num_steps: updates.
    interval: updates between two evaluations.
    batch_size: pairs in a minibatch.
    gamma: discount.
    srdice_learning_rate: of SR-DICE's psi.
    dual_dice_learning_rate: of DualDICE's f and w.
    gradient_dice_learning_rate: of GradientDICE's f, w and u.
    gradient_dice_norm_weight: lambda of GradientDICE.
    gradient_dice_f_penalty: whether GradientDICE has its -1/2 E[f^2].
    expected_actions: whether a' and a0 are averaged over, not drawn.
    printed_loss: psi's loss as printed, 1/2 |error|^2; else mean squares.
    seed: of all randomness.
  """

  num_trials: int = 10
  num_steps: int = 50_000
  interval: int = 100
  batch_size: int = 128
  gamma: float = 0.99
  srdice_learning_rate: float = 0.05
  dual_dice_learning_rate: float = 0.05
  gradient_dice_learning_rate: float = 0.1
  gradient_dice_norm_weight: float = 1.0
  gradient_dice_f_penalty: bool = True
  expected_actions: bool = True
  printed_loss: bool = True
  seed: int = 0


@dataclasses.dataclass(frozen=True)
class Curve:
  """How one method learned with one kind of features.

  Attributes:
    features: kind of the features.
    method: name of the method.
    steps: [E] updates at the evaluations.
    log_mse: [T, E] log of the mean squared error of the ratios, each trial's.
  """

  features: str
  method: str
  steps: np.ndarray
  log_mse: np.ndarray


def check(config: ChainConfig):
  """Raises an error that names a setting that cannot be used."""
  for name, is_right, expected in (
      ('num_trials', config.num_trials >= 1, 'at least 1'),
      ('batch_size', config.batch_size >= 1, 'at least 1'),
      ('interval', config.interval >= 1, 'at least 1'),
      (
          'num_steps',
          config.interval >= 1
          and config.num_steps >= config.interval
          and config.num_steps % config.interval == 0,
          f'a multiple of --interval={config.interval}',
      ),
      ('gamma', 0.0 < config.gamma < 1.0, 'a number between 0 and 1'),
      ('seed', 0 <= config.seed < 2**31, 'a number from 0 to 2^31 - 1'),
  ):
    if not is_right:
      found = getattr(config, name)
      raise errors.UserError(f'--{name}={found}: expected {expected}.')


def run(config: ChainConfig, run_dir: str) -> list[Curve]:
  """Trains all methods with all features; what is in chain.csv is kept.

  Args:
    config: settings.
    run_dir: gets config.json, chain.csv, chain.png and TensorBoard events.

  Raises:
    UserError: if the directory holds another configuration.
  """
  config_file.claim(run_dir, config)
  path = os.path.join(run_dir, CSV)
  found = read_csv(path) if os.path.exists(path) else []
  curves = {(curve.features, curve.method): curve for curve in found}
  cells = [
      (features, method)
      for features in chain_methods.FEATURES
      for method in chain_methods.METHODS
  ]
  total = config.num_steps * len(cells)
  done = config.num_steps * len(curves)
  with progress_lib.Progress(total, 'steps', 'train', initial=done) as bar:
    for cell in cells:
      if cell in curves:
        continue
      done = config.num_steps * len(curves)
      on_steps = lambda steps, before=done: bar.update(before + steps)
      curves[cell] = train(*cell, config, on_steps)
      _write_events(curves[cell], run_dir)
      write_csv(path, curves.values())
  curves = [curves[cell] for cell in cells]
  plot(os.path.join(run_dir, PICTURE), curves)
  return curves


def train(
    features: str,
    method: str,
    config: ChainConfig,
    on_steps: Callable[[int], None] = lambda steps: None,
) -> Curve:
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
  steps = np.arange(config.interval, config.num_steps + 1, config.interval)
  errors_at = []
  for step in steps:
    take_steps(tf.constant(config.interval))
    difference = ratios().numpy().astype(np.float64) - chain.ratio  # [T, 10]
    errors_at.append(np.log(np.mean(np.square(difference), axis=1)))
    on_steps(int(step))
  return Curve(features, method, steps, np.stack(errors_at, axis=1))


def plot(path: str, curves: list[Curve]):
  """Draws a panel for each kind of features."""
  panels = {}
  for curve in curves:
    panel = panels.setdefault(f'{curve.features} features', {})
    panel[curve.method] = curve.steps, curve.log_mse
  curves_lib.plot_panels(path, panels, 'log MSE of the density ratio')


def write_csv(path: str, curves):
  """Writes a line for each evaluation, with a column for each trial."""
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  trials = max(len(curve.log_mse) for curve in curves)
  writer.writerow(['features', 'method', 'step', *map(str, range(trials))])
  for curve in curves:
    for step, values in zip(curve.steps, curve.log_mse.T):
      numbers = [f'{value:.2f}' for value in values]
      writer.writerow([curve.features, curve.method, step, *numbers])
  with open(f'{path}.tmp', 'w') as file:
    file.write(text.getvalue())
  os.replace(f'{path}.tmp', path)


def read_csv(path: str) -> list[Curve]:
  """Returns what `write_csv` wrote."""
  rows = {}
  try:
    with open(path) as file:
      for features, method, *numbers in list(csv.reader(file))[1:]:
        rows.setdefault((features, method), []).append(numbers)
    return [
        Curve(*cell, table[0].astype(int), table[1:])
        for cell, table in (
            (cell, np.asarray(numbers, np.float64).T)
            for cell, numbers in rows.items()
        )
    ]
  except (OSError, ValueError) as error:
    raise errors.UserError(
        f'{path}: cannot be read ({error}); remove it to train anew.'
    ) from error


def _write_events(curve: Curve, run_dir: str):
  """Writes the mean and the deviation; a directory for each curve."""
  board = tensorboard.TensorBoard(
      os.path.join(run_dir, 'events', curve.features, curve.method)
  )
  means, deviations = curve.log_mse.mean(axis=0), curve.log_mse.std(axis=0)
  for step, mean, deviation in zip(curve.steps, means, deviations):
    board.write(int(step), {'log_mse': mean, 'log_mse_std': deviation})
  board.close()
