"""How much of an experiment is run, as data: from the paper's to a test."""

from collections.abc import Mapping
import dataclasses
import difflib
from typing import Any

from srdice_tf import errors
from srdice_tf.experiments import designs


@dataclasses.dataclass(frozen=True)
class MethodGroup:
  """Methods that share a run, and with it what they have in common.

  Attributes:
    algos: of which those that an experiment names are run.
    values: their hyper-parameters, beyond the budget's.
  """

  algos: tuple[str, ...]
  values: Mapping[str, Any] = dataclasses.field(default_factory=dict)


_STEPS = 'encoder_steps', 'successor_steps', 'updates'


@dataclasses.dataclass(frozen=True)
class Budget:
  """What runs on one kind of observations may cost.

  Attributes:
    preset: of the hyper-parameters.
    groups: a run for each of them; other methods have a run together.
    values: hyper-parameters, beyond the preset's.
    most_steps: of any phase, whatever an experiment says; 0 for no limit.
    task: fields of the TaskConfig.
    num_transitions: of a data set, if its setting's or fewer; 0 for no limit.
  """

  preset: str = 'paper'
  groups: tuple[MethodGroup, ...] = ()
  values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  most_steps: int = 0
  task: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  num_transitions: int = 0

  def limited(self, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns hyper-parameters with no more steps than the budget has."""
    most = self.most_steps
    return {
        name: min(value, most) if most and name in _STEPS else value
        for name, value in values.items()
    }


@dataclasses.dataclass(frozen=True)
class Scale:
  """How much of the paper's numbers is run.

  Attributes:
    words: what it is for.
    vectors: budget of runs on vectors.
    frames: budget of runs on frames.
    chain: fields of the ChainConfig.
    rewards: fields of the random rewards' config.
    max_seeds: of each run.
    more_seeds: the same of some experiments, by name.
    max_points: settings of an experiment, the first ones.
    max_envs: environments of an experiment, the first ones.
    max_parts: of a data set.
    fewer_transitions: divides the sizes that experiments name.
  """

  words: str
  vectors: Budget
  frames: Budget
  chain: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  rewards: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  max_seeds: int = 10
  more_seeds: Mapping[str, int] = dataclasses.field(default_factory=dict)
  max_points: int = 100
  max_envs: int = 100
  max_parts: int = 100
  fewer_transitions: int = 1


_SR = *designs.SR_METHODS, *designs.CLOSED_FORMS
_DICE = designs.DICE_METHODS
_APART = MethodGroup(_SR), MethodGroup(_DICE)
# With the printed rates psi and w would be only half-way there.
_HASTE = {
    'encoder_steps': 10_000,
    'successor_steps': 20_000,
    'updates': 15_000,
    'learning_rate': 1e-3,
    'ratio_learning_rate': 5e-3,
    'tau': 0.02,
}
# The same with frames: tau lets psi see 400 steps ahead, as 0.005 does in the
# paper's 100,000 updates.
_FRAMES_HASTE = {
    'encoder_steps': 4_000,
    'successor_steps': 4_000,
    'updates': 4_000,
    'learning_rate': 2.5e-4,
    'ratio_learning_rate': 3e-3,
    'tau': 0.1,
}
# DualDICE and GradientDICE with frames have the printed rates.
_PRINTED_EPSILON = {'adam_epsilon': 1.5e-4}
# What most of the paper's claims are about.
_MORE_SEEDS = {'hard': 5, 'random_rewards': 5}
# Three left most claims of these open.
_MORE_SHORT_SEEDS = dict.fromkeys(
    ('ablation_gamma', 'ablation_noise', 'representations', 'big_networks'), 5
)
_TINY = {
    'encoder_steps': 20,
    'successor_steps': 20,
    'updates': 20,
    'num_features': 16,
    'hidden_units': 16,
    'batch_size': 32,
    'ratio_batch_size': 32,
    'start_pool': 64,
    'bootstrap_draws': 20,
}
_TINY_TASK = {'truth_episodes': 2}

SCALES: dict[str, Scale] = {
    'paper': Scale(
        "the paper's numbers",
        Budget(groups=_APART, task={'truth_episodes': 100}),
        Budget(groups=_APART, task={'truth_episodes': 100}),
    ),
    'desk': Scale(
        'what two cores do in hours to days',
        Budget(
            groups=(
                MethodGroup(_SR),
                MethodGroup(_DICE, {'ratio_batch_size': 256}),
            )
        ),
        Budget(
            preset='fixed',
            groups=(MethodGroup(_SR), MethodGroup(_DICE, _PRINTED_EPSILON)),
            values={
                **_FRAMES_HASTE,
                'encoder_steps': 5_000,
                'successor_steps': 20_000,
                'updates': 20_000,
                'tau': 0.02,
            },
            task={'truth_episodes': 100},
            num_transitions=200_000,
        ),
        # A fifth of the paper's: the mean over them is known to 0.2.
        rewards={'num_rewards': 200},
        max_seeds=3,
        more_seeds=_MORE_SEEDS,
    ),
    'short': Scale(
        'every figure in a day: few updates, DICE with small networks',
        Budget(
            groups=(
                MethodGroup(_SR, _HASTE),
                # Rates as printed. Over phi or psi, both are made in haste.
                MethodGroup(
                    _DICE,
                    {
                        **_HASTE,
                        'updates': 30_000,
                        'ratio_batch_size': 256,
                        'num_features': 128,
                        'hidden_units': 128,
                    },
                ),
            ),
        ),
        Budget(
            preset='fixed',
            groups=(MethodGroup(_SR), MethodGroup(_DICE, _PRINTED_EPSILON)),
            values=_FRAMES_HASTE,
            task={'truth_episodes': 100},
            num_transitions=200_000,
        ),
        rewards={'num_rewards': 200},
        max_seeds=3,
        more_seeds={**_MORE_SEEDS, **_MORE_SHORT_SEEDS},
    ),
    'smoke': Scale(
        'the whole path in two minutes, no result',
        Budget(
            groups=(MethodGroup(_SR + _DICE),),
            values=_TINY,
            most_steps=20,
            task=_TINY_TASK,
            num_transitions=1_000,
        ),
        Budget(
            preset='quick',
            groups=(MethodGroup(_SR + _DICE),),
            values={
                **_TINY,
                'encoder_steps': 2,
                'successor_steps': 2,
                'updates': 2,
                'batch_size': 4,
                'ratio_batch_size': 4,
                'second_filters': 8,
            },
            task=_TINY_TASK,
            num_transitions=200,
        ),
        chain={'num_trials': 2, 'num_steps': 200},
        rewards={'num_rewards': 20, 'num_trajectories': 2},
        max_seeds=1,
        max_points=2,
        max_envs=1,
        max_parts=3,
        fewer_transitions=10,
    ),
}


def scale(name: str) -> Scale:
  """Returns a scale by its name.

  Raises:
    UserError: if there is none of that name.
  """
  if name in SCALES:
    return SCALES[name]
  near = difflib.get_close_matches(name, SCALES, n=1)
  advice = f'; the nearest is {near[0]}' if near else ''
  raise errors.UserError(
      'scale', name, f'there are {", ".join(SCALES)}{advice}'
  )
