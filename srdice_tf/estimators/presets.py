"""Named sets of hyper-parameters: the paper's, quick ones, and fixed ones."""

from srdice_tf import errors
from srdice_tf.estimators import hyperparameters

PRESETS = {
    'paper': {},
    # About two minutes on two cores, for a first look.
    # With the paper's rates, target network and w would be only half-way there
    # after so few steps.
    'quick': {
        'encoder_steps': 5_000,
        'successor_steps': 15_000,
        'updates': 20_000,
        'tau': 0.02,
        'ratio_learning_rate': 3e-3,
    },
}

_FRAMES = {
    'hidden_layers': 1,
    'hidden_units': 512,
    'batch_size': 32,
    'ratio_batch_size': 32,
    'learning_rate': 6.25e-5,
    'dual_dice_learning_rate': 6.25e-5,
    'gradient_dice_learning_rate': 6.25e-5,
    'gradient_dice_u_learning_rate': 1e-3,
    'ratio_learning_rate': 3e-4,
    'adam_epsilon': 1.5e-4,
    'ratio_adam_epsilon': 1e-8,
    # Pixels divided by 255 make phi so small that w would not converge.
    'normalise_features': True,
}
# With pixels divided by 255 the slopes of psi's loss are small beside the
# printed epsilon: psi would not arrive.
_FIXED = {**_FRAMES, 'adam_epsilon': 1e-8}
FRAME_PRESETS = {
    # As printed: pixels from 0 to 255, and so few copies to the target network
    # that distant rewards never reach the start states.
    'paper': {
        **_FRAMES,
        'pixel_scale': 1.0,
        'target_interval': 8_000,
        'normalise_features': False,
    },
    'fixed': _FIXED,
    'quick': {
        **_FIXED,
        'encoder_steps': 2_000,
        'successor_steps': 2_000,
        'updates': 2_000,
        'learning_rate': 2.5e-4,
        'tau': 0.1,
        'ratio_learning_rate': 3e-3,
    },
}


def preset(name: str, is_frames: bool) -> hyperparameters.Hyperparameters:
  """Returns the preset for vectors or for frames.

  Raises:
    UserError: if there is none of that name.
  """
  presets = FRAME_PRESETS if is_frames else PRESETS
  if name not in presets:
    kind = 'frames' if is_frames else 'vectors'
    raise errors.UserError(
        'preset',
        name,
        f'observations are {kind}, for which there are {", ".join(presets)}',
    )
  return hyperparameters.Hyperparameters(**presets[name])


def paper_text(name: str) -> str:
  """Returns what a field is in the preset paper, and where frames differ."""
  default = preset('paper', is_frames=False)[name]
  on_frames = preset('paper', is_frames=True)[name]
  if on_frames == default:
    return f'{default}' if default != '' else 'none'
  return f'{default}, on frames {on_frames}'
