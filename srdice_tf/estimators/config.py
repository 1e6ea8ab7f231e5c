"""Hyper-parameters; the defaults are the paper's for continuous control."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Config:
  """All hyper-parameters of all estimators.

  Attributes:
    encoder_steps: T1, updates of the encoder-decoder.
    successor_steps: T2, updates of the successor representation.
    updates: T3, updates of w, Q or f: what the curves show.
    num_features: F, size of phi and psi and of the hidden layers.
    batch_size: of encoder, psi and Q.
    ratio_batch_size: of w, f and u.
    learning_rate: of encoder, psi, Q and w of SR-DICE and Deep SR.
    dual_dice_learning_rate: of DualDICE's f and w.
    gradient_dice_learning_rate: of GradientDICE's f and w.
    gradient_dice_u_learning_rate: of GradientDICE's u.
    adam_epsilon: of Adam.
    tau: rate of the target networks' Polyak average.
    next_state_weight: lambda_s' of the encoder-decoder's loss.
    action_weight: lambda_a of it.
    reward_weight: lambda_r of it.
    ridge: added to E[phi phi^T], as a share of its mean diagonal.
    start_pool: pairs (s0, a0) whose psi the phases of w sample from.
    dual_dice_power: p of DualDICE's convex function |w|^p / p.
    gradient_dice_norm_weight: lambda of GradientDICE.
    gradient_dice_f_penalty: whether GradientDICE has its -1/2 E[f^2].
    tabular_successor: SR of tabular SR-DICE: empirical, given or td.
    tabular_learning_rate: of the SR that it learns by TD.
    tabular_regularizer: of tabular DualDICE's matrices.
    tabular_discount_data: whether it weighs step t by gamma^t.
    tabular_missing_mass: of d_pi that may lie on pairs the data lack.
  """

  encoder_steps: int = 30_000
  successor_steps: int = 100_000
  updates: int = 250_000
  num_features: int = 256
  batch_size: int = 256
  ratio_batch_size: int = 2048
  learning_rate: float = 3e-4
  dual_dice_learning_rate: float = 5e-5
  gradient_dice_learning_rate: float = 1e-5
  gradient_dice_u_learning_rate: float = 1e-2
  adam_epsilon: float = 1e-8
  tau: float = 0.005
  next_state_weight: float = 1.0
  action_weight: float = 1.0
  reward_weight: float = 0.1
  ridge: float = 1e-6
  start_pool: int = 16_384
  dual_dice_power: float = 2.0
  gradient_dice_norm_weight: float = 1.0
  gradient_dice_f_penalty: bool = True
  tabular_successor: str = 'empirical'
  tabular_learning_rate: float = 0.1
  tabular_regularizer: float = 1e-8
  tabular_discount_data: bool = False
  tabular_missing_mass: float = 0.01


PRESETS = {
    'paper': Config(),
    # About two minutes on two cores, for a first look.
    'quick': Config(
        encoder_steps=5_000, successor_steps=15_000, updates=20_000
    ),
}
