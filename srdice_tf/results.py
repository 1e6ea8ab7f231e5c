"""What evaluations find: plain data, to and from JSON, without TensorFlow.

Experiments make these, reports show them. Every value is (1-gamma)-normalised:
a reward per step.
"""

from collections.abc import Mapping
import dataclasses
import hashlib
import json
from typing import Any

import numpy as np

from srdice_tf import errors
from srdice_tf import recommendation

VERSION = 1
# The grades of a verdict, the best first.
USABLE, UNSURE, DO_NOT_USE = GRADES = 'usable', 'unsure', 'do_not_use'


@dataclasses.dataclass(frozen=True)
class PolicyValue:
  """The true value of a policy, measured by roll-outs or solved for.

  Attributes:
    value: R(pi) = (1-gamma) E[sum_t gamma^t r_t], per step.
    standard_error: of `value`; 0 if it is exact.
    mean_return: undiscounted sum of rewards within the time limit.
    std_return: standard deviation of the return over episodes.
    mean_length: steps within the time limit.
    occupancy: (1-gamma) E[sum_t gamma^t 1(alive)], the mean that density
      ratios should have: 1, or less if episodes terminate.
    num_episodes: number of roll-outs.
    gamma: the discount of `value`.
    horizon: steps after which a roll-out was cut.
    wanted_error: the standard error that roll-outs were to reach; None if
      their number was given.
    exact: whether `value` was solved for, in a finite MDP.
    is_given: whether the user knew it; then nothing but `value` is known.
  """

  value: float
  standard_error: float
  mean_return: float
  std_return: float
  mean_length: float
  occupancy: float
  num_episodes: int
  gamma: float
  horizon: int
  wanted_error: float | None = None
  exact: bool = False
  is_given: bool = False

  @classmethod
  def given(cls, value: float, gamma: float) -> 'PolicyValue':
    """Returns a value that was not measured here."""
    unknown = float('nan')
    return cls(
        value, 0.0, unknown, unknown, unknown, unknown, 0, gamma, 0,
        is_given=True,
    )

  @property
  def is_capped(self) -> bool:
    """Whether roll-outs ended before the standard error was reached."""
    wanted = self.wanted_error
    return wanted is not None and self.standard_error > wanted


@dataclasses.dataclass(frozen=True)
class RatioDiagnostics:
  """Statistics of the density ratios of a data set.

  All but the counts and shares are those of the finite ratios, and NaN if
  there is none; `non_finite_share` says how many were left out.

  Attributes:
    num_ratios: one for each transition.
    mean: of the ratios.
    expected_mean: what the mean should be: 1, or less if the target policy's
      episodes end; None if nobody knows.
    effective_sample_size: (sum r)^2 / sum r^2, how many equally weighted
      transitions say as much.
    effective_share: the same, relative to all transitions.
    negative_share: a density ratio is never negative; an estimate may be.
    largest: of the ratios.
    non_finite_share: of the ratios.
  """

  num_ratios: int
  mean: float
  expected_mean: float | None
  effective_sample_size: float
  effective_share: float
  negative_share: float
  largest: float
  non_finite_share: float


@dataclasses.dataclass(frozen=True)
class EstimateEvidence:
  """What speaks for or against an estimate, measured without the truth.

  None where it is not known. Relative is to the estimate, or to a tenth of the
  rewards' deviation where that is larger.

  Attributes:
    effective_share: effective sample size, relative to all transitions.
    largest_ratio: of the density ratios.
    mass_gap: by how much the ratios miss their own mass: the flow with f = 1,
      |E_D[ratio (1 - gamma not_done)] / (1-gamma) - 1|.
    flow_excess: the flow residual in units of its own sampling noise.
    theorem_4_gap: relative difference to what theorem 4 (or 2) says it equals.
    disagreement: relative difference to the median of methods trained apart.
    nearest_method: the same, to the nearest of them.
    standard_error: of the estimate, relative.
    drift: relative change of the estimate in the last quarter of its curve.
    far_share: of the target policy's actions, far from any logged one.
    action_distance: of its actions to logged ones, by theirs to each other.
    reward_deviation: standard deviation of the logged rewards.
  """

  effective_share: float | None = None
  largest_ratio: float | None = None
  mass_gap: float | None = None
  flow_excess: float | None = None
  theorem_4_gap: float | None = None
  disagreement: float | None = None
  nearest_method: float | None = None
  standard_error: float | None = None
  drift: float | None = None
  far_share: float | None = None
  action_distance: float | None = None
  reward_deviation: float | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
  """Whether an estimate can be used.

  Attributes:
    grade: one of GRADES.
    reasons: for it, in plain words.
  """

  grade: str
  reasons: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Curve:
  """How the estimate of a method went while it was trained.

  Attributes:
    steps: updates of the method's last phase, at which it was looked at.
    estimates: the estimate after so many updates.
  """

  steps: tuple[int, ...] = ()
  estimates: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class MethodResult:
  """What one method found.

  Attributes:
    method: name of the estimator.
    value: its estimate of R(pi); NaN if it diverged.
    seconds: of training, shared phases included.
    phase_seconds: the same, phase by phase in their order; a phase that
      several methods share is in the result of each.
    sources: the phases that the value was trained by; () for all of these.
    diverged: whether its numbers ceased to be finite.
    interval: low and high of the 95% interval; None if there is none.
    standard_error: of the value, by the same bootstrap.
    diagnostics: of the density ratios; None if the method has none.
    flow_residual: by how much the ratios miss the flow of the target policy;
      None without ratios.
    flow_scored_on: what it was measured on: the fitted data, held-out
      episodes, or each half with the fit of the other (cross-fit).
    details: further numbers of the method, by name.
    lines: the same as a person reads them.
    trials: the settings that were tried, the best first.
    curve: the estimates while it was trained.
    evidence: what speaks for or against it; None if nobody looked.
    verdict: whether it can be used; None likewise.
    ratios: [n] density ratios of the transitions; None without ratios. Not
      part of result.json, nor is the next.
    estimator: the fitted estimator, which can be used on.
  """

  method: str
  value: float
  seconds: float = 0.0
  phase_seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
  sources: tuple[str, ...] = ()
  diverged: bool = False
  interval: tuple[float, float] | None = None
  standard_error: float | None = None
  diagnostics: RatioDiagnostics | None = None
  flow_residual: float | None = None
  flow_scored_on: str | None = None
  details: Mapping[str, float] = dataclasses.field(default_factory=dict)
  lines: tuple[str, ...] = ()
  trials: tuple[Mapping[str, Any], ...] = ()
  curve: Curve = Curve()
  evidence: EstimateEvidence | None = None
  verdict: Verdict | None = None
  ratios: np.ndarray | None = dataclasses.field(
      default=None, repr=False, compare=False
  )
  estimator: Any = dataclasses.field(default=None, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class EpisodeReturns:
  """What the episodes of a data set came to, whatever policy made them.

  Attributes:
    num_ended: episodes that ended in a terminal state.
    num_cut: the others, cut by a time limit or by the end of the data.
    mean_return: plain sum of the rewards of an episode, the mean over those
      that ended; None if there are none.
    mean_discounted: the same with gamma^t.
  """

  num_ended: int
  num_cut: int
  mean_return: float | None
  mean_discounted: float | None


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """What the methods of one evaluation found, on the same data.

  Attributes:
    methods: a result for each method, by its name.
    gamma: the discount.
    seed: of data and estimators.
    env_id: the environment; '' if the data come without one.
    setting: how the behaviour policy was made; '' if nobody knows.
    num_transitions: of the data set.
    num_episodes: of the data set.
    mean_reward: of the data set, the plain mean.
    truth: true value of the target policy; None if nobody knows.
    behaviour: true value of the behaviour policy; None likewise.
    part: which part of the data set it is of, where it is cut into several.
    data: what logged data are called that were not collected here; or ''.
    logged: returns of the data's own episodes; None if nobody looked.
  """

  methods: Mapping[str, MethodResult]
  gamma: float
  seed: int
  env_id: str = ''
  setting: str = ''
  num_transitions: int = 0
  num_episodes: int = 0
  mean_reward: float = float('nan')
  truth: PolicyValue | None = None
  behaviour: PolicyValue | None = None
  part: int = 0
  data: str = ''
  logged: EpisodeReturns | None = None

  def __getitem__(self, method: str) -> MethodResult:
    return self.methods[method]

  @property
  def recommended(self) -> MethodResult | None:
    """The method to go by; None without verdicts."""
    judged = [m for m in self.methods.values() if m.verdict is not None]
    return recommendation.choose(judged) if judged else None


@dataclasses.dataclass(frozen=True, eq=False)
class RandomRewards:
  """How well the density ratios of one run fit rewards that nobody chose.

  All arrays are [K], over the rewards whose true value says something.

  Attributes:
    env_id: the environment.
    setting: of the behaviour policy.
    seed: of the run's data and estimators.
    numbers: which of the drawn rewards they are, counted from 0.
    truths: true values of the target policy, by roll-outs.
    truth_errors: their standard errors.
    data_means: mean of the reward over the data set: what the ratio 1 gives.
    estimates: of the true values, by method.
    log_mses: by method, the log error of the estimate if both values are
      divided by `data_means`.
  """

  env_id: str
  setting: str
  seed: int
  numbers: np.ndarray
  truths: np.ndarray
  truth_errors: np.ndarray
  data_means: np.ndarray
  estimates: Mapping[str, np.ndarray]
  log_mses: Mapping[str, np.ndarray]


_IN_MEMORY = ('ratios', 'estimator')


def to_json(evaluation: Evaluation, with_advice: bool = True) -> dict:
  """Returns the content of result.json, with its version and checksum.

  Args:
    evaluation: what was found.
    with_advice: whether to add what follows from it by rules that may change:
      the method to go by, and its grade.
  """
  methods = [_plain(result) for result in evaluation.methods.values()]
  fields = _plain(dataclasses.replace(evaluation, methods={}))
  content = {'version': VERSION, **fields, 'methods': methods}
  best = evaluation.recommended if with_advice else None
  if best and best.verdict:
    content |= {'recommended': best.method, 'grade': best.verdict.grade}
  content = json.loads(json.dumps(content))
  return {**content, 'checksum': _checksum(content)}


def from_json(content: Mapping, where: str, advice: str) -> Evaluation:
  """Returns what `to_json` made.

  Args:
    content: as read from a file.
    where: the file, for the message.
    advice: what to do if it is damaged.

  Raises:
    UserError: if it is of another version, cut short or edited.
  """
  fields = dict(content)
  version, checksum = fields.pop('version', None), fields.pop('checksum', None)
  if version != VERSION:
    raise errors.at(
        where, f'has the version {version}, expected {VERSION}', advice
    )
  if checksum != _checksum({'version': version, **fields}):
    raise errors.at(
        where, 'was cut short or edited, its checksum does not fit', advice
    )
  methods = [_method(each) for each in fields.pop('methods')]
  for name in ('recommended', 'grade'):
    fields.pop(name, None)
  for name in ('truth', 'behaviour'):
    fields[name] = fields[name] and PolicyValue(**fields[name])
  logged = fields.get('logged')
  fields['logged'] = logged and EpisodeReturns(**logged)
  return Evaluation(
      methods={result.method: result for result in methods}, **fields
  )


def _method(fields: dict) -> MethodResult:
  diagnostics, interval = fields['diagnostics'], fields['interval']
  evidence, verdict = fields.get('evidence'), fields.get('verdict')
  return MethodResult(**{
      **fields,
      'diagnostics': diagnostics and RatioDiagnostics(**diagnostics),
      'interval': interval and tuple(interval),
      'sources': tuple(fields.get('sources', ())),
      'lines': tuple(fields['lines']),
      'trials': tuple(fields['trials']),
      'curve': Curve(**{k: tuple(v) for k, v in fields['curve'].items()}),
      'evidence': evidence and EstimateEvidence(**evidence),
      'verdict': verdict and Verdict(
          verdict['grade'], tuple(verdict['reasons'])
      ),
  })


def _plain(value) -> Any:
  """Returns dataclasses as dicts, without what stays in memory."""
  if dataclasses.is_dataclass(value):
    return {
        field.name: _plain(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if field.name not in _IN_MEMORY
    }
  if isinstance(value, Mapping):
    return {key: _plain(each) for key, each in value.items()}
  if isinstance(value, tuple | list):
    return [_plain(each) for each in value]
  return value.item() if isinstance(value, np.generic) else value


def _checksum(content: Mapping) -> str:
  text = json.dumps(content, sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()
