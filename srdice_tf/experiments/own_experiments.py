"""Experiments beyond the paper's, as data."""

import dataclasses

from srdice_tf import environments
from srdice_tf.experiments import designs
from srdice_tf.experiments import grids
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.policies import weights

_OF_PSI = 'srdice_closed', 'srdice_lstd'
_SHORT = environments.CONTINUOUS_TASKS[:2]
_LOCOMOTION = environments.CONTINUOUS_TASKS[2:]
_FAST = {  # Small networks, high rates: half a minute on one core.
    'hidden_units': 128, 'num_features': 128, 'ratio_batch_size': 512,
    'encoder_steps': 2_000, 'successor_steps': 6_000, 'updates': 6_000,
    'learning_rate': 1e-3, 'ratio_learning_rate': 5e-3, 'tau': 0.04,
}


def _checkpoints(env_ids: tuple[str, ...], truth_episodes: int):
  """Yields shipped policies, on their own data; at last on a weak one's."""
  names = 'weak', 'medium', 'good', weights.BEST
  cases = [(name, s, name) for name in names for s in ('hard', 'easy')]
  for name, setting, logged in (*cases, (weights.BEST, 'hard', 'weak')):
    label = f'{name}_{setting}' + (f'_of_{logged}' if logged != name else '')
    task = {'setting': setting, 'num_transitions': 20_000}
    task['policy'] = f'{loading.PRETRAINED}:{name}'
    task['behaviour_policy'] = f'{loading.PRETRAINED}:{logged}'
    task['truth_episodes'] = truth_episodes
    yield designs.Point(label, task, env_ids=env_ids)


def _hard(label: str, *algos: str, **values) -> designs.Point:
  return designs.Point(label, designs.HARD, values, algos)


def _behaviour_parts():
  """Yields the hard setting with one part of its behaviour policy's noise."""
  for label, values in (
      ('gaussian', {'uniform_probability': 0.0}),
      ('uniform', {'behaviour_sigma': settings.TARGET_SIGMA}),
  ):
    yield designs.Point(label, {**designs.HARD, **values})
  yield designs.Point(task=designs.HARD, of='hard')


def _large_batches():
  """Yields the paper's minibatches where a scale has smaller ones.

  Each method is a run of its own: they take long, and are kept when done.
  """
  for algo in designs.DICE_METHODS:
    yield dataclasses.replace(
        _hard('batch2048', algo, ratio_batch_size=2048),
        at=('desk', 'short', 'smoke'),
    )


def _variants():
  """Yields other ways to make ratios and doubly robust sums of the same."""
  for ratio in ('srdice_closed', 'srdice', 'linear_srdice'):
    yield _hard(f'dr_{ratio}', 'dr', dr_ratio=ratio)
  yield _hard('dr_normalised', 'dr', dr_normalised=True)
  yield _hard('mass', 'srdice_closed', closed_mass='flow')


_CLOSED_FORMS = (
    designs.Point(task=designs.HARD, algos=designs.SR_METHODS, of='hard'),
    _hard('closed', *designs.CLOSED_FORMS),
)


def _schedules():
  """Yields ever longer schedules of psi: as printed, and with higher rates.

  Those of the same kind go on from one another.
  """
  fast = {'encoder_steps': 10_000, 'learning_rate': 1e-3, 'tau': 0.02}
  for name, values in (('paper', {}), ('fast', fast)):
    for steps in (5_000, 10_000, 20_000, 50_000, 100_000):
      changes = {**values, 'successor_steps': steps}
      yield _hard(f'{name}{steps}', *_OF_PSI, **changes)


# All parts of dr, trained for half a minute.
_SMALL = _hard('small', *_OF_PSI, 'deep_td', 'dr', **_FAST)


def _value_schedules():
  """Yields ever longer schedules of Q, on the same psi."""
  for updates in (5_000, 10_000, 25_000, 50_000, 100_000, 250_000):
    yield _hard(f'q{updates}', 'dr', updates=updates)


EXPERIMENTS: dict[str, designs.Experiment] = {
    'coverage': designs.Experiment(
        'How often the intervals of linear SR-DICE hold the truth',
        ('linear_srdice',),
        ('Pendulum-v1',),
        (
            designs.Point(
                task={
                    **designs.HARD,
                    'num_transitions': 10_000,
                    'truth_max_episodes': 2_000,
                },
                values={'linear_num_features': 256, 'linear_ridge': 1e-4},
            ),
        ),
        num_seeds=1,
        num_parts=grids.COVERAGE.num_parts,
    ),
    'linear_study': designs.Experiment(
        'Linear SR-DICE, its settings chosen by the flow residual',
        ('linear_srdice',),
        grids.STUDY.env_ids,
        (designs.Point(task=designs.HARD, values={'select': 'flow'}),),
        num_seeds=grids.STUDY.num_seeds,
    ),
    'beyond': designs.Experiment(
        'Closed forms and doubly robust sums beside SR-DICE',
        designs.SR_METHODS + designs.CLOSED_FORMS,
        environments.CONTINUOUS_TASKS,
        (*_CLOSED_FORMS, *_variants()),
        num_seeds=3,
    ),
    'beyond_rewards': designs.Experiment(
        'Random rewards from ratios in closed form',
        designs.SR_METHODS + designs.CLOSED_FORMS,
        environments.CONTINUOUS_TASKS,
        tuple(
            dataclasses.replace(p, of=p.of or 'beyond') for p in _CLOSED_FORMS
        ),
        num_seeds=3,
        kind=designs.RANDOM_REWARDS,
    ),
    'schedules': designs.Experiment(
        'How short schedules of psi and Q may be',
        (*_OF_PSI, 'deep_td', 'dr'),
        environments.CONTINUOUS_TASKS,
        (_SMALL, *_schedules(), *_value_schedules()),
        num_seeds=3,
    ),
    'schedules_rewards': designs.Experiment(
        'Random rewards after short schedules of psi',
        _OF_PSI,
        environments.CONTINUOUS_TASKS,
        tuple(
            dataclasses.replace(p, of='schedules')
            for p in (_SMALL, *_schedules())
        ),
        num_seeds=3,
        kind=designs.RANDOM_REWARDS,
    ),
    'ranges': designs.Experiment(
        'How often the ranges of dr hold the truth',
        ('dr',),
        environments.CONTINUOUS_TASKS,
        (
            designs.Point(
                task={**designs.HARD, 'num_transitions': 20_000},
                values={
                    'value_members': 5,
                    'dr_range_ratios': 'srdice_closed,linear_srdice',
                },
            ),
        ),
        num_seeds=1,
        num_parts=10,
        scaled={'desk': _FAST},
    ),
    'folds': designs.Experiment(
        'Whether dr gains by ratios and Q of other episodes',
        ('dr',),
        environments.CONTINUOUS_TASKS,
        tuple(_hard(f'folds{n}', 'dr', dr_folds=n) for n in (1, 2)),
        num_seeds=3,
        scaled={'desk': _FAST},
    ),
    'batch_size': designs.Experiment(
        'DualDICE and GradientDICE in minibatches of 256 and 2,048',
        designs.DICE_METHODS,
        points=(
            designs.Point(task=designs.HARD, of='hard'),
            *_large_batches(),
        ),
        num_seeds=3,
    ),
    'behaviour_parts': designs.Experiment(
        'Which part of the hard behaviour policy hurts psi',
        designs.SR_METHODS,
        ('Reacher-v4', 'Ant-v4'),
        tuple(_behaviour_parts()),
        num_seeds=3,
    ),
    'verdict': designs.Experiment(
        'Whether verdicts are right, on policies of four strengths',
        ('srdice', 'srdice_closed', 'deep_td', 'linear_srdice'),
        # Returns of the short tasks differ more between start states.
        points=(*_checkpoints(_LOCOMOTION, 30), *_checkpoints(_SHORT, 200)),
        num_seeds=1, scaled={'desk': _FAST},
    ),
}
