"""Reads the documents: their blocks of code, tables, links and names."""

from collections.abc import Iterator
import dataclasses
import functools
import json
import pathlib
import re
import shlex

from tests import source_tree
from tests import warm_processes

README = 'README.md'
_MARK = re.compile(r'<!-- (.*?) -->')
_LINK = re.compile(r'\]\(([^)\s]+)\)')
_SPAN = re.compile(r'`([^`\n]+)`')
# A flag with its value; those in capitals stand for any.
VALUE = re.compile(r'--([a-z]\w*)=([a-z][\w,]*)(?![\w:./-])')
FLAG = re.compile(r'(?<![\w-])--(?:no(?=[a-z]\w*_))?([a-z]\w*)')
_FLAGS_OF_ALL = """
import json, runpy, sys
from absl import flags
from binaries import common_flags

found = {}
for path in sys.argv[1:]:
  for name in list(flags.FLAGS):
    delattr(flags.FLAGS, name)
  common_flags._holders.clear()
  runpy.run_path(path, run_name=path)
  found[path] = {
      name: getattr(flags.FLAGS[name].parser, 'enum_values', [])
      for name in flags.FLAGS
  }
print(json.dumps(found))
"""


@dataclasses.dataclass(frozen=True)
class Block:
  """A part of a document.

  Attributes:
    kind: 'python', 'code' (indented lines) or 'table'.
    mark: what the comment in the line before it says; '' without one.
    text: its lines, without their indent.
  """

  kind: str
  mark: str
  text: str


def files() -> list[str]:
  """Returns the paths of all documents."""
  root = source_tree.ROOT
  found = [*root.glob('*.md'), *root.glob('srdice_tf/**/*.md')]
  return sorted(path.relative_to(root).as_posix() for path in found)


@functools.cache
def read(path: str) -> str:
  return (source_tree.ROOT / path).read_text()


def blocks(path: str) -> list[Block]:
  """Returns the blocks of code and the tables of a document, in order."""
  found, mark, lines = [], '', read(path).splitlines()
  position = 0
  while position < len(lines):
    line, start = lines[position], position
    if line.startswith('```'):
      position = lines.index('```', start + 1)
      text = lines[start + 1:position]
      found.append(Block(line[3:] or 'code', mark, '\n'.join(text)))
    elif line.startswith('|') or line.startswith('    '):
      kind, first = ('table', '|') if line[0] == '|' else ('code', '    ')
      while _goes_on(lines, position + 1, first):
        position += 1
      text = [each.removeprefix('    ') for each in lines[start:position + 1]]
      found.append(Block(kind, mark, '\n'.join(text)))
    marked = _MARK.fullmatch(line)
    mark = marked[1] if marked else ''
    position += 1
  return found


def _goes_on(lines: list[str], position: int, first: str) -> bool:
  """Whether a block has this line too; code may have empty lines."""
  while first == '    ' and position < len(lines) and not lines[position]:
    position += 1
  return position < len(lines) and lines[position].startswith(first)


def commands(block: Block) -> list[list[str]]:
  """Returns the commands of a block, as the words that a shell sees."""
  return _commands(block.text)


def all_commands(path: str) -> list[list[str]]:
  """Returns the commands of a document's blocks and between its backticks."""
  texts = [*(block.text for block in blocks(path)), *spans(path)]
  return [words for text in texts for words in _commands(text)]


def _commands(text: str) -> list[list[str]]:
  joined = re.sub(r'\\\n\s*', ' ', text)
  starts = 'python ', 'bash ', 'pip '
  lines = [each.strip() for each in joined.splitlines()]
  found = [each for each in lines if each.startswith(starts)]
  return [shlex.split(each, comments=True) for each in found]


def rows(table: Block) -> tuple[list[str], list[list[str]]]:
  """Returns head and rows of a table, as cells without spaces around them."""
  head, _, *rest = (
      [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]]
      for line in table.text.splitlines()
  )
  return head, rest


def spans(path: str) -> list[str]:
  """Returns what a document has between backticks, outside of its code."""
  text = re.sub(r'^```.*?^```', '', read(path), flags=re.M | re.S)
  return _SPAN.findall(text)


def links(path: str) -> Iterator[tuple[str, pathlib.Path]]:
  """Yields the links into the repository, and the files that they mean."""
  here = (source_tree.ROOT / path).parent
  for target in _LINK.findall(read(path)):
    if not target.startswith(('http://', 'https://', '#')):
      yield target, here / target.partition('#')[0]


@functools.cache
def flags() -> dict[str, dict[str, list[str]]]:
  """Returns the flags of each program, by its path, and what each may be.

  What a flag may be is empty, if that is not a list of words.
  """
  programs = [p for p in source_tree.files() if source_tree.is_entry_point(p)]
  process = warm_processes.run('-c', _FLAGS_OF_ALL, *programs)
  assert process.returncode == 0, process.stderr
  # Libraries, such as pytest's plug-ins, may speak before.
  return json.loads(process.stdout.splitlines()[-1])
