"""What libraries say when they cannot read something, as part of one line."""

_LONGEST = 160


def reason(error: Exception) -> str:
  """Returns the first line of an error, without TensorFlow's own marks."""
  lines = getattr(error, 'message', str(error)).strip().splitlines()
  text = lines[0] if lines else type(error).__name__
  text = text.split('}} ')[-1].split(' [Op:')[0]
  return text if len(text) <= _LONGEST else f'{text[: _LONGEST - 3]}...'
