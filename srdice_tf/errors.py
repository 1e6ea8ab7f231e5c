"""The errors that a user can fix, each with one line for the terminal."""


class UserError(Exception):
  """What was asked for cannot be done: field, what was found, what to expect.

  `UserError('gamma', 2.0, 'expected a number between 0 and 1')` reads
  'gamma=2.0: expected a number between 0 and 1.' The library knows fields; a
  program that has a flag of the same name shows it as one. What is wrong with
  a file, a server or data is `at(where, found, expected)`.

  Attributes:
    field: name of the setting; '' if the error is not of one.
    details: what is shown below the line, such as a traceback.
  """

  details = ''

  def __init__(self, field: str, found=None, expected: str | None = None):
    """Makes the message.

    Args:
      field: name of the setting, or the whole message if it is alone.
      found: its value.
      expected: what it should be, or what to do, without the full stop.
    """
    if expected is None:
      super().__init__(field)
      self.field = ''
    else:
      super().__init__(f'{field}={found}: {_ended(expected)}')
      self.field = field


class UserCodeError(UserError):
  """The user's own environment or policy failed, in the middle of the work."""

  def __init__(self, message: str, details: str = ''):
    super().__init__(message)
    self.details = details


class NotFiniteError(UserError):
  """All is written, but not each result is a finite number."""


def at(where: str, found: str, expected: str = '') -> UserError:
  """Returns the error of a place, which reads 'where: found; expected'.

  Args:
    where: the file, directory or server; or the argument of a call.
    found: what is wrong with it.
    expected: what it should be, or what to do about it.
  """
  return UserError(
      f'{where}: {_ended("; ".join(filter(None, [found, expected])))}'
  )


def _ended(text: str) -> str:
  return text if text.endswith('.') else f'{text}.'
