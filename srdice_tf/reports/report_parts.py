"""What a report is made of: figures with panels, tables, and their files."""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import io
import math
import numbers
import os
import re
from typing import Any

import matplotlib
from matplotlib import colors
from matplotlib import figure
from matplotlib import lines
import pandas as pd

from srdice_tf.reports import figures
from srdice_tf.reports import tables

_PANEL = (4.6, 3.3)  # Inches.
_SIDE_BY_SIDE = 4
# Of a legend: line and margins of a label, its letters, the space of a row.
_INCHES_OF_LABEL, _INCHES_OF_LETTER, _INCHES_OF_LINE = 0.6, 0.08, 0.24
# An id, and where one is referred to.
_IDS = re.compile(r'(\bid="|href="#|url\(#)')
_MARKS = {
    'o': '●', 's': '■', 'P': '✚', '^': '▲', 'X': '✖', 'd': '♦', 'D': '◆',
    'v': '▼', '*': '★', '<': '◀', '>': '▶', 'p': '⬟', '--': '', '': '',
}
_LATEX = {
    '\\': r'\textbackslash{}', '_': r'\_', '%': r'\%', '&': r'\&', '#': r'\#',
    '$': r'\$', '{': r'\{', '}': r'\}', '^': r'\^{}', '~': r'\~{}',
}


@dataclasses.dataclass(frozen=True)
class ReportTable:
  """A table that is shown, and written as CSV, LaTeX and Markdown.

  Attributes:
    name: of its files.
    columns: the headings.
    rows: a value for each column: a number, a text or None.
    caption: what it says.
    title: above it, where it stands alone.
    decimals: digits of floats after the point; None for four in all.
  """

  name: str
  columns: Sequence[str]
  rows: Sequence[Sequence]
  caption: str = ''
  title: str = 'Table'
  decimals: int | None = None

  def cells(self) -> list[list[dict[str, Any]]]:
    """Returns text, sorting key and kind of each cell."""
    return [[_shown(x, self.decimals) for x in row] for row in self.rows]

  def _texts(self) -> list[list[str]]:
    return [
        [tables.cell_text(x, self.decimals) for x in row] for row in self.rows
    ]

  def headings(self) -> list[tuple[str, bool]]:
    """Returns each heading, and whether numbers stand below it."""
    is_text = [any(isinstance(x, str) for x in c) for c in zip(*self.rows)]
    return [(name, not text) for name, text in zip(self.columns, is_text)]

  def write(self, directory: str):
    """Writes <name>.csv, <name>.tex and <name>.md."""
    path = os.path.join(directory, self.name)
    table = pd.DataFrame(self.rows, columns=self.columns, dtype=object)
    write_text(f'{path}.csv', table.to_csv(index=False))
    write_text(f'{path}.tex', self.latex())
    write_text(f'{path}.md', self.markdown())

  def latex(self) -> str:
    """Returns the table for a document with the package booktabs."""
    kinds = ''.join('r' if number else 'l' for _, number in self.headings())
    text = [
        f'% {self.caption}',
        rf'\begin{{tabular}}{{{kinds}}}',
        r'\toprule',
        _latex_line(self.columns),
        r'\midrule',
        *map(_latex_line, self._texts()),
        r'\bottomrule',
        r'\end{tabular}',
    ]
    return '\n'.join(text) + '\n'

  def markdown(self) -> str:
    """Returns the table for a README."""
    rule = ['---:' if number else '---' for _, number in self.headings()]
    lines = [_markdown_line(self.columns), f'|{"|".join(rule)}|']
    return '\n'.join([*lines, *map(_markdown_line, self._texts())]) + '\n'


def _shown(value, decimals: int | None) -> dict[str, Any]:
  is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
  text = key = tables.cell_text(value, decimals)
  if is_number:
    # What diverged comes last.
    key = value if math.isfinite(value) else 1e308
    text = text.replace('-', '−')
  return {'text': text, 'key': key, 'is_number': is_number or value is None}


def _markdown_line(cells: Sequence[str]) -> str:
  escaped = [cell.replace('|', r'\|') for cell in cells]
  return f'| {" | ".join(escaped)} |'


def _latex_line(cells: Sequence[str]) -> str:
  escaped = [''.join(_LATEX.get(c, c) for c in cell) for cell in cells]
  return ' & '.join(escaped) + r' \\'


@dataclasses.dataclass(frozen=True)
class Panel:
  """One set of axes: its title and what draws on it."""

  title: str
  draw: Callable[[Any], None]


@dataclasses.dataclass(frozen=True)
class ReportFigure:
  """A figure of panels, shown as SVG and written as PNG.

  Attributes:
    name: of its file, and of its place in the page.
    title: above it.
    caption: below it.
    panels: one or more.
    legend: the styles of what is drawn; a marker '--' is a dashed line.
    table: the numbers behind it.
    size: inches of a panel.
  """

  name: str
  title: str
  caption: str
  panels: Sequence[Panel]
  legend: Sequence[figures.Style] = ()
  table: ReportTable | None = None
  size: tuple[float, float] = _PANEL

  def svgs(self) -> list[dict[str, str]]:
    """Returns title and SVG of each panel, with ids that no other has."""
    return [
        {'title': panel.title, 'svg': self._svg(panel, f'{self.name}-{i}-')}
        for i, panel in enumerate(self.panels)
    ]

  def _svg(self, panel: Panel, prefix: str) -> str:
    picture = figure.Figure(figsize=self.size, layout='constrained')
    panel.draw(picture.subplots())
    content = io.StringIO()
    with matplotlib.rc_context({'svg.hashsalt': prefix}):
      picture.savefig(
          content, format='svg', transparent=True, metadata={'Date': None}
      )
    text = content.getvalue()
    return _IDS.sub(rf'\g<1>{prefix}', text[text.index('<svg') :])

  def swatches(self) -> list[dict[str, str]]:
    """Returns label, colour and mark of each line of the legend."""
    return [
        {
            'label': style.label,
            'color': colors.to_hex(style.color),
            'mark': _MARKS.get(style.marker, '●'),
            'line': 'dashed' if style.marker == '--' else 'solid',
        }
        for style in self.legend
    ]

  def write(self, directory: str):
    """Writes <name>.png with all panels, and the table behind them."""
    count = len(self.panels)
    num_columns = min(count, _SIDE_BY_SIDE)
    num_rows = -(-count // num_columns)
    width, height = self.size[0] * num_columns, self.size[1] * num_rows
    # All labels have room, however long they are.
    widest = max((len(s.label) for s in self.legend), default=0)
    label = _INCHES_OF_LABEL + _INCHES_OF_LETTER * widest
    in_a_row = max(1, min(2 * num_columns, int(width / label)))
    num_lines = -(-len(self.legend) // in_a_row)
    picture = figure.Figure(
        figsize=(max(width, label), height + _INCHES_OF_LINE * num_lines + 0.2),
        dpi=120,
        layout='constrained',
    )
    grid = picture.subplots(num_rows, num_columns, squeeze=False).ravel()
    for panel, axes in zip(self.panels, grid):
      panel.draw(axes)
    for axes in grid[count:]:
      axes.set_axis_off()
    if self.legend:
      handles = [
          lines.Line2D(
              [], [], color=s.color, ls='--' if s.marker == '--' else '-',
              marker='' if s.marker == '--' else s.marker,
          )
          for s in self.legend
      ]
      picture.legend(
          handles, [s.label for s in self.legend], frameon=False,
          loc='outside lower center', ncols=min(len(handles), in_a_row),
      )
    path = os.path.join(directory, self.name)
    picture.savefig(f'{path}.tmp.png')
    os.replace(f'{path}.tmp.png', f'{path}.png')
    if self.table:
      self.table.write(directory)


def write_text(path: str, text: str):
  """Writes a file that is there whole or not at all."""
  with open(f'{path}.tmp', 'w', encoding='utf-8') as file:
    file.write(text)
  os.replace(f'{path}.tmp', path)

