"""About how long runs take on one core, from the numbers of their steps."""

from srdice_tf import environments
from srdice_tf.experiments import runs
from srdice_tf.policies import settings

# Seconds of a step, measured on one thread of an AMD EPYC with HalfCheetah's
# shapes. DualDICE and GradientDICE: 10 ms at a batch of 256, 40 at 2,048.
_VECTORS = {
    'encoder': 4.0e-3,
    'successor': 3.4e-3,
    'srdice': 0.39e-3,
    'deep_sr': 0.39e-3,
    'deep_td': 1.96e-3,
    'dual_dice': 5.7e-3,
    'gradient_dice': 5.7e-3,
}
_OVER_PSI = 'srdice', 'srdice_closed', 'srdice_lstd', 'deep_sr', 'dr'
_DICE_PAIR = 1.67e-5  # More, for each pair of a minibatch.
# The same with frames and a batch of 32, as measured with Pong's shapes.
_FRAMES = {
    'encoder': 64e-3,
    'successor': 44e-3,
    'srdice': 0.06e-3,
    'deep_sr': 0.03e-3,
    'deep_td': 38e-3,
    'dual_dice': 144e-3,
    'gradient_dice': 142e-3,
}
# A fit of linear_srdice, for each transition, a guess; fits if settings are
# chosen.
_LINEAR, _TRIALS = 2e-4, 48
# A random reward: for 50,000 transitions, for the steps of 100 roll-outs. Both
# are products of matrices near the speed of a core.
REWARD, REWARD_TRUTH = 0.1, 0.19
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
  values = config.hyperparameters
  found = START + sum(cost for _, cost in phases(config).values())
  if 'linear_srdice' in config.algos:
    num_fits = _TRIALS if values['select'] == 'flow' else 1
    found += _LINEAR * num_fits * _size(config) / config.num_parts
  # Parts of a data set share a process.
  return found if config.num_parts == 1 else found - START + 1.0


def phases(config: runs.RunConfig) -> dict[str, tuple[int, float]]:
  """Returns steps and seconds of each long phase, in the order of training."""
  values = config.hyperparameters
  is_frames = environments.has_frames(config.task.env_id)
  updates, step = values['updates'], _FRAMES if is_frames else _VECTORS
  found = {}
  for name in config.algos:
    is_dice = name in ('dual_dice', 'gradient_dice')
    over = values['dice_inputs'] if is_dice else ''
    if name in _OVER_PSI or over in ('phi', 'psi'):
      found.setdefault('encoder', values['encoder_steps'])
      if over != 'phi':
        found.setdefault('successor', values['successor_steps'])
    if name == 'dr':
      name = values['dr_value']
    if name in step:
      found[name] = updates
  pair = 0.0 if is_frames else _DICE_PAIR * values['ratio_batch_size']
  more = {'dual_dice': pair, 'gradient_dice': pair}
  return {
      name: (count, count * (step[name] + more.get(name, 0.0)))
      for name, count in found.items()
  }


def feature_seconds(config: runs.RunConfig) -> dict[tuple, float]:
  """Returns the time of phi, psi and Q, by what they are; runs share them.

  Longer schedules of psi and Q go on from shorter ones.
  """
  task, values = config.task, config.hyperparameters
  noise = tuple(getattr(task, name) for name in settings.NUMBERS)
  data = task.env_id, task.setting, noise, _size(config), config.seed
  how = task.gamma, values['encoder_steps'], values['learning_rate']
  found, shared = phases(config), ['encoder', 'successor']
  if 'deep_td' not in config.algos:  # It needs the curve that training gives.
    shared.append('deep_td')
  return {
      (name, *data, *how): found[name][1] for name in shared if name in found
  }


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
