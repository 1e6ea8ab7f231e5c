"""The error of a program whose results are not all finite numbers."""

from collections.abc import Mapping
import math

from srdice_tf import errors


def check(values: Mapping[str, float], where: str):
  """Raises an error that names the results that are NaN or infinite.

  Args:
    values: results by name.
    where: all results are written, including these.

  Raises:
    NotFiniteError: if there is one.
  """
  names = [name for name, value in values.items() if not math.isfinite(value)]
  if names:
    raise errors.NotFiniteError(
        f'no finite result of {", ".join(names)}; the rest is in {where}.'
    )
