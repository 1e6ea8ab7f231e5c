"""The one kind of error that is the user's to mend."""


class UserError(Exception):
  """What was asked cannot be done; the message is one line for the terminal.

  The message names the flag or the file, what was found and what was expected.

  Attributes:
    details: what is shown below the line, such as a traceback.
  """

  details = ''


class UserCodeError(UserError):
  """The user's own environment or policy failed, in the middle of the work."""

  def __init__(self, message: str, details: str = ''):
    super().__init__(message)
    self.details = details


class NotFiniteError(UserError):
  """All is written, but not each result is a finite number."""
