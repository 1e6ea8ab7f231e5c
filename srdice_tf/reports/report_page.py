"""The report: one HTML file without outside references, and files beside it."""

from collections.abc import Sequence
import datetime
import os

import jinja2
import pandas as pd

from srdice_tf.reports import aggregates
from srdice_tf.reports import origins
from srdice_tf.reports import report_curves
from srdice_tf.reports import report_parts
from srdice_tf.reports import report_tables
from srdice_tf.reports import run_records

PAGE = 'report.html'
_TEMPLATE = 'report.html'


def write(groups: Sequence[run_records.Group], directory: str) -> str:
  """Writes the report of some experiments; returns the path of its page.

  Args:
    groups: the experiments with their runs.
    directory: gets report.html, and a PNG, CSV or LaTeX file of each figure
      and table.
  """
  os.makedirs(directory, exist_ok=True)
  frames = [run_records.frame(group) for group in groups]
  sections = [
      _section(group, frame, _name(group, number))
      for number, (group, frame) in enumerate(zip(groups, frames))
  ]
  for section in sections:
    for part in (*section['figures'], *section['tables']):
      part.write(directory)
  path = os.path.join(directory, PAGE)
  report_parts.write_text(path, _render(groups, sections))
  return path


def _name(group: run_records.Group, number: int) -> str:
  name = ''.join(c if c.isalnum() else '_' for c in group.name)
  return name or f'runs{number or ""}'


def _section(group, frame: pd.DataFrame, name: str) -> dict:
  figures, shown = [], []
  if len(frame):
    looks = report_curves.styles(frame)
    figures = [
        report_curves.over_settings(group, frame, f'{name}_settings'),
        report_curves.curves(group, frame, f'{name}_curves'),
        aggregates.iqm_figure(frame, looks, f'{name}_iqm'),
        aggregates.profile_figure(frame, looks, f'{name}_profiles'),
        report_curves.run_times(frame, f'{name}_run_time'),
    ]
    shown = [report_tables.of_tasks(frame, looks, f'{name}_table')]
  return {
      'id': name,
      'group': group,
      'figures': [figure for figure in figures if figure],
      'tables': shown,
      'steps': origins.steps_table(group, f'{name}_steps'),
      'commands': origins.commands(group.records),
  }


def _render(groups, sections) -> str:
  environment = jinja2.Environment(
      loader=jinja2.PackageLoader('srdice_tf.reports', 'templates'),
      autoescape=True,
      trim_blocks=True,
      lstrip_blocks=True,
      undefined=jinja2.StrictUndefined,
  )
  return environment.get_template(_TEMPLATE).render(
      title=_title(groups),
      sections=sections,
      num_runs=sum(len(group.records) for group in groups),
      missing=sum(len(group.missing) for group in groups),
      here=origins.here(),
      made=datetime.datetime.now().strftime('%Y-%m-%d %H:%M'),
  )


def _title(groups) -> str:
  if len(groups) == 1:
    return groups[0].title
  return 'Off-policy evaluation: all experiments'
