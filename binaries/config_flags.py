"""Flags that are the fields of config classes."""

from collections.abc import Callable
import dataclasses
import re
import textwrap

from absl import flags

from binaries import common_flags

# The caller's module, not this one, owns the flags defined here.
flags.disclaim_key_flags()


def define_fields(*config_classes) -> Callable[[], dict]:
  """Defines a flag for each field of dataclasses, which may share fields.

  Args:
    *config_classes: with their fields described under Attributes.

  Returns:
    A function that gives the fields whose flags were set.
  """
  texts, types, defaults, holders = {}, {}, {}, {}
  for config_class in config_classes:
    texts |= _attribute_texts(config_class.__doc__)
    for field in dataclasses.fields(config_class):
      types[field.name] = field.type
      defaults.setdefault(field.name, []).append(str(field.default))
  for name in types:
    values = ' or '.join(dict.fromkeys(defaults[name]))
    text = f'{texts[name]} Default: {values}.'
    kind = common_flags.KINDS[types[name]]
    holders[name] = common_flags.define(name, kind, None, text)
  return common_flags.given(holders)


def _attribute_texts(doc: str) -> dict[str, str]:
  """Returns the texts of a docstring's Attributes section by name."""
  section = textwrap.dedent(doc.partition('Attributes:')[2].strip('\n'))
  # A text goes on in lines that are indented further.
  pairs = (part.partition(':') for part in re.split(r'\n(?! )', section))
  return {name: ' '.join(text.split()) for name, _, text in pairs if text}
