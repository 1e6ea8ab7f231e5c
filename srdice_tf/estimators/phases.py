"""Phases: the stretches of training that an estimator consists of."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf


class Phase(NamedTuple):
  """A stretch of training with one kind of step.

  Attributes:
    name: unique within a run; estimators that share a phase share the object.
    num_steps: how many steps it takes.
    step: draws a minibatch, updates, and returns metrics; traced once.
    prepare: computes what stays frozen during the phase; called before its
      first step, and again when a run resumes in it.
    compiled: whether steps run in one compiled call. A closed form is a phase
      of one step that is not compiled and that keeps its solution in variables.
    cost: about how long a step takes, to predict the time of phases that have
      not begun. The unit is one transition of a successor step.
  """

  name: str
  num_steps: int
  step: Callable[[], dict[str, tf.Tensor]]
  prepare: Callable[[], None] = lambda: None
  compiled: bool = True
  cost: float = 1.0
