"""Fields that the configs of several methods have in common.

Each method has a config of its own beside it, put together from these and from
fields of its own. A field is defined once, with its range and its description;
the defaults are the paper's for continuous control.
"""

from collections.abc import Callable
import dataclasses

from srdice_tf import limits
from srdice_tf import ranges


@dataclasses.dataclass(frozen=True)
class MethodConfig:
  """A config that checks its fields when it is made."""

  def __post_init__(self):
    ranges.check(self)
    for name, bytes_of in self.needed_bytes().items():
      limits.check_memory(name, getattr(self, name), bytes_of)

  def needed_bytes(self) -> dict[str, Callable[[int], int]]:
    """Returns how many bytes a value of a field takes at least, by field."""
    return {}


@dataclasses.dataclass(frozen=True)
class Networks(MethodConfig):
  """Networks from (s, a).

  Attributes:
    hidden_layers: Number of hidden layers of psi, Q, f and w; without frames
      phi is the last layer of a network of the same depth.
    hidden_units: Units of each hidden layer; with frames these layers follow
      the convolutions.
    pixel_scale: Number that pixels are divided by.
    second_filters: Filters of the second convolution; the paper prints 32.
  """

  hidden_layers: int = ranges.between(1, 16, 2)
  hidden_units: int = ranges.at_least(1, 256)
  pixel_scale: float = ranges.positive(255.0)
  second_filters: int = ranges.at_least(1, 64)

  def needed_bytes(self):
    layers = self.hidden_layers
    return {
        **super().needed_bytes(),
        # Weights, gradients and Adam's two means, in float32.
        'hidden_units': lambda units: 16 * units * (1 + (layers - 1) * units),
        # Their kernels are of 4 x 4 pixels and the 32 filters before them.
        'second_filters': lambda filters: 16 * filters * 4 * 4 * 32,
    }

  def bytes_of_batch(self, size: int) -> int:
    """Returns the size of the layers' outputs and their gradients."""
    return 8 * size * self.hidden_layers * self.hidden_units


@dataclasses.dataclass(frozen=True)
class AdamEpsilon(MethodConfig):
  """Adam.

  Attributes:
    adam_epsilon: Epsilon of Adam.
  """

  adam_epsilon: float = ranges.positive(1e-8)


@dataclasses.dataclass(frozen=True)
class LearningRate(AdamEpsilon):
  """Adam with the rate of most networks.

  Attributes:
    learning_rate: Learning rate of encoder, psi, Q and w of SR-DICE and Deep
      SR.
  """

  learning_rate: float = ranges.positive(3e-4)


@dataclasses.dataclass(frozen=True)
class Minibatches(MethodConfig):
  """Minibatches of networks that learn by TD.

  Attributes:
    batch_size: Transitions in a minibatch of encoder, psi and Q.
  """

  batch_size: int = ranges.at_least(1, 256)


@dataclasses.dataclass(frozen=True)
class SuccessorSteps(MethodConfig):
  """How long a successor representation is learned.

  Attributes:
    successor_steps: T2, the updates of the successor representation psi.
  """

  successor_steps: int = ranges.at_least(0, 100_000)


@dataclasses.dataclass(frozen=True)
class TargetNetworks(Networks, LearningRate, Minibatches):
  """A network that is trained towards a slower copy of itself.

  Attributes:
    tau: Rate of the target networks' Polyak average.
    target_interval: Updates between two copies to the target networks; 0 for
      the average with tau.
  """

  tau: float = ranges.rate(0.005)
  target_interval: int = ranges.at_least(0, 0)

  def needed_bytes(self):
    return {**super().needed_bytes(), 'batch_size': self.bytes_of_batch}


@dataclasses.dataclass(frozen=True)
class StartPool(MethodConfig):
  """Pairs (s0, a0) that are drawn once.

  Attributes:
    start_pool: Number of start pairs (s0, a0) that are drawn once, for w of
      SR-DICE and Deep SR and for the estimate of Deep TD.
  """

  start_pool: int = ranges.at_least(1, 16_384)


@dataclasses.dataclass(frozen=True)
class Updates(MethodConfig):
  """How long the last phase is.

  Attributes:
    updates: T3, the updates of w, Q or f in the last phase, which the curves
      show.
  """

  updates: int = ranges.at_least(0, 250_000)


@dataclasses.dataclass(frozen=True)
class RatioMinibatches(MethodConfig):
  """Minibatches of ratios.

  Attributes:
    ratio_batch_size: Transitions in a minibatch of w, f and u.
  """

  ratio_batch_size: int = ranges.at_least(1, 2048)


@dataclasses.dataclass(frozen=True)
class NumFeatures(MethodConfig):
  """The size of the representation.

  Attributes:
    num_features: F, the size of phi and psi.
  """

  num_features: int = ranges.at_least(1, 256)


@dataclasses.dataclass(frozen=True)
class Bootstrap(MethodConfig):
  """Intervals.

  Attributes:
    bootstrap_draws: Draws of the bootstrap for the 95% intervals; 0 for no
      intervals.
  """

  # More would take hours.
  bootstrap_draws: int = ranges.between(0, 100_000, 200)


@dataclasses.dataclass(frozen=True)
class Ratios(Bootstrap):
  """What is made of density ratios.

  Attributes:
    estimate_samples: N, the transitions that an estimate by ratios draws; 0 for
      all of them.
  """

  estimate_samples: int = ranges.between(0, 100_000_000, 0)


@dataclasses.dataclass(frozen=True)
class NextActions(MethodConfig):
  """Expectations over the target policy's actions.

  Attributes:
    linear_next_actions: Actions that are drawn at each next state, to average
      linear_srdice's features and the flow test's functions over them, if
      actions are not discrete.
  """

  # More would take hours.
  linear_next_actions: int = ranges.between(1, 10_000, 4)


@dataclasses.dataclass(frozen=True)
class RatioAdam(AdamEpsilon):
  """Adam for the few weights of a ratio.

  Attributes:
    ratio_adam_epsilon: Epsilon of Adam for w of SR-DICE and Deep SR and for u;
      0 for adam_epsilon.
  """

  ratio_adam_epsilon: float = ranges.at_least(0, 0.0)

  @property
  def weight_epsilon(self) -> float:
    """Epsilon of w or u."""
    return self.ratio_adam_epsilon or self.adam_epsilon


@dataclasses.dataclass(frozen=True)
class FeatureWeights(
    Updates, RatioMinibatches, NumFeatures, LearningRate, RatioAdam
):
  """w of SR-DICE and Deep SR, learned by Adam.

  Attributes:
    ratio_learning_rate: Learning rate of w of SR-DICE and Deep SR; 0 for
      learning_rate.
    feature_product: How SR-DICE and Deep SR combine w and phi: mean or sum of
      the products over the features.
    normalise_features: Whether SR-DICE and Deep SR divide phi and psi by the
      mean of phi.
  """

  ratio_learning_rate: float = ranges.at_least(0, 0.0)
  feature_product: str = ranges.one_of(('mean', 'sum'), 'mean')
  normalise_features: bool = False

  def needed_bytes(self):
    return {
        **super().needed_bytes(),
        'ratio_batch_size': lambda size: 8 * size * self.num_features,
    }

  @property
  def weight_rate(self) -> float:
    """Learning rate of w."""
    return self.ratio_learning_rate or self.learning_rate

  @property
  def step_cost(self) -> float:
    """What a step of w on frozen features costs; see Phase."""
    return 0.02 * self.ratio_batch_size
