"""The report: one HTML file without outside references, and files beside it."""

from collections.abc import Sequence
import datetime
import os

import jinja2
import pandas as pd

from srdice_tf.reports import aggregates
from srdice_tf.reports import claim_rules
from srdice_tf.reports import judged_claims
from srdice_tf.reports import origins
from srdice_tf.reports import range_table
from srdice_tf.reports import report_curves
from srdice_tf.reports import report_parts
from srdice_tf.reports import report_studies
from srdice_tf.reports import report_tables
from srdice_tf.reports import run_records

PAGE = 'report.html'
# The largest comes first; a test of the path decides nothing beside others.
_NO_RESULT = 'smoke'
_SCALES = 'paper', 'desk', 'short', '', _NO_RESULT
# The order of sections; what is not here comes after.
_ORDER = (
    'hard', 'easy', 'random_rewards', 'ablation_size', 'ablation_gamma',
    'ablation_noise', 'ablation_deterministic', 'representations',
    'big_networks', 'run_time', 'atari_main', 'atari_noise', 'atari_separate',
    'chain',
)


def write(groups: Sequence[run_records.Group], directory: str) -> str:
  """Writes the report of some experiments; returns the path of its page.

  Args:
    groups: the experiments with their runs.
    directory: gets report.html, and a PNG, CSV or LaTeX file of each figure
      and table.
  """
  os.makedirs(directory, exist_ok=True)
  groups, sections, judged = _content(groups)
  for section in sections:
    for part in (*section['figures'], *section['tables']):
      part.write(directory)
    if section['steps']:
      section['steps'].write(directory)
  verdicts = _verdicts(judged)
  verdicts.write(directory)
  for each in judged:
    if each.table:
      each.table.write(directory)
  page = _render(
      title=_title(groups),
      sections=sections,
      judged=[each for each in judged if each.table],
      silent=[each for each in judged if not each.table],
      verdicts=verdicts,
      num_runs=sum(len(group.records) for group in groups),
      num_missing=sum(len(group.missing) for group in groups),
      num_damaged=sum(len(group.damaged) for group in groups),
      here=origins.here(),
      made=datetime.datetime.now().strftime('%Y-%m-%d %H:%M'),
  )
  path = os.path.join(directory, PAGE)
  report_parts.write_text(path, page)
  return path


def tables(
    groups: Sequence[run_records.Group],
) -> list[report_parts.ReportTable]:
  """Returns all tables of a report, and those behind its figures."""
  _, sections, judged = _content(groups)
  behind = [part.table for each in sections for part in each['figures']]
  shown = [table for each in sections for table in each['tables']]
  found = [*behind, *shown, _verdicts(judged), *(j.table for j in judged)]
  return [table for table in found if table]


def _content(groups: Sequence[run_records.Group]):
  """Returns groups in order, their sections, and the judged claims."""
  groups = sorted(groups, key=_rank)
  frames = [run_records.frame(group) for group in groups]
  names = _names(groups)
  sections = [_section(*each) for each in zip(groups, frames, names)]
  return groups, sections, _judged(groups, frames)


def _rank(group: run_records.Group) -> int:
  known = group.name in _ORDER
  return _ORDER.index(group.name) if known else len(_ORDER) + (not group.name)


def _names(groups: Sequence[run_records.Group]) -> list[str]:
  """Returns a name for the files of each group, no two the same."""
  plain = [
      ''.join(c if c.isalnum() else '_' for c in group.name) or 'runs'
      for group in groups
  ]
  return [
      f'{name}_{group.scale or number}' if plain.count(name) > 1 else name
      for number, (name, group) in enumerate(zip(plain, groups))
  ]


def _title(groups) -> str:
  if len(groups) == 1:
    return groups[0].title
  return 'Off-policy evaluation: all experiments'


def _section(group, frame: pd.DataFrame, name: str) -> dict:
  """Returns what the template shows of an experiment."""
  figures, shown = [], []
  if 'chain' in group.tables:
    chain = group.tables['chain']
    figures.append(report_studies.of_chain(chain, f'{name}_ratios'))
  if 'random_rewards' in group.tables:
    rewards = report_studies.told_apart(group.tables['random_rewards'])
    figures.append(report_studies.of_rewards(rewards, f'{name}_errors'))
    looks = report_studies.reward_styles(rewards)
    shown.append(
        report_tables.rewards_by_task(rewards, looks, f'{name}_log_mse')
    )
  if len(frame):
    looks = report_curves.styles(frame)
    figures += [
        report_curves.over_settings(group, frame, f'{name}_settings'),
        report_curves.curves(group, frame, f'{name}_curves'),
        aggregates.iqm_figure(frame, looks, f'{name}_iqm'),
        aggregates.profile_figure(frame, looks, f'{name}_profiles'),
        report_curves.run_times(frame, f'{name}_run_time'),
    ]
    shown += [
        report_tables.by_task(frame, looks, f'{name}_by_task'),
        report_tables.of_methods(frame, looks, f'{name}_methods'),
        range_table.of_runs(group.records, f'{name}_ranges'),
        report_tables.of_tasks(frame, looks, f'{name}_table'),
    ]
  return {
      'id': name,
      'group': group,
      'figures': [figure for figure in figures if figure],
      'tables': [table for table in shown if table],
      'steps': origins.steps_table(group, f'{name}_steps'),
      'commands': origins.run_commands(group.records),
      'origins': origins.of_runs(group),
  }


def _judged(groups, frames) -> list[judged_claims.JudgedClaim]:
  """Returns the claims, each comparison by the largest scale that can."""
  has_runs = [g.scale for g in groups if g.records or g.tables]
  known = [scale for scale in _SCALES if scale in has_runs] or has_runs[:1]
  if len(known) > 1 and known[-1] == _NO_RESULT:
    known.pop()
  pairs = list(zip(groups, frames))
  return judged_claims.judge({
      scale: _evidence([each for each in pairs if each[0].scale == scale])
      for scale in known
  })


def _evidence(pairs) -> claim_rules.Evidence:
  """Returns what groups of one scale, with their frames, say."""
  tables = {}
  for group, _ in pairs:
    if group.name and group.name not in _ORDER:
      continue  # Ours: the paper's claims are of its experiments.
    for kind, table in group.tables.items():
      tables.setdefault(kind, []).append(table)
  return claim_rules.Evidence(
      _joined([frame for _, frame in pairs if len(frame)]),
      {kind: pd.concat(each) for kind, each in tables.items()},
  )


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
  """Returns frames below each other; some lack all values of a column."""
  return pd.DataFrame([
      row for frame in frames for row in frame.to_dict('records')
  ])


def _verdicts(judged) -> report_parts.ReportTable:
  rows = [
      [
          each.claim.words, each.claim.where, each.verdict,
          each.scale if each.table else '-', each.answers or '-',
      ]
      for each in judged
  ]
  columns = 'claim', 'where', 'verdict', 'scale', 'comparisons'
  return report_parts.ReportTable('claims', columns, rows, 'All claims.')


def _render(**content) -> str:
  environment = jinja2.Environment(
      loader=jinja2.PackageLoader('srdice_tf.reports', 'templates'),
      autoescape=True,
      trim_blocks=True,
      lstrip_blocks=True,
      undefined=jinja2.StrictUndefined,
  )
  return environment.get_template(PAGE).render(**content)
