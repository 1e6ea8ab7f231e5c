"""Data that were logged elsewhere, with what their source says about them."""

import dataclasses

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from srdice_tf.data import data_specs
from srdice_tf.data import datasets


@dataclasses.dataclass(frozen=True, eq=False)
class Logged:
  """Data from somewhere else, and what their source says about them.

  Attributes:
    dataset: the data.
    observation_spec: of one observation, from the source's own description if
      it has one, else from the data.
    action_spec: of one action, bounded: by the source's own description if it
      has one, else by the smallest and the largest logged action.
    bounds_known: whether the bounds of the actions, or the number of discrete
      ones, are the source's own.
    notes: what was assumed or left out, each a sentence without its full stop.
    env_id: the gymnasium environment that the source names; '' if it names
      none.
    row_numbers: [n] the row of each transition in the source, where steps were
      left out or sorted; None if it is the number of the transition.
  """

  dataset: datasets.Dataset
  observation_spec: tf.TensorSpec
  action_spec: tensor_spec.BoundedTensorSpec
  bounds_known: bool
  notes: tuple[str, ...] = ()
  env_id: str = ''
  row_numbers: np.ndarray | None = None


def described_by_itself(
    dataset: datasets.Dataset, notes: tuple[str, ...] = ()
) -> Logged:
  """Returns data whose source says nothing about spaces and bounds."""
  return Logged(
      dataset=dataset,
      observation_spec=data_specs.observation_spec(dataset),
      action_spec=data_specs.action_spec(dataset),
      bounds_known=False,
      notes=notes,
  )
