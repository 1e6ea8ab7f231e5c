"""The one training loop: phases -> compiled steps -> metrics -> checkpoints."""

from collections.abc import Callable
import dataclasses
import os
import time

import numpy as np
import tensorflow as tf

from srdice_tf import errors
from srdice_tf import interrupts
from srdice_tf.estimators import base


@dataclasses.dataclass(frozen=True)
class Report:
  """How things stand after a compiled call.

  Attributes:
    method: name of the estimator.
    phase: name of its phase.
    step: steps of the phase done.
    num_steps: steps of the phase in all.
    metrics: means over the call's steps.
    estimate: the value, in the last phase of an estimator; None before.
  """

  method: str
  phase: str
  step: int
  num_steps: int
  metrics: dict[str, float]
  estimate: float | None


class Trainer(tf.Module):
  """Runs the phases of estimators, each phase once, resumable at any time.

  A phase that several estimators share is trained with the first of them. An
  estimator whose numbers are no longer finite stops there; others go on.
  """

  def __init__(
      self,
      estimators: dict[str, base.Estimator],
      directory: str | None = None,
      interval: int = 1000,
  ):
    """Restores the newest checkpoint of `directory`, if there is one.

    Args:
      estimators: by name, in the order in which they are trained.
      directory: of the checkpoints; None keeps none.
      interval: steps in one compiled call, and between two estimates.

    Raises:
      UserError: if the checkpoint cannot be read.
    """
    super().__init__(name='trainer')
    self._estimators = estimators
    self._interval = interval
    phases = {p.name: p for e in estimators.values() for p in e.phases}
    self._phases = phases
    self._steps = {
        name: tf.Variable(0, dtype=tf.int64, name=f'{name}_steps')
        for name in phases
    }
    self._seconds = {
        name: tf.Variable(0.0, dtype=tf.float64, name=f'{name}_seconds')
        for name in phases
    }
    self._diverged = {
        name: tf.Variable(False, name=f'{name}_diverged') for name in phases
    }
    self._manager = None
    if directory is not None:
      checkpoint = tf.train.Checkpoint(
          estimators=estimators,
          steps=self._steps,
          seconds=self._seconds,
          diverged=self._diverged,
      )
      self._manager = tf.train.CheckpointManager(checkpoint, directory, 1)
      _restore(checkpoint, self._manager)

  def step_of(self, phase: str) -> int:
    """Returns how many steps of a phase are done."""
    return int(self._steps[phase]) if phase in self._steps else 0

  def seconds_of(self, method: str) -> float:
    """Returns the time that the phases of an estimator took."""
    phases = self._estimators[method].phases
    return sum(float(self._seconds[phase.name]) for phase in phases)

  def seconds_left(self) -> float | None:
    """Returns how long the rest takes; None as long as nothing tells.

    A phase goes on as it went so far; those to come take as many times longer
    or shorter as their steps cost.
    """
    done = {name: self.step_of(name) for name in self._phases}
    spent = sum(float(seconds) for seconds in self._seconds.values())
    paid = sum(done[p.name] * p.cost for p in self._phases.values())
    if not paid:
      return None
    left = 0.0
    for name, phase in self._phases.items():
      pace = phase.cost * spent / paid
      if done[name]:
        pace = float(self._seconds[name]) / done[name]
      if not self._diverged[name]:
        left += (phase.num_steps - done[name]) * pace
    return left

  def has_diverged(self, method: str) -> bool:
    phases = self._estimators[method].phases
    return any(bool(self._diverged[phase.name]) for phase in phases)

  def run(self, on_report: Callable[[Report], None] = lambda report: None):
    """Trains what is not trained yet."""
    with interrupts.Deferred() as interrupt:
      for method, estimator in self._estimators.items():
        for phase in estimator.phases:
          if self.has_diverged(method):
            break
          self._run_phase(method, estimator, phase, on_report, interrupt)
          if interrupt.received is not None:
            break
    interrupt.reraise()

  def _run_phase(self, method, estimator, phase, on_report, interrupt):
    is_last = phase is estimator.phases[-1]
    start, call, done = time.monotonic(), None, self.step_of(phase.name)
    phase.prepare()
    while done < phase.num_steps and interrupt.received is None:
      call = call or take_steps(phase)
      count = min(self._interval, phase.num_steps - done)
      metrics = {k: float(v) for k, v in call(tf.constant(count)).items()}
      done += count
      self._steps[phase.name].assign(done)
      now = time.monotonic()
      self._seconds[phase.name].assign_add(now - start)
      start = now
      estimate = _estimate(estimator, done, phase) if is_last else None
      numbers = [*metrics.values(), 0.0 if estimate is None else estimate]
      diverged = not np.isfinite(numbers).all()
      self._diverged[phase.name].assign(diverged)
      on_report(
          Report(method, phase.name, done, phase.num_steps, metrics, estimate)
      )
      if self._manager is not None:
        self._manager.save()
      if diverged:
        return


def _estimate(estimator: base.Estimator, done: int, phase: base.Phase) -> float:
  is_whole = done == phase.num_steps
  return float(
      estimator.estimate() if is_whole else estimator.interim_estimate()
  )


def take_steps(phase: base.Phase) -> Callable:
  """Returns a function of n that takes n steps; mean metrics."""
  if phase.compiled:
    return compile_steps(phase.step)

  def run(num_steps):
    taken = [phase.step() for _ in range(int(num_steps))]
    return {name: np.mean([m[name] for m in taken]) for name in taken[0]}

  return run


def compile_steps(step: Callable[[], dict[str, tf.Tensor]]):
  """Returns a function that takes n steps in one call; mean metrics."""

  @tf.function(autograph=False, input_signature=[tf.TensorSpec([], tf.int32)])
  def run(num_steps):
    # The first step is outside of the loop: it makes the optimisers' slots.
    sums = step()

    def body(i, sums):
      return i + 1, tf.nest.map_structure(tf.add, sums, step())

    _, sums = tf.while_loop(
        lambda i, _: i < num_steps,
        body,
        (tf.constant(1), sums),
        parallel_iterations=1,
    )
    count = tf.cast(num_steps, tf.float32)
    return {name: total / count for name, total in sums.items()}

  return run.get_concrete_function()


def _restore(checkpoint, manager):
  path = manager.latest_checkpoint
  if path is None:
    return
  try:
    # Optimisers get their values when their first step makes them.
    checkpoint.restore(path).expect_partial()
  except (tf.errors.OpError, ValueError, OSError) as error:
    reason = str(error).strip().splitlines()[0]
    raise errors.UserError(
        f'{os.path.relpath(path)}: the checkpoint cannot be read ({reason});'
        ' remove its directory to train anew.'
    ) from error
