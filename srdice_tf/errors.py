"""The one kind of error that is the user's to mend."""


class UserError(Exception):
  """What was asked cannot be done; the message is one line for the terminal.

  The message names the flag or the file, what was found and what was expected.
  """
