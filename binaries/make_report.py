"""Makes one page of everything that was run below a directory.

  python binaries/make_report.py --runs=runs/hard

The page needs no network and no other file; beside it are the figures as PNG
and the tables as CSV and LaTeX.
"""

from srdice_tf import console

console.start(__file__)

import os

from absl import flags

from binaries import cli
from srdice_tf import config_file
from srdice_tf.experiments import finished_runs
from srdice_tf.reports import catalogue
from srdice_tf.reports import report_page

_RUNS = flags.DEFINE_string(
    'runs', None, 'Directory of the runs, at any height above them.',
    required=True,
)
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', None,
    'Directory of the page and its files; default: report, below --runs.',
)


def main(_) -> None:
  groups = finished_runs.read(_RUNS.value)
  directory = _OUTPUT_DIR.value or os.path.join(_RUNS.value, 'report')
  config_file.make_directory(directory)
  path = report_page.write(groups, directory)
  for group in groups:
    for missing in group.missing:
      print(f'missing       {missing}')
    for error in group.damaged.values():
      print(catalogue.caption(f'damaged       {error}'))
  print(f'runs          {sum(len(group.records) for group in groups)}')
  print(f'report        {path}')


if __name__ == '__main__':
  cli.run(main)
