"""How often 95% intervals hold the truth."""

from collections.abc import Sequence
import dataclasses

import numpy as np

from srdice_tf import results


@dataclasses.dataclass(frozen=True)
class Coverage:
  """What the intervals of one method on independent data sets were worth.

  Attributes:
    num_datasets: that have an interval.
    share: of the intervals that hold the truth.
    median_width: of the intervals.
    bias: mean estimate less truth.
    spread: standard deviation of the estimates.
    mean_error: mean standard error: what the bootstrap takes `spread` for.
    centred_share: of the intervals that hold the mean estimate: what the share
      would be without the bias.
    truth: the value.
    truth_error: its standard error; 0 if it is exact.
    truth_capped: whether roll-outs ended before it was as small as wanted.
  """

  num_datasets: int
  share: float
  median_width: float
  bias: float
  spread: float
  mean_error: float
  centred_share: float
  truth: float
  truth_error: float
  truth_capped: bool


def of_method(
    evaluations: Sequence[results.Evaluation], method: str
) -> Coverage:
  """Returns the coverage of a method; all evaluations have one truth."""
  found = [evaluation[method] for evaluation in evaluations]
  truth = evaluations[0].truth
  nothing = float('nan'), float('nan')
  values = np.array([result.value for result in found])  # [N]
  low, high = np.array([result.interval or nothing for result in found]).T
  told = np.isfinite(high - low)  # [N]
  errors = np.array([
      result.standard_error for result, is_told in zip(found, told) if is_told
  ])
  holds = lambda value: float(np.mean(((low <= value) & (value <= high))[told]))
  return Coverage(
      num_datasets=int(told.sum()),
      share=holds(truth.value),
      median_width=float(np.median((high - low)[told])),
      bias=float(values.mean() - truth.value),
      spread=float(values.std(ddof=1)),
      mean_error=float(np.mean(errors)),
      centred_share=holds(values.mean()),
      truth=truth.value,
      truth_error=truth.standard_error,
      truth_capped=truth.is_capped,
  )
