"""Verdicts: whether an estimate can be used, by thresholds that are data.

`experiments/results/verdict.csv` has the runs that they were fixed and tried
on, `binaries/check_verdicts.py` makes it.
"""

from collections.abc import Iterable
import dataclasses
import math

from srdice_tf import results


@dataclasses.dataclass(frozen=True)
class Threshold:
  """What a number of the evidence says.

  Attributes:
    field: of results.EstimateEvidence.
    unsure: from here on the estimate is unsure.
    do_not_use: from here on it is not to be used.
    words: what is wrong then, with the {value}.
    is_share_of_good: whether small numbers are the bad ones.
  """

  field: str
  unsure: float
  do_not_use: float
  words: str
  is_share_of_good: bool = False

  def grade(self, value: float) -> str:
    """Returns the grade of a value; NaN is not to be used."""
    sign = -1.0 if self.is_share_of_good else 1.0
    if not sign * value < sign * self.do_not_use:
      return results.DO_NOT_USE
    is_unsure = sign * value >= sign * self.unsure
    return results.UNSURE if is_unsure else results.USABLE


# Fixed on one half of the runs of the experiment `verdict`. Those of relative
# numbers follow from what is asked for: to be within 10%.
RULES = (
    Threshold(
        'far_share', 0.015, 0.2,
        '{value:.1%} of the actions of the policy are far from any logged one',
    ),
    Threshold(
        'action_distance', 1.05, 1.5,
        'its actions are {value:.2f} times as far from logged ones as those are'
        ' from each other',
    ),
    Threshold(
        'disagreement', 0.1, 0.3,
        'it is {value:.0%} from what methods trained apart say',
    ),
    Threshold(
        'standard_error', 0.05, 0.2,
        'its standard error is {value:.1%}',
    ),
    Threshold(
        'effective_share', 0.05, 0.01,
        'the ratios leave {value:.1%} of the data to count on',
        is_share_of_good=True,
    ),
    Threshold(
        'largest_ratio', 100.0, 1000.0,
        'a single transition weighs {value:,.0f} times its share',
    ),
    Threshold(
        'mass_gap', 0.15, 0.5,
        'the ratios miss their own mass by {value:.0%}',
    ),
    Threshold(
        'flow_excess', 10.0, 30.0,
        'the flow residual is {value:.0f} times its sampling noise',
    ),
    Threshold(
        'theorem_4_gap', 0.1, 0.5,
        'it is {value:.0%} from the value that theorem 4 says is the same',
    ),
    Threshold(
        'drift', 0.06, 0.5,
        'it still moves by {value:.0%}: more updates if its curve settles,'
        ' fewer if it runs away',
    ),
)


def judge(value: float, evidence: results.EstimateEvidence) -> results.Verdict:
  """Returns the worst of what the rules say.

  Without a method trained apart, nothing but the estimate's own assumptions
  speaks for it: it is unsure at best.

  Args:
    value: the estimate.
    evidence: on it; what is not known says nothing.
  """
  if not math.isfinite(value):
    return results.Verdict(results.DO_NOT_USE, ('it diverged',))
  reasons = {grade: [] for grade in results.GRADES}
  for rule in RULES:
    found = getattr(evidence, rule.field)
    if found is not None:
      words = rule.words.format(value=found)
      reasons[rule.grade(found)].append(words)
  if evidence.disagreement is None:
    reasons[results.UNSURE].append(
        'no method trained apart from it stands beside it'
    )
  grade = worst(grade for grade, found in reasons.items() if found)
  if grade == results.USABLE:
    num_tests = len(reasons[grade])
    return results.Verdict(grade, (f'it passes all {num_tests} tests',))
  bad = reasons[results.DO_NOT_USE] + reasons[results.UNSURE]
  return results.Verdict(grade, tuple(bad))


def worst(grades: Iterable[str]) -> str:
  """Returns the worst of some grades."""
  return max(grades, key=results.GRADES.index)
