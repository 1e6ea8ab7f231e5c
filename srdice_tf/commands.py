"""What people are told to type next.

From a clone a program is a file, `python binaries/run_ope.py`; an installed
package has a command for each of them, `srdice-ope`.
"""

from importlib import metadata
import os
import shlex

PREFIX = 'srdice-'  # Of an installed command.
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_INSTALLED = os.path.join(_PACKAGE, 'binaries')
_CLONED = os.path.join(os.path.dirname(_PACKAGE), 'binaries')

# Whether programs are called by their commands; `console` sets it where this
# one was.
by_command = os.path.isdir(_INSTALLED)


def directory() -> str:
  """Returns where the files of the programs are."""
  return _INSTALLED if os.path.isdir(_INSTALLED) else _CLONED


def installed_name(program: str) -> str:
  """Returns the command of a program, such as srdice-ope of run_ope."""
  verbless = program.removeprefix('run_').removeprefix('make_')
  return f'{PREFIX}{verbless.replace("_", "-")}'


def name(program: str) -> str:
  """Returns how a program is started from here, without its flags."""
  if by_command:
    return installed_name(program)
  return f'python binaries/{program}.py'


def line(program: str, **flags) -> str:
  """Returns a whole command.

  Args:
    program: its name, such as run_ope.
    **flags: values by name, in their order; empty ones are left out.
  """
  words = [name(program)]
  for flag, value in flags.items():
    if value is True:
      words.append(f'--{flag}')
    elif value:
      words.append(f'--{flag}={shlex.quote(str(value))}')
  return ' '.join(words)


def install(extra: str) -> str:
  """Returns the command that installs an extra of the package."""
  if not os.path.isdir(_INSTALLED):
    return f'pip install -e ".[{extra}]"'
  needs = metadata.requires('srdice_tf') or []
  of_extra = [need for need in needs if f'extra == "{extra}"' in need]
  packages = [need.partition(';')[0].strip() for need in of_extra]
  return ' '.join(['pip install', *(f'"{package}"' for package in packages)])


def of(program: str, arguments: list[str]) -> str:
  """Returns the command that a program was started with.

  Args:
    program: the path of its file, as in sys.argv[0].
    arguments: what came after it.
  """
  stem = os.path.splitext(os.path.basename(program))[0]
  start = name(stem) if by_command else f'python {shlex.quote(program)}'
  return ' '.join([start, *map(shlex.quote, arguments)])
