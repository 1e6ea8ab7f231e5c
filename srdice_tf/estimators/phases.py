"""What a stretch of training is."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf


class Phase(NamedTuple):
  """A stretch of training with one kind of step.

  Attributes:
    name: unique within a run; estimators that share a phase share the object.
    num_steps: how many steps it takes.
    step: draws a minibatch, updates, and returns metrics; traced once.
    prepare: computes what the phase takes as frozen; before its first step,
      and again when a run resumes in it.
    compiled: whether steps run in one compiled call. A closed form is a phase
      of one step that is not compiled; what it solves for are variables.
    cost: about how long a step takes, in transitions that a network with a
      target network is trained on; to foresee the time of phases that have
      not begun.
  """

  name: str
  num_steps: int
  step: Callable[[], dict[str, tf.Tensor]]
  prepare: Callable[[], None] = lambda: None
  compiled: bool = True
  cost: float = 1.0
