"""The page that --help shows, made without the imports of the program."""

from collections.abc import Iterable
import os
import re
import sys
import textwrap
import types

from binaries import flag_groups
import srdice_tf
from srdice_tf import commands

_HELP = frozenset(('-h', '-help', '--help', '--helpshort'))
_WIDTH = 80
_INDENT = ' ' * 6
_COLUMN = 26
_FILE = re.compile(r'python binaries/(\w+)\.py')


def answer(program: types.ModuleType):
  """Prints the help or the version, if asked for it, and ends the program.

  Args:
    program: its module, with a description and an example.
  """
  arguments = sys.argv[1:]
  if '--version' in arguments:
    put(f'srdice_tf {srdice_tf.__version__}')
    sys.exit()
  if not _HELP.isdisjoint(arguments):
    name = os.path.splitext(os.path.basename(program.__file__))[0]
    put(f'{head(program.__doc__)}\n\n{text(name)}')
    sys.exit()


def put(page: str):
  """Prints a page, though nobody may read it to its end: `--help | head`."""
  try:
    print(page, flush=True)
  except BrokenPipeError:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def head(doc: str | None) -> str:
  """Returns what a file says of its program, with commands as they are here."""
  return _FILE.sub(lambda found: commands.name(found[1]), (doc or '').strip())


def text(program: str) -> str:
  """Returns the flags that come first, in groups."""
  lines = []
  for group, rows in flag_groups.first(program).items():
    lines.append(group)
    for name, value, about in rows:
      lines += _row(f'  --{name}={value}' if value else f'  --{name}', about)
  return '\n'.join([
      *lines,
      '',
      f'All flags: {commands.name(program)} --helpfull',
  ])


def full(doc: str | None, flags: Iterable) -> str:
  """Returns the program's description and all of its flags, in groups.

  Args:
    doc: what its file says of it.
    flags: absl's, but not those of its libraries.
  """
  groups = {group: [] for group in flag_groups.GROUPS}
  for flag in flags:
    groups[flag_groups.group_of(flag.name)] += _paragraph(flag)
  lines = [head(doc)]
  for group, paragraphs in groups.items():
    if paragraphs:
      lines += ['', group, *paragraphs]
  return '\n'.join(lines)


def examples(doc: str) -> list[str]:
  """Returns the commands in a description, each in one line."""
  joined = re.sub(r'\s*\\\n\s*', ' ', head(doc))
  lines = (line for line in joined.splitlines() if line.startswith('  '))
  starts = 'python ', commands.PREFIX
  return [line.strip() for line in lines if line.strip().startswith(starts)]


def _paragraph(flag) -> list[str]:
  name = f'  --{"[no]" if flag.boolean else ""}{flag.name}'
  default = f' (default: {flag.default})' if flag.default is not None else ''
  return [
      name,
      *textwrap.wrap(
          f'{flag.help}{default}',
          width=_WIDTH,
          initial_indent=_INDENT,
          subsequent_indent=_INDENT,
      ),
  ]


def _row(flag: str, about: str) -> list[str]:
  indent = ' ' * _COLUMN
  # A flag that is too long for its column has a line of its own.
  is_long = len(flag) > _COLUMN - 2
  found = textwrap.wrap(
      about, _WIDTH, subsequent_indent=indent,
      initial_indent=indent if is_long else f'{flag:{_COLUMN}}',
      break_long_words=False, break_on_hyphens=False,
  )
  return [flag, *found] if is_long else found
