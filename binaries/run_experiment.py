"""Runs an experiment of the paper, as a grid of resumable runs.

  python binaries/run_experiment.py --list
  python binaries/run_experiment.py --experiment=hard

Killed at any moment, the same command resumes.
"""

from srdice_tf import console

console.start(__file__)

import os
import sys

from absl import flags

from binaries import cli
from binaries import common_flags
from srdice_tf import commands
from srdice_tf.experiments import campaign
from srdice_tf.experiments import executors
from srdice_tf.experiments import known_experiments
from srdice_tf.experiments import planning
from srdice_tf.experiments import ray_executor
from srdice_tf.experiments import scales
from srdice_tf.reports import catalogue
from srdice_tf.reports import experiment_findings

_NAMES = ', '.join(known_experiments.EXPERIMENTS)
_EXPERIMENT = flags.DEFINE_string('experiment', None, f'{_NAMES}.')
_LIST = flags.DEFINE_boolean(
    'list', False, 'Only list the experiments with their cost at --scale.'
)
_MATCH = flags.DEFINE_string(
    'match', '',
    'Regular expression in the directories of the runs, such as Hopper.*seed0.',
)
_KEEP = flags.DEFINE_boolean(
    'keep', False,
    'Run nothing, but keep what finished runs found with the package, in'
    ' srdice_tf/experiments/results/runs: other machines take it as done.',
)
_SCALES = ', '.join(f'{name} ({s.words})' for name, s in scales.SCALES.items())
_SCALE = flags.DEFINE_string('scale', 'desk', f'How much is run: {_SCALES}.')
_WORKERS = flags.DEFINE_integer(
    'workers', 0, 'Runs at a time, each on a core; 0 for all cores.', 0, 10_000
)
_EXECUTOR = flags.DEFINE_enum(
    'executor', 'local', ['local', 'ray'],
    'Where runs go: processes of this machine, or tasks of a Ray cluster.',
)
_RAY_ADDRESS = flags.DEFINE_string(
    'ray_address', '',
    'Ray cluster that shares --root and --data_root; default: one of its own.',
)
_ROOT = flags.DEFINE_string(
    'root', os.path.join('runs', 'experiments'),
    'Directory of all experiments, below it one for each scale.',
)
_DATA_ROOT = common_flags.define_data_root()


def main(_) -> int:
  if _LIST.value:
    cores = _WORKERS.value or len(os.sched_getaffinity(0))
    print(catalogue.table(planning.costs_of_all(_SCALE.value, cores), cores))
    return 0
  if _EXPERIMENT.value is None:
    raise flags.Error('flag --experiment must be given; --list shows all')
  if _RAY_ADDRESS.value and _EXECUTOR.value != 'ray':
    raise flags.Error('flag --ray_address plays no part without --executor=ray')
  if _MATCH.value and _KEEP.value:
    raise flags.Error('flag --match plays no part with --keep')
  plan = planning.plan(
      _EXPERIMENT.value, _SCALE.value, _ROOT.value, _DATA_ROOT.value
  )
  print(f'runs in       {plan.directory}')
  print(catalogue.caption(planning.caption(plan)), flush=True)
  if _KEEP.value:
    print(f'kept          {campaign.keep(plan)} runs of {len(plan.entries)}')
    return 0
  command = commands.of(sys.argv[0], sys.argv[1:])
  execute = executors.run_local
  if _EXECUTOR.value == 'ray':
    execute = lambda *args: ray_executor.run_ray(*args, _RAY_ADDRESS.value)
  found = campaign.run(plan, command, _WORKERS.value, execute, _MATCH.value)
  is_of_parts = plan.experiment.num_parts > 1
  print(experiment_findings.text(found.by_label, found.studies, is_of_parts))
  if found.evaluations:
    print(f'all numbers   {found.table}')
  if found.failures:
    print(catalogue.failures(found.failures, plan.directory), flush=True)
  if found.evaluations or found.studies:
    print(f'report        {campaign.write_report(plan)}')
  return 1 if found.failures else 0


if __name__ == '__main__':
  cli.run(main)
