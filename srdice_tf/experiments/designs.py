"""What an experiment is: methods, environments, and settings compared.

Experiments are written down at the paper's size; `scales` says how much of it
is run, `planning` writes it out as runs.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

EVALUATIONS, CHAIN, RANDOM_REWARDS = 'evaluations', 'chain', 'random_rewards'
SR_METHODS = 'srdice', 'srdice_closed', 'deep_sr', 'deep_td'
CLOSED_FORMS = 'srdice_lstd', 'linear_srdice', 'dr'
DICE_METHODS = 'dual_dice', 'gradient_dice'
HARD = {'setting': 'hard'}


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
    at: the scales that have this point; () for all.
  """

  label: str = ''
  task: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  algos: tuple[str, ...] = ()
  env_ids: tuple[str, ...] = ()
  of: str = ''
  at: tuple[str, ...] = ()


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
