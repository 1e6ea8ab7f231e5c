"""About how long runs take on one core, from the numbers of their steps."""

from srdice_tf import environments
from srdice_tf.experiments import runs
from srdice_tf.policies import settings

# Seconds, measured on one thread of an AMD EPYC with HalfCheetah's shapes.
_ENCODER, _SUCCESSOR, _W, _TD = 4.0e-3, 3.4e-3, 0.39e-3, 1.96e-3
# DualDICE and GradientDICE: 10 ms at a batch of 256, 40 at 2,048.
_DICE_STEP, _DICE_PAIR = 5.7e-3, 1.67e-5
# The same with frames: guesses, nobody has measured them.
_FRAMES = {'encoder': 60e-3, 'successor': 40e-3, 'td': 30e-3, 'dice': 90e-3}
# A fit of linear_srdice, for each transition, a guess; fits if settings are
# chosen.
_LINEAR, _TRIALS = 2e-4, 48
REWARD = 0.2  # A random reward, of data and roll-outs; a guess.
START = 20.0  # Imports, and what is compiled.
# Steps a second of an environment with its policy, rounded down or guessed.
_SPEED = {
    'Pendulum-v1': 9_000,
    'HalfCheetah-v4': 5_000,
    'Hopper-v4': 4_000,
    'Reacher-v4': 5_000,
}
_OTHER_SPEED, _GAME_SPEED = 2_000, 1_000
_ROLL_OUTS, _HORIZON = 300, 10.0  # Of a truth; steps in units of 1/(1-gamma).


def seconds(config: runs.RunConfig) -> float:
  """Returns the time of a run whose data set and truth are there."""
  is_frames = environments.has_frames(config.task.env_id)
  values, algos = config.hyperparameters, set(config.algos)
  updates = values['updates']
  found = START
  if algos & {'srdice', 'srdice_closed', 'deep_sr'} or _over_features(values):
    step = (
        (_FRAMES['encoder'], _FRAMES['successor'])
        if is_frames
        else (_ENCODER, _SUCCESSOR)
    )
    found += step[0] * values['encoder_steps']
    found += step[1] * values['successor_steps']
  found += _W * updates * len(algos & {'srdice', 'deep_sr'})
  if 'deep_td' in algos:
    found += updates * (_FRAMES['td'] if is_frames else _TD)
  dice = _DICE_STEP + _DICE_PAIR * values['ratio_batch_size']
  num_dice = len(algos & {'dual_dice', 'gradient_dice'})
  found += updates * num_dice * (_FRAMES['dice'] if is_frames else dice)
  if 'linear_srdice' in algos:
    num_fits = _TRIALS if values['select'] == 'flow' else 1
    found += _LINEAR * num_fits * _size(config) / config.num_parts
  # Parts of a data set share a process.
  return found if config.num_parts == 1 else found - START + 1.0


def data_seconds(config: runs.RunConfig) -> dict[tuple, float]:
  """Returns the time of the data set and of the truth, each by what it is.

  Runs that name the same one share it: it is made once.
  """
  task = config.task
  speed = _SPEED.get(task.env_id, _OTHER_SPEED)
  if environments.has_frames(task.env_id):
    speed = _GAME_SPEED
  size = _size(config)
  episodes = 2 * (task.truth_episodes or _ROLL_OUTS)
  truth = episodes * _HORIZON / (1.0 - task.gamma) / speed
  noise = tuple(getattr(task, name) for name in settings.NUMBERS)
  policies = task.env_id, task.setting, noise
  return {
      ('data', *policies, size, config.seed): size / speed,
      ('truth', *policies, task.gamma): truth,
  }


def _size(config: runs.RunConfig) -> int:
  named = config.task.num_transitions
  return named or settings.ALL[config.task.setting].num_transitions


def _over_features(values) -> bool:
  """Whether DualDICE and GradientDICE take phi or psi."""
  return values['dice_inputs'] in ('phi', 'psi')
