"""What BUILD says, and what it should say.

`python -m tests.build_file` writes BUILD anew from the sources.
"""

import ast
import dataclasses
import pathlib

from tests import source_tree

PATH = source_tree.ROOT / 'BUILD'
RULES = ('py_library', 'py_binary', 'py_test')

# Files that targets need beside their sources.
_DATA = {
    'policies': [':pretrained'],
    'build_test': [':tree'],
    'imports_test': [':tree'],
    'setup_test': [':tree'],
    'style_test': [':tree'],
}
_HEADER = """\
# Targets mirror the layers of the code: one library for each package and each
# top-level module of srdice_tf, a binary for each program, a test for each
# test file. Dependencies are the imports of the files: tests/build_test.py
# holds it, and `python -m tests.build_file` writes this file anew. Packages of
# third parties come from requirements.txt.

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

package(default_visibility = ["//visibility:public"])

filegroup(
    name = "pretrained",
    srcs = glob(
        ["srdice_tf/policies/pretrained/**"],
        allow_empty = True,
    ),
)

filegroup(
    name = "tree",
    srcs = glob(
        [
            "binaries/**",
            "srdice_tf/**",
            "tests/**",
        ],
        exclude = ["**/__pycache__/**"],
    ) + [
        ".ci/run",
        "BUILD",
        "pyproject.toml",
        "requirements.txt",
    ],
)
"""


@dataclasses.dataclass
class Target:
  """One rule of BUILD; files and labels are sorted."""

  rule: str
  name: str
  srcs: list[str]
  deps: list[str] = dataclasses.field(default_factory=list)
  data: list[str] = dataclasses.field(default_factory=list)

  def render(self) -> str:
    """Returns the rule as buildifier would lay it out."""
    lines = [f'{self.rule}(', f'    name = "{self.name}",']
    if self.name == 'testing':
      lines.append('    testonly = True,')
    lines += _attribute('srcs', self.srcs)
    if self.rule == 'py_test':
      # Run as a program, the file would define tests and run none.
      lines += _attribute('args', self.srcs)
    lines += _attribute('data', self.data)
    if self.rule == 'py_binary':
      lines.append(f'    main = "{self.srcs[0]}",')
    if self.rule == 'py_test':
      lines.append('    main_module = "pytest",')
    lines += _attribute('deps', self.deps)
    return '\n'.join(lines + [')']) + '\n'


def _attribute(name: str, values: list[str]) -> list[str]:
  if len(values) < 2:
    return [f'    {name} = ["{value}"],' for value in values]
  items = [f'        "{value}",' for value in values]
  return [f'    {name} = [', *items, '    ],']


def target_of(path: str) -> tuple[str, str]:
  """Returns rule and name of the target that a source file belongs to."""
  parts = pathlib.PurePosixPath(path).with_suffix('').parts
  if path.startswith('srdice_tf/'):
    return 'py_library', source_tree.unit(path)
  if path.endswith('_test.py'):
    return 'py_test', '_'.join(parts[1:])
  if path.startswith('tests/'):
    return 'py_library', 'testing'
  if source_tree.is_entry_point(path):
    return 'py_binary', '_'.join(parts[1:])
  return 'py_library', 'cli'


def expected() -> list[Target]:
  """Returns the targets that the sources call for."""
  targets = {}
  for path in source_tree.files():
    rule, name = target_of(path)
    targets.setdefault(name, Target(rule, name, [])).srcs.append(path)
  for target in targets.values():
    target.deps = _dependencies(target)
    target.data = _DATA.get(target.name, []) + _program_under_test(target)
  order = lambda target: (RULES.index(target.rule), target.srcs)
  return sorted(targets.values(), key=order)


def _dependencies(target: Target) -> list[str]:
  imported = set().union(*map(source_tree.first_party, target.srcs))
  names = {target_of(path)[1] for path in imported}
  return sorted(f':{name}' for name in names - {target.name})


def _program_under_test(target: Target) -> list[str]:
  """Returns the target of a program that a test starts: tests/ mirrors it."""
  path = target.srcs[0].removeprefix('tests/').replace('_test.py', '.py')
  is_program = path.startswith('binaries/') and path != target.srcs[0]
  exists = (source_tree.ROOT / path).exists()
  return [f':{target_of(path)[1]}'] if is_program and exists else []


def render() -> str:
  return '\n'.join([_HEADER] + [target.render() for target in expected()])


# The part of Python's syntax that is Starlark too, as far as BUILD needs it.
_STARLARK = (
    ast.Module,
    ast.Expr,
    ast.Call,
    ast.keyword,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.List,
    ast.Dict,
    ast.BinOp,
    ast.Add,
)


def evaluate(text: str) -> list[tuple[str, tuple, dict]]:
  """Returns the calls that a BUILD file makes: function, arguments, keywords.

  Raises:
    ValueError: if the text is not Starlark or calls an unknown function.
  """
  module = ast.parse(text, 'BUILD')
  for node in ast.walk(module):
    if not isinstance(node, _STARLARK):
      raise ValueError(f'not allowed in BUILD: {ast.unparse(node)}')
  calls = []

  def record(name):
    return lambda *args, **kwargs: calls.append((name, args, kwargs))

  def load(label, *names):
    record('load')(label, *names)
    # A rule exists only once it is loaded.
    namespace.update({name: record(name) for name in names})

  namespace = {'__builtins__': {}, 'load': load, 'glob': _glob}
  namespace |= {name: record(name) for name in ('package', 'filegroup')}
  try:
    exec(compile(module, 'BUILD', 'exec'), namespace)
  except (NameError, TypeError) as error:
    raise ValueError(f'BUILD: {error}') from error
  return calls


def _glob(include, exclude=(), allow_empty=False) -> list[str]:
  del exclude
  root = source_tree.ROOT
  found = [p for pattern in include for p in root.glob(pattern)]
  if not found and not allow_empty:
    raise ValueError(f'BUILD: nothing matches {include}')
  return [path.relative_to(root).as_posix() for path in found]


if __name__ == '__main__':
  PATH.write_text(render())
