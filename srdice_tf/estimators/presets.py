"""Hyper-parameters by name: the paper's, and shorter or mended ones."""

from srdice_tf import errors
from srdice_tf.estimators import hyperparameters

PRESETS = {
    'paper': {},
    # About two minutes on two cores, for a first look.
    # In so few steps the paper's target network would follow for half of
    # gamma's horizon only, and its w come half of the way.
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
    # Pixels over 255 make phi so small that w would not arrive otherwise.
    'normalise_features': True,
}
FRAME_PRESETS = {
    # As printed: pixels from 0 to 255, and so few copies to the target that
    # rewards far away do not arrive.
    'paper': {
        **_FRAMES,
        'pixel_scale': 1.0,
        'target_interval': 8_000,
        'normalise_features': False,
    },
    'fixed': _FRAMES,
    'quick': {
        **_FRAMES,
        'encoder_steps': 1_000,
        'successor_steps': 2_000,
        'updates': 2_000,
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
        f'the environment observes {kind}, for which there are'
        f' {", ".join(presets)}',
    )
  return hyperparameters.Hyperparameters(**presets[name])
