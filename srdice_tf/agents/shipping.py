"""Turns a training run into the files that the package ships."""

from importlib import metadata
import os
import shutil

import numpy as np

from srdice_tf import checksums
from srdice_tf import config_file
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.agents import configs
from srdice_tf.agents import factory
from srdice_tf.agents import policy_returns
from srdice_tf.agents import run_files
from srdice_tf.evaluation import rollouts
from srdice_tf.policies import base
from srdice_tf.policies import settings
from srdice_tf.policies import weights

NUM_EPISODES = 20
NUM_ROLLOUTS = 100
# Other than the seeds that chose the checkpoint, so that figures are fair.
_SEED = 104_729
_PACKAGES = ('tensorflow', 'tf-agents', 'dm-reverb', 'gymnasium', 'mujoco')
# Share of the way from the lowest return to the best one.
_LEVELS = {'weak': 0.25, 'medium': 0.5, 'good': 0.75}
# Mean returns that make a policy worth evaluating.
_AIMS = {
    'Pendulum-v1': -200.0,
    'Reacher-v4': -6.0,
    'HalfCheetah-v4': 5_000.0,
    'Hopper-v4': 2_000.0,
    'Walker2d-v4': 2_500.0,
    'Ant-v4': 1_500.0,
    'Humanoid-v4': 1_000.0,
    'ALE/Pong-v5': 0.0,
}
_PAPER_STEPS = 1_000_000


def choose_checkpoints(curve: list[dict[str, float]]) -> dict[str, dict]:
  """Returns the points of a learning curve to ship, by name.

  Args:
    curve: of the evaluations, in the order of training.

  Returns:
    'best', the highest mean return; of the points before it 'weak', 'medium'
    and 'good', those closest to a quarter, a half and three quarters of the way
    in return. If the curve is short, points after it, or fewer.
  """
  # An untrained policy may do well: standing still pays in Ant.
  trained = [point for point in curve if point['updates'] > 0] or curve
  best = max(trained, key=lambda point: point['mean_return'])
  low = min(point['mean_return'] for point in trained)
  high = best['mean_return']
  earlier = [point for point in trained if point['step'] < best['step']]
  if len(earlier) < len(_LEVELS):
    earlier = trained  # A short run: later points, if worse, serve as well.
  chosen = {'best': best}
  for name, level in _LEVELS.items():
    wanted = low + level * (high - low)
    free = [point for point in earlier if point not in chosen.values()]
    if free:
      chosen[name] = min(free, key=lambda p: abs(p['mean_return'] - wanted))
  return chosen


def ship(run_dir: str, output_dir: str | None = None) -> dict:
  """Writes weights and card of a run; returns the card.

  Args:
    run_dir: of the training run, which may still be going on.
    output_dir: to write to; default: the package's own directory.
  """
  config = _config(run_dir)
  env_id, gamma = config['env_id'], config['hyperparameters']['gamma']
  files = run_files.RunFiles(run_dir)
  curve = _curve(files)
  output_dir = output_dir or weights.directory(env_id)
  os.makedirs(output_dir, exist_ok=True)
  specs = _specs(env_id)
  is_separate = config['agent'] == 'ddqn_per'
  card_path = os.path.join(
      output_dir, f'{weights.SEPARATE}.json' if is_separate else 'card.json'
  )
  known = _known_figures(card_path)
  chosen = choose_checkpoints(curve)
  if is_separate or factory.is_pixels(specs[0]):
    chosen = {'best': chosen['best']}  # Megabytes each, on pixels.
  checkpoints = {}
  for name, point in chosen.items():
    file_name = weights.file_name(weights.SEPARATE if is_separate else name)
    path = os.path.join(output_dir, file_name)
    agreement = write_weights(env_id, files.snapshot(point['step']), path)
    checksum = checksums.of_file(path)
    checkpoints[name] = {
        'file': os.path.basename(path),
        'sha256': checksum,
        'steps': int(point['step']),
        **agreement,
        **(known.get(checksum) or measure(env_id, path, gamma)),
    }
  sort_levels(checkpoints, output_dir)
  card = {
      'environment': environments.description(env_id),
      'agent': config['agent'],
      'command': _command(config, int(curve[-1]['step']), specs[0]),
      'seed': config['seed'],
      'steps_trained': int(curve[-1]['step']),
      'gamma': gamma,
      'hyperparameters': config['hyperparameters'],
      **checkpoints['best'],
      'checkpoints': {
          name: entry for name, entry in checkpoints.items() if name != 'best'
      },
      'note': _note(env_id, checkpoints['best'], int(curve[-1]['step'])),
      'versions': {name: metadata.version(name) for name in _PACKAGES},
  }
  config_file.write_json(card_path, card)
  return card


def _config(run_dir: str) -> dict:
  """Returns the settings of a training run, as they are in its directory."""
  path = os.path.join(run_dir, config_file.FILE_NAME)
  if not os.path.exists(path):
    raise errors.UserError('output_dir', run_dir, 'holds no training run')
  advice = 'choose the directory of a training run'
  config = config_file.read_json(path, advice)
  try:
    is_td3 = config['agent'] == 'td3'
    kind = configs.Td3Config if is_td3 else configs.DdqnConfig
    parameters = kind(**config['hyperparameters'])
    configs.TrainConfig(**{**config, 'hyperparameters': parameters})
  except (KeyError, TypeError, errors.UserError) as error:
    reason = f'is not of a training run ({error})'
    raise errors.at(path, reason, advice) from error
  return config


def _curve(files: run_files.RunFiles) -> list[dict[str, float]]:
  """Returns the points whose weights are there."""
  curve = files.curve()
  if not curve:
    raise errors.at(files.path(), 'has no evaluation yet', 'train longer')
  for point in curve:
    path = files.snapshot(point['step'])
    if not os.path.exists(path):
      raise errors.at(
          path,
          'is missing, but the learning curve has a point there',
          f'remove {files.path()} to train again',
      )
  return curve


def sort_levels(checkpoints: dict[str, dict], output_dir: str):
  """Renames weak, medium and good into the order of their measured returns.

  They were chosen by the few episodes of the learning curve, which may give
  another order.

  Args:
    checkpoints: entries of the card by name, changed in place.
    output_dir: of the files.
  """
  names = [name for name in _LEVELS if name in checkpoints]
  entries = sorted(
      (checkpoints[name] for name in names), key=lambda e: e['return_mean']
  )
  contents = []
  for entry in entries:
    with open(os.path.join(output_dir, entry['file']), 'rb') as file:
      contents.append(file.read())
  for name, entry, content in zip(names, entries, contents):
    file_name = weights.file_name(name)
    with open(os.path.join(output_dir, file_name), 'wb') as file:
      file.write(content)
    checkpoints[name] = {**entry, 'file': file_name}


def _note(env_id: str, best: dict, steps: int) -> str:
  aim = _AIMS.get(env_id)
  if aim is None or best['return_mean'] >= aim:
    return ''
  return (
      f'Below the mean return aimed at, {aim:g}, after {steps} of the'
      f' {_PAPER_STEPS} steps of the paper.'
  )


def _known_figures(card_path: str) -> dict[str, dict]:
  """Returns what was measured before, by the checksum of the weights."""
  if not os.path.exists(card_path):
    return {}
  card = weights.read_card(card_path)
  return {
      entry['sha256']: {
          key: value for key, value in entry.items()
          if key.startswith(('return_', 'value'))
      }
      for entry in (card, *card['checkpoints'].values())
  }


def _specs(env_id: str):
  env = environments.load(env_id)
  env.close()
  return env.observation_spec(), env.action_spec()


def _command(config: dict, steps: int, observation_spec) -> str:
  """Returns the command that trains the same policy again."""
  defaults = factory.default_parameters(config['agent'], observation_spec)
  settings = ''.join(
      f' --{name}={str(value).lower()}'
      for name, value in config['hyperparameters'].items()
      if value != getattr(defaults, name)
  )
  return (
      f'python binaries/train_policy.py --env={config["env_id"]}'
      f' --agent={config["agent"]} --num_steps={steps}'
      f' --seed={config["seed"]} --eval_every={config["eval_every"]}{settings}'
  )


def load_policy(env_id: str, path: str):
  """Returns the deterministic policy of the weights in `path`."""
  specs = _specs(env_id)
  network = weights.load_network(path, *specs)
  return base.deterministic_policy(*specs, network)


def write_weights(env_id: str, snapshot: str, path: str) -> dict[str, float]:
  """Copies weights, those of convolutions in half precision.

  Args:
    env_id: of the environment.
    snapshot: the weights in single precision.
    path: to write to.

  Returns:
    For half precision the share of states, in play, in which both networks
    choose the same action; else nothing.
  """
  specs = _specs(env_id)
  network = weights.load_network(snapshot, *specs)  # Refuses damaged ones.
  if not factory.is_pixels(specs[0]):
    shutil.copyfile(snapshot, path)
    return {}
  weights.save(path, network, np.float16)
  agreement = _agreement(env_id, snapshot, path)
  return {'half_precision_agreement': agreement}


def _agreement(env_id, first_path, second_path, num_steps=1_000) -> float:
  first, second = (
      policy_returns.compiled_actions(load_policy(env_id, path))
      for path in (first_path, second_path)
  )
  env = environments.load_batch(env_id, 4, _SEED)
  step, agreed = env.reset(), []
  for _ in range(num_steps // 4):
    actions = first(step.observation)  # [B]
    agreed.append(actions == second(step.observation))
    step = env.step(actions)
  env.close()
  return float(np.mean(agreed))


def measure(env_id: str, path: str, gamma: float) -> dict:
  """Returns the figures of the weights in `path`, as the card has them."""
  policy = load_policy(env_id, path)
  evaluator = policy_returns.Evaluator(env_id, NUM_EPISODES, _SEED)
  returns = evaluator.returns(policy_returns.compiled_actions(policy), 0)
  evaluator.close()
  target = rollouts.policy_value(
      env_id,
      settings.target_policy(policy),
      gamma,
      NUM_ROLLOUTS,
      _SEED,
      whole_episodes=False,
  )
  return {
      'return_mean': round(float(returns.mean()), 4),
      'return_std': round(float(returns.std(ddof=1)), 4),
      'return_episodes': NUM_EPISODES,
      'value': target.value,
      'value_standard_error': target.standard_error,
      'value_rollouts': NUM_ROLLOUTS,
  }
