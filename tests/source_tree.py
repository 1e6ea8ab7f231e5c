"""The repository's Python files and what they import, read with ast."""

import ast
import functools
import pathlib

ROOT = pathlib.Path(__file__).parents[1]
_TOP_LEVEL = ('srdice_tf', 'binaries', 'tests')


def files(root: pathlib.Path = ROOT) -> list[str]:
  """Returns the paths of all Python sources, relative to the root."""
  paths = (path for top in _TOP_LEVEL for path in (root / top).rglob('*.py'))
  return sorted(path.relative_to(root).as_posix() for path in paths)


@functools.cache
def tree(path: str) -> ast.Module:
  return ast.parse((ROOT / path).read_text(), path)


def imported_names(path: str) -> set[str]:
  """Returns dotted names: of modules, and of what is taken from them."""
  names = set()
  for node in ast.walk(tree(path)):
    if isinstance(node, ast.Import):
      names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
      if node.level:
        raise ValueError(f'{path}: relative import in line {node.lineno}')
      names |= {f'{node.module}.{alias.name}' for alias in node.names}
  return names


def first_party(path: str) -> set[str]:
  """Returns the files of the repository that a file imports."""
  ours = (n for n in imported_names(path) if n.split('.')[0] in _TOP_LEVEL)
  return {_file_of(name) for name in ours} - {path}


def third_party(path: str) -> set[str]:
  """Returns the top-level names of the other modules that a file imports."""
  return {n.split('.')[0] for n in imported_names(path)} - set(_TOP_LEVEL)


def closure(path: str) -> set[str]:
  """Returns a file and all that it imports, directly or not."""
  seen, stack = set(), [path]
  while stack:
    path = stack.pop()
    if path not in seen:
      seen.add(path)
      stack += first_party(path) | _packages_above(path)
  return seen


def unit(path: str) -> str:
  """Returns the part of the layout a file belongs to: 'replay', 'types', ...

  Files of srdice_tf belong to its sub-packages and modules; the package itself
  and all else to 'srdice_tf', 'binaries' and 'tests'.
  """
  top, *rest = pathlib.PurePosixPath(path).with_suffix('').parts
  return rest[0] if top == 'srdice_tf' and rest != ['__init__'] else top


def is_entry_point(path: str) -> bool:
  """Whether a file is made to be run as a program."""
  return path.startswith('binaries/') and any(
      isinstance(node, ast.If)
      and ast.unparse(node.test) == "__name__ == '__main__'"
      for node in tree(path).body
  )


def _file_of(name: str) -> str:
  """Returns the file of 'package.module' or of 'package.module.name'."""
  parts = name.split('.')
  for end in (len(parts), len(parts) - 1):
    path = '/'.join(parts[:end])
    for candidate in (f'{path}.py', f'{path}/__init__.py'):
      if (ROOT / candidate).exists():
        return candidate
  raise ValueError(f'no file for the import of {name}')


def _packages_above(path: str) -> set[str]:
  """Returns the __init__ files that run when a file is imported."""
  parents = pathlib.PurePosixPath(path).parents
  candidates = {(parent / '__init__.py').as_posix() for parent in parents}
  return {c for c in candidates if c != path and (ROOT / c).exists()}
