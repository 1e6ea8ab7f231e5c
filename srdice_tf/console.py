"""Starts programs: files of binaries/, or the commands of the same.

A program's first lines are

    from srdice_tf import console

    console.start(__file__)

The installed command `srdice-ope` is `console.run_ope`, which runs the file
binaries/run_ope.py as Python would; each program has such a function.
"""

from collections.abc import Callable
import functools
import importlib
import importlib.machinery
import importlib.util
import os
import runpy
import sys

from srdice_tf import commands
from srdice_tf.logging import quiet

_PACKAGE = 'binaries'


def start(path: str):
  """Prepares for the imports of a program, which take long and make noise.

  Who asks for help or for the version is answered at once, without them.

  Args:
    path: the program's own file.
  """
  if getattr(sys.modules['__main__'], '__file__', None) == path:
    _make_package(os.path.dirname(os.path.abspath(path)))
    # Imported by name: the library does not depend on the programs.
    help_page = importlib.import_module(f'{_PACKAGE}.help_page')
    help_page.answer(sys.modules['__main__'])
  quiet.install()


def _make_package(directory: str):
  """Makes the package that programs import each other's parts from.

  Its directory has other names where it is installed, and other projects may
  have a package of this name.
  """
  spec = importlib.machinery.ModuleSpec(_PACKAGE, None, is_package=True)
  spec.submodule_search_locations = [directory]
  sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)


def __getattr__(name: str) -> Callable[[], None]:
  """Returns the function of an installed command, by the program's name."""
  path = os.path.join(commands.directory(), f'{name}.py')
  if name.startswith('_') or not os.path.isfile(path):
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
  return functools.partial(_run, path)


def _run(path: str):
  commands.by_command = True
  runpy.run_path(path, run_name='__main__')
