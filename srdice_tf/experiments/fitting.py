"""Trains estimators and tells what they found: the core of an evaluation."""

from collections.abc import Callable
import contextlib
import dataclasses
import os

import numpy as np

from srdice_tf import errors
from srdice_tf import results
from srdice_tf import training
from srdice_tf.estimators import interface
from srdice_tf.evaluation import diagnostics
from srdice_tf.evaluation import evidence
from srdice_tf.evaluation import log_error
from srdice_tf.evaluation import support
from srdice_tf.evaluation import verdicts
from srdice_tf.experiments import feature_store
from srdice_tf.logging import metrics
from srdice_tf.logging import progress

INTERVAL = 1000  # Updates between two points of a curve.


class Fit:
  """The training of one evaluation's estimators, new or resumed."""

  def __init__(
      self,
      estimators: dict[str, interface.Estimator],
      truth: results.PolicyValue | None = None,
      checkpoint_dir: str | None = None,
      writer: metrics.MetricsWriter | None = None,
      share: Callable = feature_store.unused,
  ):
    """Goes on from the checkpoint, if there is one.

    Args:
      estimators: by name.
      truth: true value of the target policy; None if nobody knows.
      checkpoint_dir: where checkpoints are kept; None keeps none.
      writer: of metrics.csv and TensorBoard's events; None writes none.
      share: FeatureStore.use, for phi, psi and Q of other runs.

    Raises:
      UserError: if checkpoint or metrics are damaged.
    """
    self._estimators = estimators
    self._truth = truth
    self._writer = writer
    self._share = share
    self._trainer = training.PhaseTrainer(estimators, checkpoint_dir, INTERVAL)
    self._phases = {p.name: p for e in estimators.values() for p in e.phases}
    self._points = {name: [] for name in estimators}
    if writer is not None:
      self._resume()

  def _resume(self):
    """Takes the points of the checkpoint's past from metrics.csv.

    The rest goes: also that of a run that was killed before its first
    checkpoint.
    """
    is_known = lambda _, phase, step: step <= self._trainer.step_of(phase)
    for row in self._writer.truncate(is_known):
      if row.name == 'estimate' and row.method in self._points:
        self._points[row.method].append((row.step, row.value))
    for name, points in self._points.items():
      last = self._trainer.step_of(self._estimators[name].phases[-1].name)
      wanted = [*range(INTERVAL, last, INTERVAL), last] if last else []
      if [step for step, _ in points] != wanted:
        directory = self._writer.run_dir
        raise errors.at(
            os.path.join(directory, metrics.FILE_NAME),
            f'has {len(points)} estimates of {name}, of which the checkpoint'
            f' has made {len(wanted)}: it was cut short or edited',
            f'remove {directory} to begin again',
        )

  def train(self, show: bool = True):
    """Trains what is not trained yet, with a progress line if `show`."""
    problem = next(iter(self._estimators.values())).problem
    with self._share(self._trainer) as on_phase:
      with problem.guard():
        self._train(show, on_phase)

  def _train(self, show: bool, on_phase: Callable[[str], None]):
    total = sum(phase.num_steps for phase in self._phases.values())
    done = {name: self._trainer.step_of(name) for name in self._phases}
    line = progress.Progress(total, 'steps', 'train', sum(done.values()))
    with line if show else contextlib.nullcontext() as bar:

      def on_report(report: training.Report):
        done[report.phase] = report.step
        fields = self._note(report)
        if bar is not None:
          left = self._trainer.seconds_left()
          bar.update(sum(done.values()), left, **fields)

      self._trainer.run(on_report, on_phase)

  def _note(self, report: training.Report) -> dict[str, str]:
    """Keeps and writes a report; returns what to show of it."""
    fields, values = {'phase': report.phase}, dict(report.metrics)
    if report.estimate is not None:
      self._points[report.method].append((report.step, report.estimate))
      values['estimate'] = report.estimate
      fields['estimate'] = f'{report.estimate:.4f}'
      if self._truth is not None:
        error = log_error.log_error(report.estimate, self._truth.value)
        values['log_error'] = float(error)
        fields['log_error'] = f'{error:.2f}'
      flow = self._estimators[report.method].flow_residual()
      if flow is not None:
        values['flow_residual'] = flow.residual
    if self._writer is not None:
      self._writer.write(report.method, report.phase, report.step, values)
    return fields

  def found(
      self, given: support.ActionSupport | None = None
  ) -> dict[str, results.MethodResult]:
    """Returns what each method found, with a verdict on it.

    Args:
      given: the support that the data give to the target policy; None if
        nobody looked.
    """
    found = {name: self._result(name) for name in self._estimators}
    return {name: self._judged(found, name, given) for name in found}

  def _judged(self, found, name: str, given) -> results.MethodResult:
    estimator, result = self._estimators[name], found[name]
    problem = estimator.problem
    logged = evidence.LoggedFacts(
        problem.rewards.numpy(), problem.not_done.numpy(), problem.gamma, given
    )
    noise = None if result.diverged else estimator.flow_noise()
    measured = evidence.measure(result, found.values(), logged, noise)
    verdict = verdicts.judge(result.value, measured)
    return dataclasses.replace(result, evidence=measured, verdict=verdict)

  def _result(self, name: str) -> results.MethodResult:
    estimator = self._estimators[name]
    diverged = self._trainer.has_diverged(name)
    interval = None if diverged else estimator.interval()
    flow, ratios = estimator.flow_residual(), estimator.ratios()
    points = self._points[name]
    return results.MethodResult(
        method=name,
        value=float('nan') if diverged else float(estimator.estimate()),
        seconds=self._trainer.seconds_of(name),
        phase_seconds=self._trainer.phase_seconds(name),
        sources=estimator.sources,
        diverged=diverged,
        interval=interval and interval[:2],
        standard_error=interval and interval.standard_error,
        diagnostics=self._diagnostics(estimator, ratios),
        flow_residual=flow and flow.residual,
        flow_scored_on=flow and flow.scored_on,
        details={} if diverged else estimator.details(),
        lines=() if diverged else tuple(estimator.lines()),
        trials=tuple(estimator.trials()),
        curve=results.Curve(
            tuple(step for step, _ in points),
            tuple(estimate for _, estimate in points),
        ),
        ratios=None if ratios is None else ratios.numpy(),
        estimator=estimator,
    )

  def _diagnostics(self, estimator, ratios) -> results.RatioDiagnostics | None:
    if ratios is None:
      return None
    expected = None
    if self._truth is not None and not self._truth.is_given:
      expected = self._truth.occupancy
    elif np.all(estimator.problem.not_done == 1.0):
      expected = 1.0  # Nothing ever ends: the ratios have all of the mass.
    return diagnostics.ratio_diagnostics(ratios.numpy(), expected)
