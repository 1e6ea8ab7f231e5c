"""What dataset.json says about a data set, and checks of it."""

from collections.abc import Iterable
from collections.abc import Mapping

from srdice_tf.replay import reverb_files

COLLECTING, COMPLETE = 'collecting', 'complete'
FORMAT = 2  # Of the directory; 1 had an item for each transition.
_PROGRESS = ('status', 'counts')


def describe(collectors: Iterable[dict], counts: Mapping[str, int]) -> dict:
  """Returns the description of the data of all collectors, as one data set.

  Args:
    collectors: what each of them says about its data.
    counts: transitions and episodes in the data.
  """
  collectors = sorted(collectors, key=lambda each: each['collector'])
  plain = [
      {name: value for name, value in each.items() if name not in _PROGRESS}
      for each in collectors
  ]
  counts = dict(counts)
  single = plain[0] if len(plain) == 1 else {}
  if single:
    # With returns and mean reward, if they are up to date.
    own = collectors[0].get('counts', {})
    if counts.items() <= own.items():
      counts = own
  asked = sum(each['num_transitions'] for each in plain)
  is_complete = counts['transitions'] == asked > 0
  return {
      **single,
      'environment': plain[0]['environment'] if plain else None,
      'num_transitions': asked,
      'collectors': plain,
      'status': COMPLETE if is_complete else COLLECTING,
      'counts': counts,
  }


def fault(description) -> str | None:
  """Returns what is wrong with the form of a description, or None."""
  if not isinstance(description, dict):
    return f'it holds a {type(description).__name__}, not an object'
  if 'format' not in description:
    return 'it has no field format: an earlier version wrote it, or it was cut'
  if description['format'] != FORMAT:
    return f'its format is {description["format"]}, known is {FORMAT}'
  for name, is_right in _FIELDS.items():
    if name not in description:
      return f'it has no field {name}'
    if not is_right(description[name]):
      return f'its field {name} is {_short(description[name])}'
  if description['status'] == COMPLETE and not description['environment']:
    return 'it names no environment'
  number = description['num_transitions']
  is_full = description['counts']['transitions'] == number > 0
  if description['status'] == COLLECTING and is_full:
    return f'its status is {COLLECTING}, but it has all {number} transitions'
  missing = reverb_files.FILES - description['checksums'].keys()
  if missing:
    return f'its checksums lack {", ".join(sorted(missing))}'
  return None


def difference(description: dict, found: dict) -> str | None:
  """Returns how a description differs from the data, or None.

  Args:
    description: from dataset.json.
    found: made from the data.
  """
  for name, value in found.items():
    told = description.get(name)
    if name == 'counts':
      for key in told.keys() & value.keys():
        if told[key] != value[key]:
          return f'{key} is {told[key]}, that of the data {value[key]}'
    elif told != value:
      return f'{name} is {_short(told)}, that of the data {_short(value)}'
  return None


def _short(value) -> str:
  text = repr(value)
  return text if len(text) <= 60 else f'{text[:57]}...'


def _is_count(value) -> bool:
  return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_file_name(value) -> bool:
  return isinstance(value, str) and value not in ('', '.', '..') and (
      '/' not in value
  )


def _are_counts(value) -> bool:
  names = 'transitions', 'episodes'
  return isinstance(value, dict) and all(_is_count(value.get(n)) for n in names)


def _are_texts(value) -> bool:
  return isinstance(value, dict) and all(
      isinstance(each, str) for each in value.values()
  )


def _are_collectors(value) -> bool:
  return isinstance(value, list) and all(isinstance(x, dict) for x in value)


_FIELDS = {
    'environment': lambda value: value is None or isinstance(value, dict),
    'num_transitions': _is_count,
    'collectors': _are_collectors,
    'status': lambda value: value in (COLLECTING, COMPLETE),
    'counts': _are_counts,
    'checkpoint': _is_file_name,
    'checksums': _are_texts,
}
