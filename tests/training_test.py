"""Tests for the training loop: exact resuming, divergence, sharing."""

import itertools
import shutil
import signal
import types

import numpy as np
import pytest
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import interrupts
from srdice_tf import training
from srdice_tf.estimators import hyperparameters
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases
from srdice_tf.estimators import registry
from tests import finite

_CONFIG = hyperparameters.Hyperparameters(
    encoder_steps=20,
    successor_steps=30,
    updates=30,
    num_features=8,
    hidden_units=8,
    batch_size=16,
    ratio_batch_size=32,
    start_pool=32,
    normalise_features=True,
    estimate_samples=20,
)
_NAMES = list(registry.ESTIMATORS)


@pytest.fixture(scope='module')
def chain():
  return finite.chain(repeats=2)


class _Stop(BaseException):
  """Stands for SIGKILL."""


def _run(chain, directory=None, stop_after=None, names=_NAMES):
  estimators = registry.make_estimators(names, chain.problem, _CONFIG, seed=1)
  trainer = training.PhaseTrainer(estimators, directory, interval=10)
  reports = []

  def on_report(report):
    reports.append(report)
    if len(reports) == stop_after:
      raise _Stop

  try:
    trainer.run(on_report)
  except _Stop:
    pass
  return estimators, reports


def _results(estimators):
  return [np.asarray(estimator.estimate()) for estimator in estimators.values()]


@pytest.fixture(name='all_methods', scope='module')
def _all_methods(chain):
  return _run(chain)


def test_resumed_in_each_phase_equals_uninterrupted(
    chain, all_methods, tmp_path
):
  whole, reports = all_methods
  directory = str(tmp_path)
  # Encoder 2 reports, successor 3, then 3 for each method, closed forms 1.
  phases = {p.name: p for e in whole.values() for p in e.phases}
  assert len(reports) == sum(-(-p.num_steps // 10) for p in phases.values())
  seen = []
  for stop_after in (2, 3, 10):
    _, part = _run(chain, directory, stop_after)
    # The report that was cut off had no checkpoint: it comes again.
    seen += part[:-1]
  parts, last = _run(chain, directory)
  seen += last
  assert seen == reports
  for first, second in zip(_results(whole), _results(parts)):
    np.testing.assert_array_equal(first, second)


def test_finished_run_does_nothing(chain, tmp_path):
  _run(chain, str(tmp_path), names=['deep_td'])
  _, reports = _run(chain, str(tmp_path), names=['deep_td'])
  assert not reports


def test_shared_phases_are_trained_once(chain):
  _, reports = _run(chain, names=['srdice', 'deep_sr'])
  phases = [report.phase for report in reports if report.step == 10]
  assert phases == ['encoder', 'successor', 'srdice', 'deep_sr']


def test_estimates_come_with_the_last_phase_only(chain):
  _, reports = _run(chain, names=['srdice'])
  for report in reports:
    assert (report.estimate is None) == (report.phase != 'srdice')


class _Diverging(interface.Estimator):
  """Its loss becomes infinite in the second call."""

  NAME = 'diverging'

  def __init__(self, problem):
    super().__init__(problem, None, seed=0, shared=None)
    self._x = tf.Variable(1.0)
    self.phases = (phases.Phase('diverging', 100, self._step),)

  def _step(self):
    return {'loss': self._x.assign(self._x * 1e3)}

  def estimate(self):
    return self._x + 0.0


def test_divergence_stops_one_method_only(chain):
  healthy = registry.make_estimators(['deep_td'], chain.problem, _CONFIG, 0)
  estimators = {'diverging': _Diverging(chain.problem), **healthy}
  trainer = training.PhaseTrainer(estimators, interval=10)
  reports = []
  trainer.run(reports.append)
  assert trainer.has_diverged('diverging')
  assert not trainer.has_diverged('deep_td')
  assert sum(report.method == 'diverging' for report in reports) < 10
  assert reports[-1].method == 'deep_td' and reports[-1].step == 30


class _Ticking(interface.Estimator):
  """A step of its phases takes two and half a second of a false clock."""

  NAME = 'ticking'

  def __init__(self, problem, clock):
    super().__init__(problem, None, seed=0, shared=None)
    self._clock = clock
    self.phases = (
        phases.Phase('slow', 4, lambda: self._step(2.0), compiled=False),
        phases.Phase(
            'quick', 8, lambda: self._step(0.5), compiled=False, cost=0.25
        ),
        phases.Phase(
            'last', 10, lambda: self._step(9.0), compiled=False, cost=4
        ),
    )

  def _step(self, seconds):
    self._clock.now += seconds
    return {'loss': 0.0}

  def estimate(self):
    return tf.constant(0.0)


def test_the_time_left_counts_what_steps_cost(chain, monkeypatch):
  clock = types.SimpleNamespace(now=0.0)
  monkeypatch.setattr(training.time, 'monotonic', lambda: clock.now)
  estimators = {'ticking': _Ticking(chain.problem, clock)}
  trainer = training.PhaseTrainer(estimators, interval=2)
  assert trainer.seconds_left() is None
  left = []
  trainer.run(lambda report: left.append(trainer.seconds_left()))
  # Two slow steps are left, and the others as their costs foretell: 8 at 0.5
  # and 10 at 8 seconds.
  assert left[0] == 2 * 2.0 + 8 * 0.5 + 10 * 8.0
  assert left[2] == 6 * 0.5 + 10 * 8.0
  assert left[6] == 8 * 9.0  # It takes 9 seconds, not 8.
  assert left[-1] == 0.0


def test_seconds_are_those_of_training(chain, monkeypatch, tmp_path):
  """Neither estimates nor reports nor checkpoints; the time left knows them."""
  clock = types.SimpleNamespace(now=0.0)
  monkeypatch.setattr(training.time, 'monotonic', lambda: clock.now)
  estimator = _Ticking(chain.problem, clock)
  trainer = training.PhaseTrainer(
      {'ticking': estimator}, str(tmp_path), interval=2
  )
  save = trainer._checkpoints.save
  left = []

  def tick(seconds):
    clock.now += seconds
    return tf.constant(0.0)

  trainer._checkpoints.save = lambda *args: (tick(5.0), save(*args))
  estimator.estimate = lambda: tick(7.0)
  trainer.run(lambda _: (left.append(trainer.seconds_left()), tick(100.0)))
  assert trainer.seconds_of('ticking') == 4 * 2.0 + 8 * 0.5 + 10 * 9.0
  parts = {'slow': 4 * 2.0, 'quick': 8 * 0.5, 'last': 10 * 9.0}
  assert trainer.phase_seconds('ticking') == parts
  # The last two steps come with an estimate, a report and a checkpoint.
  assert left[-2] == 2 * 9.0 + 7.0 + 100.0 + 5.0


@pytest.fixture(name='trained', scope='module')
def _trained(chain, tmp_path_factory):
  directory = tmp_path_factory.mktemp('trained')
  _run(chain, str(directory), names=['deep_td'])
  return directory


def _flip(path):
  content = bytearray(path.read_bytes())
  content[len(content) // 2] ^= 1
  path.write_bytes(content)


@pytest.mark.parametrize(
    'pattern, damage, message',
    [
        ('*.index', _flip, 'cut short or edited'),
        ('*.data-*', _flip, 'cut short or edited'),
        ('*.data-*', lambda path: path.write_bytes(b''), 'cut short'),
        ('*.index', lambda path: path.unlink(), 'missing'),
        ('checksums.json', lambda path: path.write_bytes(b''), 'as JSON'),
        ('checksums.json', lambda path: path.write_text('{}'), 'lacks a check'),
        ('checksums.json', lambda path: path.write_text('[]'), 'holds a list'),
        ('checksums.json', lambda path: path.unlink(), 'No such file'),
    ],
)
def test_damaged_checkpoint_is_one_line(
    chain, trained, tmp_path, pattern, damage, message
):
  shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
  (path,) = tmp_path.glob(f'checkpoint-*/{pattern}')
  damage(path)
  message += '.*; remove .*/checkpoint-[0-9]+ to train again'
  with pytest.raises(errors.UserError, match=message) as error:
    _run(chain, str(tmp_path), names=['deep_td'])
  assert '\n' not in str(error.value)


@pytest.mark.parametrize(
    'names, changes',
    [(['deep_td'], {'hidden_units': 9}), (['deep_td', 'deep_sr'], {})],
    ids=['of other sizes', 'that lacks variables'],
)
def test_checkpoint_that_does_not_fit_is_one_line(
    chain, trained, tmp_path, names, changes
):
  shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
  config = _CONFIG.replace(**changes)
  estimators = registry.make_estimators(names, chain.problem, config, 1)
  message = 'checkpoint cannot be read .*; remove it to train again'
  with pytest.raises(errors.UserError, match=message) as error:
    training.PhaseTrainer(estimators, str(tmp_path))
  assert '\n' not in str(error.value)


def test_what_else_is_in_the_directory_stays(chain, tmp_path):
  names = ['checkpoint', 'checkpoint-7', 'ckpt-3.index', 'checkpoint-abc']
  for name in names:
    (tmp_path / name).write_text('of another program')
  _run(chain, str(tmp_path), names=['deep_td'])
  found = {path.name for path in tmp_path.iterdir()}
  assert found == {*names, 'checkpoint-000000060'}


class _Slow(interrupts.Pace):
  """Cuts calls in another way each time."""

  sizes = itertools.cycle([1, 2, 3, 5])

  def size(self, most):
    return min(most, next(self.sizes))


def test_numbers_do_not_depend_on_how_calls_are_cut(
    chain, all_methods, monkeypatch
):
  whole, reports = all_methods
  monkeypatch.setattr(interrupts, 'Pace', _Slow)
  parts, cut_reports = _run(chain)
  assert cut_reports == reports
  assert _results(parts) == _results(whole)


def _interrupting(function, after):
  """Returns the function; its call number `after` comes with a Ctrl-C."""
  calls = itertools.count(1)

  def call(*arguments):
    if next(calls) == after:
      signal.raise_signal(signal.SIGINT)
    return function(*arguments)

  return call


@pytest.fixture(name='two', scope='module')
def _two(chain):
  return _run(chain, names=['deep_td', 'linear_srdice'])


@pytest.mark.parametrize(
    'where, after',
    [
        ('_compile', 1),
        ('_compile', 6),
        ('_estimate', 2),
        ('_estimate', 3),  # The last of deep_td.
        ('_estimate', 4),  # That of linear_srdice.
    ],
)
def test_ctrl_c_loses_nothing(chain, two, tmp_path, monkeypatch, where, after):
  """In the middle of an interval, and in that of a report."""
  whole, reports = two
  names, directory = list(whole), str(tmp_path)
  monkeypatch.setattr(interrupts, 'Pace', _Slow)
  original = getattr(training, where)
  with monkeypatch.context() as patch:
    if where == '_compile':
      make = lambda step: _interrupting(original(step), after)
    else:
      make = _interrupting(original, after)
    patch.setattr(training, where, make)
    seen = []
    estimators = registry.make_estimators(names, chain.problem, _CONFIG, seed=1)
    with pytest.raises(KeyboardInterrupt):
      training.PhaseTrainer(estimators, directory, interval=10).run(seen.append)
  resumed, rest = _run(chain, directory, names=names)
  assert seen + rest == reports
  assert _results(resumed) == _results(whole)


def test_a_step_that_is_not_compiled_stops_at_once(chain, tmp_path):
  closed = _ClosedForm(chain.problem)
  ended = []

  def solve():
    signal.raise_signal(signal.SIGINT)
    ended.append(True)

  closed.phases = (phases.Phase('closed', 1, solve, compiled=False),)
  with pytest.raises(KeyboardInterrupt):
    training.PhaseTrainer({'closed': closed}, str(tmp_path)).run()
  assert not ended


def test_seed_determines_the_result(chain):
  def result(seed):
    estimators = registry.make_estimators(
        ['deep_td'], chain.problem, _CONFIG, seed
    )
    training.PhaseTrainer(estimators, interval=10).run()
    return float(estimators['deep_td'].estimate())

  assert result(1) == result(1)
  assert result(1) != result(2)


def test_metrics_are_means_over_the_call():
  counter = tf.Variable(0.0)
  run = training.compile_steps(lambda: {'x': counter.assign_add(1.0)})
  assert float(run(tf.constant(4))['x']) == (1 + 2 + 3 + 4) / 4
  assert float(run(tf.constant(1))['x']) == 5.0


class _ClosedForm(interface.Estimator):
  """Solves in one step that is not compiled."""

  NAME = 'closed'

  def __init__(self, problem):
    super().__init__(problem, None, seed=0, shared=None)
    self._value = tf.Variable(0.0)
    self.num_solved = 0
    self.phases = (phases.Phase('closed', 1, self._solve, compiled=False),)

  def _solve(self):
    self.num_solved += 1
    self._value.assign(2.5)
    return {'residual': 0.5}

  def estimate(self):
    return self._value + 0.0


def test_a_closed_form_is_one_step_and_is_kept(chain, tmp_path):
  first = _ClosedForm(chain.problem)
  reports = []
  training.PhaseTrainer({'closed': first}, str(tmp_path)).run(reports.append)
  assert [(r.step, r.num_steps, r.estimate) for r in reports] == [(1, 1, 2.5)]
  assert reports[0].metrics == {'residual': 0.5}
  second = _ClosedForm(chain.problem)
  training.PhaseTrainer({'closed': second}, str(tmp_path)).run(reports.append)
  assert second.num_solved == 0 and float(second.estimate()) == 2.5
  assert len(reports) == 1
