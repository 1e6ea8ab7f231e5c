"""Diagnostics of density ratios: how far to trust an estimate from them."""

import numpy as np

from srdice_tf import results


def ratio_diagnostics(
    ratios: np.ndarray, expected_mean: float | None = None
) -> results.RatioDiagnostics:
  """Returns statistics of any ratios, diverged ones too; never raises.

  Args:
    ratios: [n], one for each transition.
    expected_mean: what the mean of correct ratios is; None if not known.
  """
  ratios = np.asarray(ratios, np.float64).ravel()  # [n]
  finite = ratios[np.isfinite(ratios)]
  size = _effective_sample_size(finite)
  return results.RatioDiagnostics(
      num_ratios=ratios.size,
      mean=_mean(finite),
      expected_mean=None if expected_mean is None else float(expected_mean),
      effective_sample_size=size,
      effective_share=size / ratios.size if ratios.size else float('nan'),
      negative_share=_mean(ratios < 0.0),
      largest=float(finite.max()) if finite.size else float('nan'),
      non_finite_share=_mean(~np.isfinite(ratios)),
  )


def _mean(values: np.ndarray) -> float:
  """Returns the mean; NaN, without numpy's warning, if there are no values."""
  if not values.size:
    return float('nan')
  with np.errstate(over='ignore'):  # The mean of huge ratios is inf.
    return float(values.mean())


def _effective_sample_size(ratios: np.ndarray) -> float:
  if not ratios.size:
    return float('nan')
  scale = np.abs(ratios).max()
  if scale == 0.0:
    return 0.0  # No transition has any weight.
  scaled = ratios / scale  # The size does not change; squares stay finite.
  return float(scaled.sum() ** 2 / np.square(scaled).sum())
