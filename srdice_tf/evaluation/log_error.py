"""The log error of an estimate, as in the paper's figures."""

import numpy as np

# Smaller differences are rounding error. Without this floor an estimate that
# happens to equal the truth would have an error of -inf, and so would every
# mean over seeds or windows that includes it.
MIN_DIFFERENCE = 1e-12
# The paper smooths over 10 of the 250 points of a curve. Ten of 15 would be of
# estimates from which the last has long moved away.
_WINDOW, _LENGTH = 10, 250


def log_error(estimate, truth):
  """Returns log(0.5 (X - R)^2), the natural logarithm, in float64.

  Args:
    estimate: X, one number or an array.
    truth: R, one number or an array that fits the estimate's shape.

  Returns:
    An error for each estimate: at least log(0.5e-24) = -55.95, inf for an
    infinite estimate, NaN for NaN.
  """
  estimate, truth = (np.asarray(x, np.float64) for x in (estimate, truth))
  difference = np.abs(estimate - truth)
  # The sum of logarithms is finite where the square would overflow.
  return np.log(0.5) + 2.0 * np.log(np.maximum(difference, MIN_DIFFERENCE))


def allowed(truth_error: float) -> float | None:
  """Returns log(0.5 SE^2), the log error due to the error of the truth.

  A perfect estimate has about this log error; a smaller one is chance.

  Args:
    truth_error: standard error of the true value.

  Returns:
    None if the truth is exact, or its error is not known.
  """
  if not np.isfinite(truth_error) or not truth_error:
    return None
  return float(log_error(truth_error, 0.0))


def smooth(values, window: int = 0) -> np.ndarray:
  """Returns the mean of each value and the `window - 1` before it.

  The first means are over fewer values. A NaN makes the mean of each window
  that includes it NaN.

  Args:
    values: [..., T], smoothed along the last axis.
    window: number of values in a mean; 0 for the paper's 10 of 250, of shorter
      curves as large a share.
  """
  if window < 0:
    raise ValueError(f'window={window}: expected at least 0.')
  values = np.asarray(values, np.float64)
  window = window or max(1, min(_WINDOW, _WINDOW * values.shape[-1] // _LENGTH))
  smoothed = np.empty_like(values)
  # Not by a cumulative sum, in which a NaN would stay to the end.
  with np.errstate(invalid='ignore'):  # The mean of inf and -inf is NaN.
    for t in range(values.shape[-1]):
      first = max(0, t + 1 - window)
      smoothed[..., t] = values[..., first : t + 1].mean(axis=-1)
  return smoothed
