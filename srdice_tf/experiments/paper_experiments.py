"""The paper's experiments as data."""

import os

from srdice_tf import environments
from srdice_tf.experiments import designs
from srdice_tf.policies import weights

_METHODS = designs.SR_METHODS + designs.DICE_METHODS
_LOCOMOTION = environments.CONTINUOUS_TASKS[2:]
_GAMES = tuple(
    f'ALE/{game}-v5'
    for game in ('BeamRider', 'Krull', 'Breakout', 'Asterix', 'Pong')
)
# The point of an ablation that is a run of `hard`.
_AS_HARD = designs.Point(task=designs.HARD, of='hard')


def _games(*names: str) -> tuple[str, ...]:
  """Returns the games for which these agents are shipped."""
  paths = lambda game: (
      os.path.join(weights.directory(game), weights.file_name(name))
      for name in names
  )
  return tuple(game for game in _GAMES if all(map(os.path.exists, paths(game))))


def _atari(title: str, setting: str, *agents: str) -> designs.Experiment:
  return designs.Experiment(
      title,
      _METHODS,
      _games(*agents),
      (designs.Point(task={'setting': setting}),),
      num_seeds=3,
  )


def _hard(label: str, **task) -> designs.Point:
  """Returns the hard setting with some of the task changed."""
  return designs.Point(label, {**designs.HARD, **task})


def _representation(inputs: str, is_linear: bool) -> designs.Point:
  kind = 'linear' if is_linear else 'network'
  return designs.Point(
      f'{inputs}_{kind}',
      designs.HARD,
      {'dice_inputs': inputs, 'dice_linear': is_linear},
  )


EXPERIMENTS: dict[str, designs.Experiment] = {
    'hard': designs.Experiment(
        'Continuous control, hard setting',
        _METHODS,
        environments.CONTINUOUS_TASKS,
        (designs.Point(task=designs.HARD),),
    ),
    'easy': designs.Experiment(
        'Continuous control, easy setting',
        _METHODS,
        environments.CONTINUOUS_TASKS,
        (designs.Point(task={'setting': 'easy'}),),
    ),
    'random_rewards': designs.Experiment(
        'Random rewards from the ratios of the hard setting',
        _METHODS,
        _LOCOMOTION,
        (_AS_HARD,),
        num_seeds=5,
        kind=designs.RANDOM_REWARDS,
    ),
    'ablation_size': designs.Experiment(
        'Size of the data set',
        _METHODS,
        points=tuple(
            _hard(f'size{size}', num_transitions=size)
            for size in (5_000, 10_000, 25_000)
        )
        + (_AS_HARD,)
        + tuple(
            _hard(f'size{size}', num_transitions=size)
            for size in (100_000, 250_000)
        ),
    ),
    'ablation_gamma': designs.Experiment(
        'Discount',
        _METHODS,
        points=(
            _hard('gamma0.9', gamma=0.9),
            _hard('gamma0.95', gamma=0.95),
            _AS_HARD,
            _hard('gamma0.995', gamma=0.995),
        ),
    ),
    'ablation_noise': designs.Experiment(
        'Behaviour policy with noise of 0.5 and no uniform actions',
        _METHODS,
        points=(
            _hard('', behaviour_sigma=0.5, uniform_probability=0.0),
        ),
    ),
    'ablation_deterministic': designs.Experiment(
        'Target and behaviour policy without noise',
        _METHODS,
        points=(
            _hard(
                '', target_sigma=0.0, behaviour_sigma=0.0,
                uniform_probability=0.0,
            ),
        ),
    ),
    'representations': designs.Experiment(
        'DualDICE and GradientDICE over phi or psi of SR-DICE',
        designs.DICE_METHODS,
        points=(
            _representation('phi', False),
            _representation('psi', True),
            _representation('phi', True),
            _representation('psi', False),
            _AS_HARD,
        ),
    ),
    'big_networks': designs.Experiment(
        'DualDICE and GradientDICE with one more hidden layer',
        designs.DICE_METHODS,
        points=(
            designs.Point('big', designs.HARD, {'hidden_layers': 3}),
            _AS_HARD,
        ),
    ),
    'run_time': designs.Experiment(
        'Run time',
        _METHODS,
        points=(designs.Point(task=designs.HARD),),
        num_seeds=3,
        is_timed=True,
        # The paper's batches, one step of 25.
        scaled={
            'desk': {
                'encoder_steps': 1_200,
                'successor_steps': 4_000,
                'updates': 10_000,
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
    'chain': designs.Experiment(
        'Ratios on the five-state chain',
        env_ids=('FiveStateChain',),
        num_seeds=1,
        kind=designs.CHAIN,
    ),
}
