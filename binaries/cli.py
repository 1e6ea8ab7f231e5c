"""Runs a binary's main so that each expected failure is one clear line.

A binary reads:

    from srdice_tf import console
    console.start(__file__)  # Before the imports that take long.

    from absl import flags
    from binaries import cli
    from binaries import common_flags

    _ENV = common_flags.define_env()

    def main(_) -> None:
      ...

    if __name__ == '__main__':
      cli.run(main)
"""

import atexit
from collections.abc import Callable
import difflib
import errno
import math
import os
import re
import signal
import sys

from absl import flags

from binaries import help_page
from srdice_tf import errors
from srdice_tf.logging import signals

_Main = Callable[[list[str]], int | None]

# Of programs that `console` starts, the first was answered before.
_HELP = frozenset(('--help', '--helpfull'))
# absl's words for a required flag, and ours.
_REQUIRED = re.compile(r'flag --(\w+)=None: Flag --\1 must have a value.*')
_MISSING = re.compile(r'flag --(\w+) must be given')
# A field of the library in its messages; not part of a path or of a flag.
_FIELD = re.compile(r'(?<![\w./=-])(?:[a-z]\w*(?==)|[a-z]+_\w+(?![\w/(]|\.\w))')
_INTERRUPTED = 'interrupted: the same command resumes'
_MAX_WHOLE = 2**31 - 1  # Of TensorFlow's numbers.
_NO_SPACE = os.strerror(errno.ENOSPC)
# What the user can fix outside of the program; the system names the file.
_SYSTEM_ERRORS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.ENAMETOOLONG,
)

# Exit codes of errors after which all is written.
_WRITTEN = {errors.NotFiniteError: 3, errors.VerdictError: 4}


class _Terminated(KeyboardInterrupt):
  """SIGTERM; cleaned up after like Ctrl-C."""


def run(main: _Main) -> None:
  """Parses the flags, calls `main` and exits.

  Exits with 0 or what `main` returns; 2 if flags are wrong; 1 for a UserError
  or a full disk; if all is written, 3 if a result is no finite number and 4 if
  the verdict is as bad as --fail_on says; 130 on Ctrl-C; 143 on SIGTERM.

  Args:
    main: called as absl's app.run calls it, with the program's name in a
      list; may return an exit code.
  """
  signals.end_of_imports()
  if not signals.is_ignored(signal.SIGTERM):
    signal.signal(signal.SIGTERM, _terminate)
  try:
    code = _parse_flags_and_call(main)
  except KeyboardInterrupt as error:
    # From here on a second Ctrl-C ends the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    code = _fail(_INTERRUPTED, 143 if isinstance(error, _Terminated) else 130)
  except flags.Error as error:
    message = _REQUIRED.sub(r'flag --\1 must be given', str(error))
    code = _fail(f'error: {message}{_example(message)}', 2)
  except errors.UserError as error:
    code = _fail(f'error: {_with_flags(error)}', _WRITTEN.get(type(error), 1))
    if error.details:
      print(error.details, file=sys.stderr)
  except Exception as error:
    message = _system_error(error)
    if message is None:
      raise
    code = _fail(f'error: {message}', 1)
  if code:
    _leave(code)
  sys.exit(code)


def _with_flags(error: errors.UserError) -> str:
  """Returns the message; the library's fields that are flags become flags.

  Fields are known by their place, `seed=3`, or by an underscore, as of
  `dataset_dir`: other words may be just words.
  """
  return _FIELD.sub(
      lambda found: ('--' if found[0] in flags.FLAGS else '') + found[0],
      str(error),
  )


def _leave(code: int):
  """Ends the process at once, after what is registered for its end.

  To take down TensorFlow's and Reverb's threads would take ten seconds, and may
  crash where a replay server has died.
  """
  atexit._run_exitfuncs()
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(code)


def _parse_flags_and_call(main: _Main) -> int | None:
  if not _HELP.isdisjoint(sys.argv[1:]):
    help_page.put(help_page.full(_doc(), _own_flags()))
    return 0
  _check_text(sys.argv[1:])
  try:
    program, *extra = flags.FLAGS(sys.argv)
  except flags.UnrecognizedFlagError as error:
    raise flags.Error(_unknown_flag(error.flagname)) from error
  if extra:
    raise flags.Error(
        f'unexpected argument {extra[0]!r}: all arguments are --flag=value'
    )
  _check_values()
  return main([program])


def _check_text(arguments: list[str]) -> None:
  """Checks what the libraries take for names of files and environments."""
  for argument in arguments:
    try:
      argument.encode()
    except UnicodeEncodeError as error:
      raise flags.Error(f'argument {argument!a}: expected UTF-8') from error


def _check_values() -> None:
  """Checks what the bounds of flags let pass: NaN, too large, empty."""
  for name, value in flags.FLAGS.flag_values_dict().items():
    if isinstance(value, float) and not math.isfinite(value):
      raise flags.Error(f'flag --{name}={value}: expected a finite number')
    if isinstance(value, int) and value > _MAX_WHOLE:
      raise flags.Error(f'flag --{name}={value}: expected at most {_MAX_WHOLE}')
    if value == '' and flags.FLAGS[name].default != '':
      # Of `--policy=$POLICY`, say, where nobody has set the variable.
      expected = 'a directory' if name.endswith('_dir') else 'a value'
      raise flags.Error(f'flag --{name}=: expected {expected}')


def _own_flags() -> list[flags.Flag]:
  key_flags = flags.FLAGS.get_key_flags_for_module(sys.argv[0])
  return sorted(key_flags, key=lambda flag: flag.name)


def _unknown_flag(name: str) -> str:
  """Returns the message; unlike absl's it suggests none of absl's flags."""
  names = [flag.name for flag in _own_flags()]
  near = difflib.get_close_matches(name, names, n=1)
  return f'no flag --{name}; ' + (
      f'did you mean --{near[0]}?' if near else '--helpfull lists all flags'
  )


def _doc() -> str:
  return sys.modules['__main__'].__doc__ or ''


def _example(message: str) -> str:
  """Returns the command to try, if the message misses a flag that it has."""
  missing = _MISSING.match(message)
  for command in help_page.examples(_doc()) if missing else ():
    if f'--{missing[1]}=' in command:
      return f'; try: {command}'
  return ''


def _system_error(error: Exception) -> str | None:
  """Returns one line on a disk or a path that cannot be used, else None."""
  code = error.errno if isinstance(error, OSError) else None
  if code in _SYSTEM_ERRORS and error.filename is not None:
    # Of a renamed file the new name is the one that the user knows.
    return f'{error.filename2 or error.filename}: {error.strerror}'
  # Writes, TensorFlow and Reverb do not always say which file it was.
  if code in (errno.ENOSPC, errno.EDQUOT) or _NO_SPACE in str(error):
    reason = os.strerror(code or errno.ENOSPC)
    return f'{_directory_flags() or os.getcwd()}: {reason}'
  return None


def _directory_flags() -> str:
  values = flags.FLAGS.flag_values_dict()
  return ' or '.join(
      f'--{name}={value}'
      for name, value in values.items()
      if name.endswith('_dir') and name != 'log_dir' and value
  )


def _fail(message: str, code: int) -> int:
  sys.stdout.flush()
  print(' '.join(message.split()), file=sys.stderr)
  return code


def _terminate(signal_number, frame):
  del signal_number, frame
  raise _Terminated
