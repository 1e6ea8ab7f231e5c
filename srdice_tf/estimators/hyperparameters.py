"""The hyper-parameters of a run: one flat set for all configs."""

from collections.abc import Iterable
import dataclasses
import difflib
import functools
import re
import textwrap
from typing import Any
from typing import TypeVar

from srdice_tf import errors
from srdice_tf.estimators import config_fields
from srdice_tf.estimators import registry
from srdice_tf.estimators import shared

_Config = TypeVar('_Config', bound=config_fields.MethodConfig)


class Hyperparameters:
  """Values of fields, by name; all other fields have their defaults.

  It cannot be changed. Two are equal if all fields have the same values.
  """

  def __init__(self, **values):
    """Checks and keeps the values.

    Raises:
      UserError: if there is no such field, or a value is out of its range.
    """
    known = fields()
    for name, value in values.items():
      if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        advice = f'; the nearest is {near[0]}' if near else ''
        raise errors.UserError(
            name, value, f'there is no such hyper-parameter{advice}'
        )
    # Made once: they check types, ranges and what fits the memory.
    self._configs = {
        config_class: _make(config_class, values)
        for config_class in _config_classes()
    }
    self._values = {
        name: value
        for name, value in values.items()
        if value != known[name][0].default
    }

  def __getitem__(self, name: str) -> Any:
    """Returns the value of a field, its default if no other is set."""
    return self._values.get(name, fields()[name][0].default)

  def __eq__(self, other) -> bool:
    if not isinstance(other, Hyperparameters):
      return NotImplemented
    return self._values == other._values

  def __hash__(self) -> int:
    return hash(frozenset(self._values.items()))

  def __repr__(self) -> str:
    values = ', '.join(f'{k}={v!r}' for k, v in self._values.items())
    return f'Hyperparameters({values})'

  def changes(self) -> dict[str, Any]:
    """Returns the values that are not the defaults, by name."""
    return dict(self._values)

  def replace(self, **more) -> 'Hyperparameters':
    """Returns the same with some other values."""
    return Hyperparameters(**self._values | more)

  def of(self, config_class: type[_Config]) -> _Config:
    """Returns the config with the values of the fields that it has."""
    if config_class in self._configs:
      return self._configs[config_class]
    return _make(config_class, self._values)

  def for_methods(self, names: Iterable[str]) -> dict[str, dict]:
    """Returns all fields with their values, of methods and what they share."""
    found, names = {}, list(names)
    registry.check_names(names)
    for name in names:  # It grows by the methods that others are made of.
      method = registry.ESTIMATORS[name]
      config = self.of(method.Config)
      found[name] = dataclasses.asdict(config)
      for other, field in method.other_methods(config).items():
        registry.check_has_ratios(other, field)
        if other not in names:
          names.append(other)
      for part in method.shared_parts(config):
        part_config = self.of(shared.PARTS[part].Config)
        found[part] = dataclasses.asdict(part_config)
    return found


@functools.cache
def fields() -> dict[str, tuple[dataclasses.Field, str]]:
  """Returns each field of all configs with its description, by name."""
  found = {}
  for config_class in _config_classes():
    texts = _texts(config_class)
    for field in dataclasses.fields(config_class):
      found.setdefault(field.name, (field, texts[field.name]))
  return found


def _config_classes() -> list[type[config_fields.MethodConfig]]:
  owners = [*shared.PARTS.values(), *registry.ESTIMATORS.values()]
  return [owner.Config for owner in owners]


def _make(config_class: type[_Config], values: dict[str, Any]) -> _Config:
  names = {field.name for field in dataclasses.fields(config_class)}
  return config_class(**{n: v for n, v in values.items() if n in names})


def _texts(config_class) -> dict[str, str]:
  """Returns the descriptions under Attributes, of the bases' fields too."""
  texts = {}
  for base in reversed(config_class.__mro__):
    section = (base.__doc__ or '').partition('Attributes:')[2]
    section = textwrap.dedent(section.strip('\n'))
    # A text goes on in lines that are indented further.
    pairs = (part.partition(':') for part in re.split(r'\n(?! )', section))
    texts |= {name: ' '.join(text.split()) for name, _, text in pairs if text}
  return texts
