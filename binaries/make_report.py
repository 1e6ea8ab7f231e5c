"""Makes one page of everything that was run below a directory.

  python binaries/make_report.py --runs=runs/hard
  python binaries/make_report.py  # Of the runs that are kept with the package.

The page needs no network and no other file; beside it are the figures as PNG
and the tables as CSV, LaTeX and Markdown.
"""

from srdice_tf import console

console.start(__file__)

import os
import tempfile

from absl import flags

from binaries import cli
from srdice_tf import config_file
from srdice_tf.experiments import campaign
from srdice_tf.experiments import finished_runs
from srdice_tf.reports import catalogue
from srdice_tf.reports import report_page

_RUNS = flags.DEFINE_string(
    'runs', None,
    'Directory of the runs, at any height above them; default: those that are'
    ' kept with the package.',
)
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', None,
    'Directory of the page and its files; default: report, below --runs, or'
    ' runs/kept/report.',
)
_KEPT = os.path.join('runs', 'kept')


def main(_) -> None:
  directory = _OUTPUT_DIR.value or os.path.join(_RUNS.value or _KEPT, 'report')
  ignored = []
  with tempfile.TemporaryDirectory() as kept:
    if _RUNS.value is None:
      ignored = campaign.write_out(kept)
    groups = finished_runs.read(kept if _RUNS.value is None else _RUNS.value)
  config_file.make_directory(directory)
  path = report_page.write(groups, directory)
  for line in ignored:
    print(catalogue.caption(line))
  for group in groups:
    if group.missing:
      print(catalogue.missing(group.name, group.missing))
    for error in group.damaged.values():
      print(catalogue.caption(f'damaged       {error}'))
  print(f'runs          {sum(len(group.records) for group in groups)}')
  print(f'report        {path}')


if __name__ == '__main__':
  cli.run(main)
