"""Keeps what TensorFlow, Reverb and simulators say off the user's terminal.

Binaries call `install` before they import any of them. Their C++ code writes to
file descriptor 2, which from then on is a log file in the directory for
temporary files; Python's own `sys.stderr` still is the user's. The log goes
when the program ends, unless it crashed: then the user is told where it is.
"""

import atexit
import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import warnings

import tqdm

from srdice_tf.logging import signals

# Set to 1 to see everything.
VERBOSE_VARIABLE = 'SRDICE_TF_VERBOSE'
_ENVIRONMENT = {
    'TF_CPP_MIN_LOG_LEVEL': '1',  # Information; warnings go to the log.
    'PYGAME_HIDE_SUPPORT_PROMPT': '1',
}
# In what Python's loggers and warnings say. Warnings are dropped where they are
# shown: gymnasium puts its own filters before ours.
_NOISE = (
    'Instructions for updating',
    'is not a valid tf.function parameter name',
    'Found untraced functions such as',
    'Encoding a StructuredValue with type',  # Of each policy that is saved.
    'is out of date',  # The paper's versions of MuJoCo's environments.
)
# Waits for a line, which a program that ends by itself writes. One that aborts
# or is killed writes none: its last words are in the log.
_GUARD = """\
read line && exit
[ -s "$1" ] || exec rm -f "$1"
printf '%s\\n' "the program was killed or crashed; $1 ends with:" >&2
tail -n 10 "$1" >&2"""


def install() -> None:
  """Sends the noise of this process and its children to a log file.

  Ctrl-C is one line from here on, in the imports too.
  """
  global _log
  is_verbose = os.environ.get(VERBOSE_VARIABLE, '0') not in ('', '0')
  if is_verbose or _log:
    signals.install()
    return
  os.environ.update({**_ENVIRONMENT, **os.environ})
  sys.modules['gym_notices'] = None  # TF-Agents' old gym prints one.
  for name in ('tensorflow', 'absl'):
    logging.getLogger(name).addFilter(lambda r: not _is_noise(str(r.msg)))
  warnings.showwarning = _show_warning
  with contextlib.suppress(OSError):  # No stderr, or no room for a file.
    _log = _Log()
  signals.install(_log.remove if _log else lambda: None)


class _Log:
  """The log file behind descriptor 2, and who tells of it after a crash."""

  def __init__(self):
    self._pid = os.getpid()
    stderr = os.dup(2)
    file, self._path = tempfile.mkstemp('.log', 'srdice_tf-')
    os.dup2(file, 2)
    os.close(file)
    sys.stderr = os.fdopen(
        stderr, 'w', buffering=1, encoding='utf-8', errors='backslashreplace'
    )
    read, self._end = os.pipe()
    self._guard = subprocess.Popen(
        ['sh', '-c', _GUARD, 'sh', self._path],
        stdin=read,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        start_new_session=True,  # Ctrl-C is not for it.
    )
    os.close(read)
    atexit.register(self.remove)
    sys.excepthook = self._show_error

  def remove(self):
    """Removes the log: the user knows how the program ends."""
    if self._path and os.getpid() == self._pid:
      with contextlib.suppress(OSError):  # Somebody tidied up before.
        os.remove(self._path)
      self._dismiss()

  def _show_error(self, *error):
    """Shows an error that nobody has caught, and keeps the log."""
    sys.__excepthook__(*error)
    if self._path:
      print(f'log of the libraries: {self._path}', file=sys.stderr)
      self._dismiss()

  def _dismiss(self):
    with contextlib.suppress(OSError):
      os.write(self._end, b'\n')
    self._path = None


_log: _Log | None = None


def _is_noise(text: str) -> bool:
  return any(words in text for words in _NOISE)


def _show_warning(message, category, filename, lineno, file=None, line=None):
  """Shows a warning; on a terminal above the progress bar."""
  del file
  text = warnings.formatwarning(message, category, filename, lineno, line)
  if _is_noise(text):
    return
  if sys.stderr.isatty():
    tqdm.tqdm.write(text, file=sys.stderr, end='')
  else:
    sys.stderr.write(text)
