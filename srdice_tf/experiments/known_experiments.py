"""The experiments as data: those of the paper, and ours beyond it.

They are written down at the paper's size; `scales` says how much of it is run,
`planning` writes it out as runs.
"""

from collections.abc import Mapping
import dataclasses
import difflib
import os
from typing import Any

from srdice_tf import commands
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.experiments import grids
from srdice_tf.policies import loading
from srdice_tf.policies import weights

EVALUATIONS, CHAIN, RANDOM_REWARDS = 'evaluations', 'chain', 'random_rewards'


@dataclasses.dataclass(frozen=True)
class Point:
  """One setting of an experiment.

  Attributes:
    label: names its directory; '' if the experiment has but one setting.
    task: fields of the TaskConfig.
    values: hyper-parameters.
    algos: estimators; () for those of the experiment.
    env_ids: environments; () for those of the experiment.
    of: the experiment whose runs these are, with the same task and methods:
      they are kept in its directory and done once.
    only: the scale that has this point; '' for all.
    max_seeds: if fewer than the experiment's.
  """

  label: str = ''
  task: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  algos: tuple[str, ...] = ()
  env_ids: tuple[str, ...] = ()
  of: str = ''
  only: str = ''
  max_seeds: int = 10


@dataclasses.dataclass(frozen=True)
class Experiment:
  """An experiment of the paper, or one like them.

  Attributes:
    title: of its figure.
    algos: estimators.
    env_ids: environments.
    points: settings that are compared.
    num_seeds: of the paper.
    num_parts: into which one data set is cut; see RunConfig.
    kind: of its runs: evaluations, the chain, or random rewards from the
      ratios of the evaluations at its points.
    is_timed: whether its runs are measured, so that one runs at a time.
    scaled: hyper-parameters that a scale has for this experiment only.
  """

  title: str
  algos: tuple[str, ...] = ()
  env_ids: tuple[str, ...] = ('HalfCheetah-v4',)
  points: tuple[Point, ...] = (Point(),)
  num_seeds: int = 10
  num_parts: int = 1
  kind: str = EVALUATIONS
  is_timed: bool = False
  scaled: Mapping[str, Mapping[str, Any]] = dataclasses.field(
      default_factory=dict
  )


SR_METHODS = 'srdice', 'srdice_closed', 'deep_sr', 'deep_td'
CLOSED_FORMS = 'srdice_lstd', 'linear_srdice', 'dr'
DICE_METHODS = 'dual_dice', 'gradient_dice'
_OF_PSI = 'srdice_closed', 'srdice_lstd'
_METHODS = SR_METHODS + DICE_METHODS
_SHORT = environments.CONTINUOUS_TASKS[:2]
_LOCOMOTION = environments.CONTINUOUS_TASKS[2:]
_GAMES = tuple(
    f'ALE/{game}-v5'
    for game in ('BeamRider', 'Krull', 'Breakout', 'Asterix', 'Pong')
)
_HARD = {'setting': 'hard'}
_FAST = {  # Small networks, high rates: half a minute on one core.
    'hidden_units': 128, 'num_features': 128, 'ratio_batch_size': 512,
    'encoder_steps': 2_000, 'successor_steps': 6_000, 'updates': 6_000,
    'learning_rate': 1e-3, 'ratio_learning_rate': 5e-3, 'tau': 0.04,
}
# The point of an ablation that is a run of `hard`.
_AS_HARD = Point(task=_HARD, of='hard')


def _games(*names: str) -> tuple[str, ...]:
  """Returns the games for which these agents are shipped."""
  paths = lambda game: (
      os.path.join(weights.directory(game), weights.file_name(name))
      for name in names
  )
  return tuple(game for game in _GAMES if all(map(os.path.exists, paths(game))))


def _atari(title: str, setting: str, *agents: str) -> Experiment:
  return Experiment(
      title,
      _METHODS,
      _games(*agents),
      (Point(task={'setting': setting}),),
      num_seeds=3,
  )


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
    yield Point(label, task, env_ids=env_ids)


def _representation(inputs: str, is_linear: bool) -> Point:
  kind = 'linear' if is_linear else 'network'
  return Point(
      f'{inputs}_{kind}',
      _HARD,
      {'dice_inputs': inputs, 'dice_linear': is_linear},
  )


def _doubly_robust(ratio: str) -> Point:
  return Point(f'dr_{ratio}', _HARD, {'dr_ratio': ratio}, ('dr',))


_CLOSED_FORMS = (
    Point(task=_HARD, algos=SR_METHODS, of='hard'),
    Point('closed', _HARD, algos=CLOSED_FORMS),
)


def _schedules():
  """Yields ever longer schedules of psi: as printed, and with higher rates.

  Those of the same kind go on from one another.
  """
  fast = {'encoder_steps': 10_000, 'learning_rate': 1e-3, 'tau': 0.02}
  for name, values in (('paper', {}), ('fast', fast)):
    for steps in (5_000, 10_000, 20_000, 50_000, 100_000):
      changes = {**values, 'successor_steps': steps}
      yield Point(f'{name}{steps}', _HARD, changes, _OF_PSI)


def _value_schedules():
  """Yields ever longer schedules of Q, on the same psi."""
  for updates in (5_000, 10_000, 25_000, 50_000, 100_000, 250_000):
    yield Point(f'q{updates}', _HARD, {'updates': updates}, ('dr',))


EXPERIMENTS: dict[str, Experiment] = {
    'hard': Experiment(
        'Continuous control, hard setting',
        _METHODS,
        environments.CONTINUOUS_TASKS,
        (
            Point(task=_HARD),
            # Whether a smaller batch changes the answer.
            Point(
                'batch2048',
                _HARD,
                {'ratio_batch_size': 2048},
                DICE_METHODS,
                ('HalfCheetah-v4',),
                only='desk',
                max_seeds=1,
            ),
        ),
    ),
    'easy': Experiment(
        'Continuous control, easy setting',
        _METHODS,
        environments.CONTINUOUS_TASKS,
        (Point(task={'setting': 'easy'}),),
    ),
    'random_rewards': Experiment(
        'Random rewards from the ratios of the hard setting',
        _METHODS,
        _LOCOMOTION,
        (_AS_HARD,),
        num_seeds=5,
        kind=RANDOM_REWARDS,
    ),
    'ablation_size': Experiment(
        'Size of the data set',
        _METHODS,
        points=tuple(
            Point(f'size{size}', {**_HARD, 'num_transitions': size})
            for size in (5_000, 10_000, 25_000)
        )
        + (_AS_HARD,)
        + tuple(
            Point(f'size{size}', {**_HARD, 'num_transitions': size})
            for size in (100_000, 250_000)
        ),
    ),
    'ablation_gamma': Experiment(
        'Discount',
        _METHODS,
        points=(
            Point('gamma0.9', {**_HARD, 'gamma': 0.9}),
            Point('gamma0.95', {**_HARD, 'gamma': 0.95}),
            _AS_HARD,
            Point('gamma0.995', {**_HARD, 'gamma': 0.995}),
        ),
    ),
    'ablation_noise': Experiment(
        'Behaviour policy with noise of 0.5 and no uniform actions',
        _METHODS,
        points=(
            Point(
                task={
                    **_HARD, 'behaviour_sigma': 0.5, 'uniform_probability': 0.0
                }
            ),
        ),
    ),
    'ablation_deterministic': Experiment(
        'Target and behaviour policy without noise',
        _METHODS,
        points=(
            Point(
                task={
                    **_HARD,
                    'target_sigma': 0.0,
                    'behaviour_sigma': 0.0,
                    'uniform_probability': 0.0,
                }
            ),
        ),
    ),
    'representations': Experiment(
        'DualDICE and GradientDICE over phi or psi of SR-DICE',
        DICE_METHODS,
        points=(
            _representation('phi', False),
            _representation('psi', True),
            _representation('phi', True),
            _representation('psi', False),
            _AS_HARD,
        ),
    ),
    'big_networks': Experiment(
        'DualDICE and GradientDICE with one more hidden layer',
        DICE_METHODS,
        points=(
            Point('big', _HARD, {'hidden_layers': 3}),
            _AS_HARD,
        ),
    ),
    'run_time': Experiment(
        'Run time',
        _METHODS,
        points=(Point(task=_HARD),),
        num_seeds=3,
        is_timed=True,
        # The paper's batches, a tenth of its updates.
        scaled={
            'desk': {
                'encoder_steps': 3_000,
                'successor_steps': 10_000,
                'updates': 25_000,
                'ratio_batch_size': 2048,
            }
        },
    ),
    'atari_main': _atari('Atari', 'main', weights.BEST),
    'atari_noise': _atari(
        'Atari, noisier behaviour policy', 'noise', weights.BEST
    ),
    'atari_separate': _atari(
        'Atari, behaviour policy of another agent',
        'separate',
        weights.BEST,
        weights.SEPARATE,
    ),
    'chain': Experiment(
        'Ratios on the five-state chain',
        env_ids=('FiveStateChain',),
        num_seeds=1,
        kind=CHAIN,
    ),
    'coverage': Experiment(
        'How often the intervals of linear SR-DICE hold the truth',
        ('linear_srdice',),
        ('Pendulum-v1',),
        (
            Point(
                task={
                    **_HARD,
                    'num_transitions': 10_000,
                    'truth_max_episodes': 2_000,
                },
                values={'linear_num_features': 256, 'linear_ridge': 1e-4},
            ),
        ),
        num_seeds=1,
        num_parts=grids.COVERAGE.num_parts,
    ),
    'linear_study': Experiment(
        'Linear SR-DICE, its settings chosen by the flow residual',
        ('linear_srdice',),
        grids.STUDY.env_ids,
        (Point(task=_HARD, values={'select': 'flow'}),),
        num_seeds=grids.STUDY.num_seeds,
    ),
    'beyond': Experiment(
        'Closed forms and doubly robust sums beside SR-DICE',
        SR_METHODS + CLOSED_FORMS,
        environments.CONTINUOUS_TASKS,
        (
            *_CLOSED_FORMS,
            *map(_doubly_robust, ('srdice_closed', 'srdice', 'linear_srdice')),
        ),
        num_seeds=3,
    ),
    'beyond_rewards': Experiment(
        'Random rewards from ratios in closed form',
        SR_METHODS + CLOSED_FORMS,
        environments.CONTINUOUS_TASKS,
        tuple(
            dataclasses.replace(p, of=p.of or 'beyond') for p in _CLOSED_FORMS
        ),
        num_seeds=3,
        kind=RANDOM_REWARDS,
    ),
    'schedules': Experiment(
        'How short schedules of psi and Q may be',
        (*_OF_PSI, 'dr'),
        environments.CONTINUOUS_TASKS,
        (*_schedules(), *_value_schedules()),
        num_seeds=3,
    ),
    'schedules_rewards': Experiment(
        'Random rewards after short schedules of psi',
        _OF_PSI,
        environments.CONTINUOUS_TASKS,
        tuple(dataclasses.replace(p, of='schedules') for p in _schedules()),
        num_seeds=3,
        kind=RANDOM_REWARDS,
    ),
    'ranges': Experiment(
        'How often the ranges of dr hold the truth',
        ('dr',),
        environments.CONTINUOUS_TASKS,
        (
            Point(
                task={**_HARD, 'num_transitions': 20_000},
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
    'verdict': Experiment(
        'Whether verdicts are right, on policies of four strengths',
        ('srdice', 'srdice_closed', 'deep_td', 'linear_srdice'),
        # Returns of the short tasks differ more between start states.
        points=(*_checkpoints(_LOCOMOTION, 30), *_checkpoints(_SHORT, 200)),
        num_seeds=1, scaled={'desk': _FAST},
    ),
}


def experiment(name: str) -> Experiment:
  """Returns an experiment by its name.

  Raises:
    UserError: if there is none of that name; the nearest are named.
  """
  if name in EXPERIMENTS:
    return EXPERIMENTS[name]
  near = difflib.get_close_matches(name, EXPERIMENTS, n=3, cutoff=0.4)
  others = f'{"the nearest" if near else "there"} are'
  others += f' {", ".join(near or EXPERIMENTS)}'
  advice = f'{others}; see {commands.line("run_experiment", list=True)}'
  expected = f'there is no such experiment; {advice}'
  raise errors.UserError('experiment', name, expected)
