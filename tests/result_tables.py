"""Writes the tables of the results' documents from the runs that are kept.

`python -m tests.result_tables` writes them again. A comment in the line before
a table, `table: NAME`, says which table of the report it is; after the name may
come a regular expression: of the rows whose first cell has it, the others are
left out.
"""

import functools
import re
import tempfile

from srdice_tf.experiments import campaign
from srdice_tf.experiments import finished_runs
from srdice_tf.reports import report_page
from tests import documents
from tests import source_tree

_RESULTS = 'srdice_tf/experiments/results'
_MARK = 'table: '


@functools.cache
def _tables() -> dict[str, str]:
  """Returns the tables of a report of all that is kept, by name."""
  with tempfile.TemporaryDirectory() as directory:
    campaign.write_out(directory)
    groups = finished_runs.read(directory)
  found = report_page.tables(groups)
  return {table.name: table.markdown().strip() for table in found}


def marked() -> dict[str, list[documents.Block]]:
  """Returns the tables that are made from runs, by document."""
  paths = [path for path in documents.files() if path.startswith(_RESULTS)]
  return {
      path: [b for b in documents.blocks(path) if b.mark.startswith(_MARK)]
      for path in paths
  }


def names() -> set[str]:
  """Returns the names of all tables."""
  return {*_tables()}


def render(mark: str) -> str:
  """Returns the table that a mark stands for."""
  name, _, pattern = mark.removeprefix(_MARK).partition(' ')
  head, rule, *rows = _tables()[name].splitlines()
  is_wanted = lambda row: re.search(pattern, row.split(' | ')[0])
  return '\n'.join([head, rule, *filter(is_wanted, rows)])


def _renew():
  for path, blocks in marked().items():
    path = source_tree.ROOT / path
    text = path.read_text()
    for block in blocks:
      before = f'<!-- {block.mark} -->\n'
      text = text.replace(before + block.text, before + render(block.mark))
    path.write_text(text)


if __name__ == '__main__':
  _renew()
