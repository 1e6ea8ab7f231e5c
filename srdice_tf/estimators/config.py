"""Hyper-parameters; the defaults are the paper's for continuous control."""

import dataclasses

from srdice_tf import errors
from srdice_tf import limits
from srdice_tf import ranges


@dataclasses.dataclass(frozen=True)
class Config:
  """All hyper-parameters of all estimators.

  Attributes:
    encoder_steps: T1, the updates of the encoder-decoder.
    successor_steps: T2, the updates of the successor representation psi.
    updates: T3, the updates of w, Q or f: what the curves show.
    num_features: F, the size of phi and psi.
    hidden_layers: Hidden layers of psi, Q, f and w; on vectors phi is the last
      of as many.
    hidden_units: Units of each hidden layer; on frames the layers follow the
      convolutions.
    batch_size: Transitions in a minibatch of encoder, psi and Q.
    ratio_batch_size: Transitions in a minibatch of w, f and u.
    learning_rate: Learning rate of encoder, psi, Q and w of SR-DICE and Deep
      SR.
    dual_dice_learning_rate: Learning rate of DualDICE's f and w.
    gradient_dice_learning_rate: Learning rate of GradientDICE's f and w.
    gradient_dice_u_learning_rate: Learning rate of GradientDICE's u.
    ratio_learning_rate: Learning rate of w of SR-DICE and Deep SR; 0 for
      learning_rate.
    adam_epsilon: Epsilon of Adam.
    ratio_adam_epsilon: Epsilon of Adam for w of SR-DICE and Deep SR and for u;
      0 for adam_epsilon.
    tau: Rate of the target networks' Polyak average.
    target_interval: Updates between two copies to the target networks; 0 for
      the average with tau.
    next_state_weight: Weight of the next state in the encoder-decoder's loss.
    action_weight: Weight of the action in the encoder-decoder's loss.
    reward_weight: Weight of the reward in the encoder-decoder's loss.
    feature_weight: Weight of mean(phi^2) in the encoder-decoder's loss, on
      frames.
    ridge: Ridge of closed forms, added to E[phi phi^T] as a share of its mean
      diagonal.
    start_pool: Pairs (s0, a0) whose psi the phases of w sample from.
    feature_product: The product w.phi of SR-DICE and Deep SR over the features:
      mean or sum.
    normalise_features: Whether phi and psi in that product are divided by phi's
      mean.
    estimate_samples: N, the transitions that an estimate by ratios draws; 0 for
      all.
    dual_dice_power: Power p of DualDICE's convex function |w|^p / p.
    gradient_dice_norm_weight: Weight lambda of the normalisation in
      GradientDICE.
    gradient_dice_f_penalty: Whether GradientDICE has its -1/2 E[f^2].
    tabular_successor: SR of tabular SR-DICE: empirical, given or td.
    tabular_learning_rate: Learning rate of the SR that tabular SR-DICE learns
      by TD.
    tabular_regularizer: Regulariser of tabular DualDICE's matrices.
    tabular_discount_data: Whether tabular DualDICE weighs step t by gamma^t.
    tabular_missing_mass: Share of the mass of d_pi that may lie on pairs that
      the data lack.
    pixel_scale: What pixels are divided by.
    second_filters: Filters of the second convolution; the paper prints 32.
    mask_terminal_frame: Whether the frame after the end counts for no error.
    select: How linear_srdice is set: none, as told, or flow, by a grid.
    linear_features: Features of linear_srdice: random, encoder, onehot or auto;
      for the grid also a list.
    linear_num_features: Number of the random features, the constant included.
    linear_scale: Scale of the random layer's weights.
    linear_ridge: Ridge lambda of linear_srdice, added to C as a share of the
      mean diagonal of G.
    linear_next_actions: Next actions that phi is averaged over, if they are not
      discrete.
    bootstrap_draws: Draws of the bootstrap for the 95% intervals; 0 for none.
  """

  encoder_steps: int = ranges.at_least(0, 30_000)
  successor_steps: int = ranges.at_least(0, 100_000)
  updates: int = ranges.at_least(0, 250_000)
  num_features: int = ranges.at_least(1, 256)
  hidden_layers: int = ranges.between(1, 16, 2)
  hidden_units: int = ranges.at_least(1, 256)
  batch_size: int = ranges.at_least(1, 256)
  ratio_batch_size: int = ranges.at_least(1, 2048)
  learning_rate: float = ranges.positive(3e-4)
  dual_dice_learning_rate: float = ranges.positive(5e-5)
  gradient_dice_learning_rate: float = ranges.positive(1e-5)
  gradient_dice_u_learning_rate: float = ranges.positive(1e-2)
  ratio_learning_rate: float = ranges.at_least(0, 0.0)
  adam_epsilon: float = ranges.positive(1e-8)
  ratio_adam_epsilon: float = ranges.at_least(0, 0.0)
  tau: float = ranges.rate(0.005)
  target_interval: int = ranges.at_least(0, 0)
  next_state_weight: float = ranges.at_least(0, 1.0)
  action_weight: float = ranges.at_least(0, 1.0)
  reward_weight: float = ranges.at_least(0, 0.1)
  feature_weight: float = ranges.at_least(0, 0.1)
  ridge: float = ranges.at_least(0, 1e-6)
  start_pool: int = ranges.at_least(1, 16_384)
  feature_product: str = ranges.one_of(('mean', 'sum'), 'mean')
  normalise_features: bool = False
  estimate_samples: int = ranges.between(0, 100_000_000, 0)
  dual_dice_power: float = ranges.inside(1, 1_000, 2.0)
  gradient_dice_norm_weight: float = ranges.at_least(0, 1.0)
  gradient_dice_f_penalty: bool = True
  tabular_successor: str = ranges.one_of(
      ('empirical', 'given', 'td'), 'empirical'
  )
  tabular_learning_rate: float = ranges.inside(0, 2, 0.1)
  tabular_regularizer: float = ranges.at_least(0, 1e-8)
  tabular_discount_data: bool = False
  tabular_missing_mass: float = ranges.share(0.01)
  pixel_scale: float = ranges.positive(255.0)
  second_filters: int = ranges.at_least(1, 64)
  mask_terminal_frame: bool = True
  select: str = ranges.one_of(('none', 'flow'), 'none')
  linear_features: str = 'auto'
  linear_num_features: int = ranges.at_least(2, 512)
  linear_scale: float = ranges.positive(1.0)
  linear_ridge: float = ranges.at_least(0, 1e-3)
  linear_next_actions: int = ranges.at_least(1, 4)
  # More would take hours.
  bootstrap_draws: int = ranges.between(0, 100_000, 200)

  def __post_init__(self):
    ranges.check(self)
    layers = self.hidden_layers
    needed = {
        # Weights, gradients and Adam's two means, in float32.
        'hidden_units': lambda units: 16 * units * (1 + (layers - 1) * units),
        # E[phi phi^T], its factor and what it is summed from, in float64.
        'num_features': lambda f: 32 * f * f + 16 * f * self.hidden_units,
        # What layers give, and its gradients.
        'batch_size': lambda size: 8 * size * layers * self.hidden_units,
        'ratio_batch_size': lambda size: 8 * size * self.num_features,
        'start_pool': lambda size: 4 * size * self.num_features,  # psi
    }
    for name, bytes_of in needed.items():
      limits.check_memory(name, getattr(self, name), bytes_of)


PRESETS = {
    'paper': Config(),
    # About two minutes on two cores, for a first look.
    # In so few steps the paper's target network would follow for half of
    # gamma's horizon only, and its w come half of the way.
    'quick': Config(
        encoder_steps=5_000,
        successor_steps=15_000,
        updates=20_000,
        tau=0.02,
        ratio_learning_rate=3e-3,
    ),
}

_FRAMES = Config(
    hidden_layers=1,
    hidden_units=512,
    batch_size=32,
    ratio_batch_size=32,
    learning_rate=6.25e-5,
    dual_dice_learning_rate=6.25e-5,
    gradient_dice_learning_rate=6.25e-5,
    gradient_dice_u_learning_rate=1e-3,
    ratio_learning_rate=3e-4,
    adam_epsilon=1.5e-4,
    ratio_adam_epsilon=1e-8,
    # Pixels over 255 make phi so small that w would not arrive otherwise.
    normalise_features=True,
)
FRAME_PRESETS = {
    # As printed: pixels from 0 to 255, and so few copies to the target that
    # rewards far away do not arrive.
    'paper': dataclasses.replace(
        _FRAMES,
        pixel_scale=1.0,
        target_interval=8_000,
        normalise_features=False,
    ),
    'fixed': _FRAMES,
    'quick': dataclasses.replace(
        _FRAMES,
        encoder_steps=1_000,
        successor_steps=2_000,
        updates=2_000,
        ratio_learning_rate=3e-3,
    ),
}


def preset(name: str, is_frames: bool) -> Config:
  """Returns the preset for vectors or for frames; an error if there is none."""
  presets = FRAME_PRESETS if is_frames else PRESETS
  if name not in presets:
    kind = 'frames' if is_frames else 'vectors'
    raise errors.UserError(
        f'--preset={name}: the environment observes {kind}, for which there are'
        f" {', '.join(presets)}."
    )
  return presets[name]
