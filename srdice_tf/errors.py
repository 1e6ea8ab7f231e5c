"""The errors that a user can fix, each with one line for the terminal."""


class UserError(Exception):
  """A setting that cannot be used: its field, what was found, what to expect.

  `UserError('gamma', 2.0, 'expected a number between 0 and 1')` reads
  'gamma=2.0: expected a number between 0 and 1.' The library knows fields; a
  program that has a flag of the same name shows it as one. What is wrong with
  a file, a server or data is made by `at`.

  Attributes:
    details: what is shown below the line, such as a traceback.
  """

  details = ''

  def __init__(self, field: str, found, expected: str):
    """Makes the message.

    Args:
      field: name of the setting.
      found: its value.
      expected: what it should be, or what to do, without the full stop.
    """
    super().__init__(f'{field}={found}: {_ended(expected)}')


class _Message(UserError):
  """An error with a message of its own."""

  def __init__(self, message: str, details: str = ''):
    Exception.__init__(self, message)
    self.details = details


class UserCodeError(_Message):
  """The user's own environment or policy failed, in the middle of the work."""


class NotFiniteError(_Message):
  """All is written, but not each result is a finite number."""


class VerdictError(_Message):
  """All is written, but the verdict is not good enough for who asked."""


def at(where: str, found: str, expected: str = '') -> UserError:
  """Returns the error of a place, which reads 'where: found; expected'.

  Args:
    where: the file, directory or server; or the argument of a call.
    found: what is wrong with it.
    expected: what it should be, or what to do about it.
  """
  text = '; '.join(filter(None, [found, expected]))
  return _Message(f'{where}: {_ended(text)}')


def from_text(message: str) -> UserError:
  """Returns an error whose whole message another process has made."""
  return _Message(message)


def _ended(text: str) -> str:
  return text if text.endswith('.') else f'{text}.'
