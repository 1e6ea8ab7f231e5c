"""The one training loop: phases -> compiled steps -> metrics -> checkpoints."""

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import time

import numpy as np
import tensorflow as tf

from srdice_tf import checkpoints
from srdice_tf import errors
from srdice_tf import interrupts
from srdice_tf.estimators import interface
from srdice_tf.estimators import phases

_WEIGHTS = 'weights'


@dataclasses.dataclass(frozen=True)
class Report:
  """What is known after an interval of steps.

  Attributes:
    method: name of the estimator.
    phase: name of its phase.
    step: steps of the phase done.
    num_steps: steps of the phase in all.
    metrics: means over the steps of the interval.
    estimate: the value, in the last phase of an estimator; None before.
  """

  method: str
  phase: str
  step: int
  num_steps: int
  metrics: dict[str, float]
  estimate: float | None


class _Progress(tf.Module):
  """How far a phase is; part of the checkpoint.

  Attributes:
    steps: steps taken.
    reported: steps up to the last report.
    names: [M] names of the metrics.
    sums: [M] sums of the metrics since the last report.
    seconds: time of training.
    diverged: whether its numbers are no longer finite.
  """

  def __init__(self, name: str):
    super().__init__(name=name)
    variable = lambda value, dtype, **options: tf.Variable(
        tf.constant(value, dtype), trainable=False, **options
    )
    self.steps = variable(0, tf.int64)
    self.reported = variable(0, tf.int64)
    self.names = variable([], tf.string, shape=[None])
    self.sums = variable([], tf.float64, shape=[None])
    self.seconds = variable(0.0, tf.float64)
    self.diverged = variable(False, tf.bool)
    # The time of estimates, reports and checkpoints in this process.
    self.other_seconds, self.other_steps = 0.0, 0

  def add(self, size: int, sums: dict[str, float], seconds: float):
    """Counts steps, and keeps the sums that include their metrics."""
    self.steps.assign_add(size)
    self.names.assign(list(sums))
    self.sums.assign(list(sums.values()))
    self.seconds.assign_add(seconds)

  def metric_sums(self) -> dict[str, float]:
    names = (name.decode() for name in self.names.numpy())
    return dict(zip(names, self.sums.numpy().tolist()))

  def finish_report(self, diverged: bool):
    """Begins the sums of the next report."""
    self.diverged.assign(diverged)
    self.reported.assign(self.steps)
    self.names.assign([])
    self.sums.assign([])

  def pace(self) -> float:
    """Returns the seconds of a step, with its share of all else."""
    others = self.other_seconds / max(self.other_steps, 1)
    return float(self.seconds) / int(self.steps) + others


class PhaseTrainer(tf.Module):
  """Runs the phases of estimators, each phase once, resumable at any time.

  A phase that several estimators share is trained with the first of them; if it
  is the last phase of others too, each of them has a report with its estimate.
  An estimator stops if its numbers are no longer finite; the others go on.
  """

  def __init__(
      self,
      estimators: dict[str, interface.Estimator],
      directory: str | None = None,
      interval: int = 1000,
  ):
    """Restores the newest checkpoint of `directory`, if there is one.

    Args:
      estimators: by name, in the order in which they are trained.
      directory: where checkpoints are kept; None keeps none.
      interval: steps between two reports.

    Raises:
      UserError: if the checkpoint cannot be read.
    """
    super().__init__(name='trainer')
    self._estimators = estimators
    self._interval = interval
    self._phases = {p.name: p for e in estimators.values() for p in e.phases}
    self._progress = {name: _Progress(name) for name in self._phases}
    self._checkpoints = None
    if directory is not None:
      self._checkpoints = checkpoints.Checkpoints(directory)
      self._checkpoint = tf.train.Checkpoint(
          estimators=estimators, progress=self._progress
      )
      path = self._checkpoints.latest()
      if path is not None:
        restore(self._checkpoint, os.path.join(path, _WEIGHTS))

  def has(self, phase: str) -> bool:
    return phase in self._phases

  def is_last(self, phase: phases.Phase) -> bool:
    """Returns whether an estimator ends, and is reported, with a phase."""
    return bool(self._last_of(phase))

  def checkpoint_of(
      self, names: Sequence[str], **objects
  ) -> tf.train.Checkpoint:
    """Returns a checkpoint of objects, and of how far some phases are."""
    progress = {name: self._progress[name] for name in names}
    return tf.train.Checkpoint(progress=progress, **objects)

  def step_of(self, phase: str) -> int:
    """Returns how many steps of a phase are done and reported."""
    is_known = phase in self._progress
    return int(self._progress[phase].reported) if is_known else 0

  def phase_seconds(self, method: str) -> dict[str, float]:
    """Returns the time that training took, by the estimator's phases."""
    return {part.name: float(part.seconds) for part in self._parts(method)}

  def seconds_of(self, method: str) -> float:
    """Returns the time that the training of an estimator's phases took."""
    return sum(self.phase_seconds(method).values())

  def seconds_left(self) -> float | None:
    """Returns how long the rest takes; None before the first steps.

    The running phase is assumed to go on at its pace; phases to come are
    predicted from the cost of their steps.
    """
    done = {n: int(progress.steps) for n, progress in self._progress.items()}
    spent = sum(float(p.seconds) for p in self._progress.values())
    paid = sum(done[p.name] * p.cost for p in self._phases.values())
    if not paid:
      return None
    left = 0.0
    for name, phase in self._phases.items():
      progress = self._progress[name]
      pace = progress.pace() if done[name] else phase.cost * spent / paid
      if not progress.diverged:
        left += (phase.num_steps - done[name]) * pace
    return left

  def has_diverged(self, method: str) -> bool:
    return any(bool(progress.diverged) for progress in self._parts(method))

  def _parts(self, method: str) -> list[_Progress]:
    """Returns how far each phase of an estimator is."""
    names = [phase.name for phase in self._estimators[method].phases]
    return [self._progress[name] for name in names]

  def run(
      self,
      on_report: Callable[[Report], None] = lambda report: None,
      on_phase: Callable[[str], None] = lambda phase: None,
  ):
    """Trains what is not trained yet.

    An interrupt stops it within seconds. Steps of compiled phases are kept; a
    step that is not compiled is cut off, and repeated by the next run.

    Args:
      on_report: called every `interval` steps.
      on_phase: called with the name of a phase that is done, maybe again.
    """
    for name, method in self._estimators.items():
      for phase in method.phases:
        if self.has_diverged(name):
          break
        self._run_phase(method, phase, on_report)
        on_phase(phase.name)

  def _run_phase(self, method, phase, on_report):
    progress = self._progress[phase.name]
    start = time.monotonic()
    phase.prepare()
    call, pace = None, interrupts.Pace()
    if progress.steps < phase.num_steps:
      # Before anything is saved: this makes the optimisers' variables, which
      # still have to be read from the checkpoint.
      call = take_steps(phase)
    while progress.reported < phase.num_steps and not progress.diverged:
      end = min(int(progress.reported) + self._interval, phase.num_steps)
      while progress.steps < end:
        self._call(phase, call, pace, end, start)
        start = time.monotonic()
      self._report(method, phase, on_report)
      progress.other_seconds += time.monotonic() - start
      progress.other_steps += self._interval
      start = time.monotonic()

  def _call(self, phase, call, pace, end: int, start: float):
    """Takes some of the steps up to `end`; the time counts from `start`."""
    progress = self._progress[phase.name]
    size = pace.size(end - int(progress.steps))
    stop = contextlib.nullcontext()
    if phase.compiled:
      stop = interrupts.Deferred(pace.seconds(size))
    with stop as interrupt:
      before = time.monotonic()
      sums = call(size, progress.metric_sums())
      now = time.monotonic()
      pace.note(size, now - before)
      progress.add(size, sums, now - start)
    if interrupt is not None and interrupt.received is not None:
      self._save()
      interrupt.reraise()

  def _report(self, method, phase, on_report):
    progress = self._progress[phase.name]
    step, count = int(progress.steps), int(progress.steps - progress.reported)
    # Compiled steps are summed in single precision.
    kind = np.float32 if phase.compiled else np.float64
    metrics = {
        name: float(kind(total) / kind(count))
        for name, total in progress.metric_sums().items()
    }
    numbers = [*metrics.values()]
    try:
      for owner in self._last_of(phase) or [method]:
        estimate = None
        if phase is owner.phases[-1]:
          estimate = _estimate(owner, step, phase)
          numbers.append(estimate)
        name, num_steps = phase.name, phase.num_steps
        on_report(
            Report(owner.name, name, step, num_steps, metrics, estimate)
        )
    except KeyboardInterrupt:
      self._save()  # The next run makes the report again.
      raise
    with interrupts.Deferred() as interrupt:
      progress.finish_report(diverged=not np.isfinite(numbers).all())
      self._save()
    interrupt.reraise()

  def _last_of(self, phase) -> list[interface.Estimator]:
    """Returns the estimators that are finished with this phase."""
    methods = self._estimators.values()
    return [method for method in methods if phase is method.phases[-1]]

  def _save(self):
    if self._checkpoints is None:
      return
    number = sum(int(p.steps + p.reported) for p in self._progress.values())
    self._checkpoints.save(
        number,
        lambda path: self._checkpoint.write(os.path.join(path, _WEIGHTS)),
    )


def _estimate(
    method: interface.Estimator, done: int, phase: phases.Phase
) -> float:
  is_whole = done == phase.num_steps
  return float(method.estimate() if is_whole else method.interim_estimate())


def take_steps(phase: phases.Phase) -> Callable[[int, dict], dict[str, float]]:
  """Returns a function that takes n steps and adds their metrics to sums.

  The sums do not depend on how steps are divided into calls, to the last bit.
  """
  if phase.compiled:
    return _compile(phase.step)

  def run(num_steps, sums):
    for _ in range(num_steps):
      metrics = phase.step()
      sums = {k: sums.get(k, 0.0) + float(v) for k, v in metrics.items()}
    return sums

  return run


def compile_steps(step: Callable[[], dict[str, tf.Tensor]]):
  """Returns a function that takes n steps in one call; mean metrics."""
  run = _compile(step)
  return lambda num_steps: {
      name: total / int(num_steps)
      for name, total in run(int(num_steps), {}).items()
  }


def _compile(step):
  # Traced outside of the loop, which makes the optimisers' variables, so that
  # all steps of the loop run the same operations.
  traced = tf.function(step, autograph=False).get_concrete_function()
  names = list(traced.structured_outputs)

  @tf.function(
      autograph=False,
      input_signature=[
          tf.TensorSpec([], tf.int32), tf.TensorSpec([len(names)], tf.float32)
      ],
  )
  def loop(num_steps, sums):
    def body(i, sums):
      metrics = traced()
      return i + 1, sums + tf.stack([metrics[name] for name in names])

    _, sums = tf.while_loop(
        lambda i, _: i < num_steps,
        body,
        (tf.constant(0), sums),
        parallel_iterations=1,
    )
    return sums

  compiled = loop.get_concrete_function()

  def run(num_steps, sums):
    before = [sums.get(name, 0.0) for name in names]  # [M]
    after = compiled(tf.constant(num_steps), tf.constant(before, tf.float32))
    return dict(zip(names, after.numpy().tolist()))

  return run


def restore(checkpoint: tf.train.Checkpoint, path: str):
  """Reads a checkpoint.

  Raises:
    UserError: if it cannot be read, or lacks a variable.
  """
  try:
    status = checkpoint.read(path)
    # Optimisers read their values when their first step makes the variables.
    # All other variables must be in the checkpoint.
    status.expect_partial().assert_existing_objects_matched()
  except (
      tf.errors.OpError, ValueError, OSError, AssertionError
  ) as error:
    reason = str(error).strip().splitlines()[0]
    raise errors.at(
        os.path.relpath(os.path.dirname(path)),
        f'the checkpoint cannot be read ({reason})',
        'remove it to train again',
    ) from error
