"""Tests of the shipped policies and of how they are made."""

import dataclasses
import functools
import glob
import json
import os

import numpy as np
import pytest

from srdice_tf import checksums
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.agents import configs
from srdice_tf.agents import policy_returns
from srdice_tf.agents import run_files
from srdice_tf.agents import shipping
from srdice_tf.agents import trainer
from srdice_tf.evaluation import rollouts
from srdice_tf.policies import base
from srdice_tf.policies import settings
from srdice_tf.policies import weights

# Cards by their paths below PRETRAINED_DIR: 'Hopper-v4/card.json'.
_SHIPPED = sorted(glob.glob('*/*.json', root_dir=weights.PRETRAINED_DIR))
_KILOBYTE = 1024


def _card(name):
  with open(os.path.join(weights.PRETRAINED_DIR, name)) as file:
    return json.load(file)


def _entries(name):
  """Returns each checkpoint with what the card says of it."""
  card = _card(name)
  first = weights.SEPARATE if card['agent'] == 'ddqn_per' else 'best'
  return {first: card, **card['checkpoints']}.items()


def _path(name, entry):
  directory = os.path.dirname(os.path.join(weights.PRETRAINED_DIR, name))
  return os.path.join(directory, entry['file'])


def _policy(env_id, checkpoint='best'):
  env = environments.load(env_id)
  specs = env.observation_spec(), env.action_spec()
  env.close()
  network = weights.load_pretrained(env_id, *specs, checkpoint)
  return base.deterministic_policy(*specs, network)


def _check_returns(env_id, checkpoint, entry, num_episodes, seed):
  evaluator = policy_returns.Evaluator(env_id, num_episodes, seed)
  actions = policy_returns.compiled_actions(_policy(env_id, checkpoint))
  returns = evaluator.returns(actions, episode=0)
  evaluator.close()
  episodes = entry['return_episodes']
  error = entry['return_std'] * np.sqrt(1 / episodes + 1 / num_episodes)
  assert abs(returns.mean() - entry['return_mean']) <= 3.0 * error


@pytest.mark.parametrize('name', _SHIPPED)
def test_cards_match_the_files(name):
  for checkpoint, entry in _entries(name):
    assert entry['file'] == weights.file_name(checkpoint)
    assert checksums.of_file(_path(name, entry)) == entry['sha256']
    assert entry['steps'] <= _card(name)['steps_trained']
    assert entry['return_episodes'] == 20
    assert entry['value_rollouts'] == 100
    assert entry['value_standard_error'] >= 0.0


@pytest.mark.parametrize('name', _SHIPPED)
def test_weak_medium_and_good_are_in_order(name):
  checkpoints = _card(name)['checkpoints']
  names = [n for n in ('weak', 'medium', 'good') if n in checkpoints]
  returns = [checkpoints[n]['return_mean'] for n in names]
  assert returns == sorted(returns)


def test_levels_are_sorted_with_their_files(tmp_path):
  entries = {}
  for name, value in (('weak', 2.0), ('medium', 3.0), ('good', 1.0)):
    (tmp_path / f'{name}.npz').write_text(str(value))
    entries[name] = {'file': f'{name}.npz', 'return_mean': value}
  shipping.sort_levels(entries, str(tmp_path))
  for name, value in (('weak', 1.0), ('medium', 2.0), ('good', 3.0)):
    assert entries[name] == {'file': f'{name}.npz', 'return_mean': value}
    assert (tmp_path / f'{name}.npz').read_text() == str(value)


@pytest.mark.parametrize('name', _SHIPPED)
def test_cards_say_where_a_policy_falls_short(name):
  card = _card(name)
  aim = shipping._AIMS.get(card['environment']['id'], -np.inf)
  assert bool(card['note']) == (card['return_mean'] < aim)


@pytest.mark.parametrize('name', _SHIPPED)
def test_cards_say_how_to_train_again(name):
  card = _card(name)
  env_id = card['environment']['id']
  assert weights.directory(env_id).endswith(os.path.dirname(name))
  assert f'binaries/train_policy.py --env={env_id} ' in card['command']
  assert f'--num_steps={card["steps_trained"]} ' in card['command']
  assert f'--seed={card["seed"]}' in card['command']
  assert {'tensorflow', 'gymnasium', 'mujoco'} <= set(card['versions'])


@pytest.mark.parametrize(
    'name', [name for name in _SHIPPED if not name.startswith('ALE')]
)
def test_continuous_weights_are_small(name):
  for _, entry in _entries(name):
    assert os.path.getsize(_path(name, entry)) < 800 * _KILOBYTE


@pytest.mark.parametrize('name', _SHIPPED)
def test_a_few_episodes_agree_with_the_card(name):
  num_episodes = 1 if name.startswith('ALE') else 4  # A game takes long.
  checkpoint, card = next(iter(_entries(name)))
  env_id = card['environment']['id']
  _check_returns(env_id, checkpoint, card, num_episodes, seed=1)


@pytest.mark.full
@pytest.mark.parametrize('name', _SHIPPED)
def test_all_returns_agree_with_the_card(name):
  env_id = _card(name)['environment']['id']
  for checkpoint, entry in _entries(name):
    _check_returns(env_id, checkpoint, entry, 20, seed=2)


@pytest.mark.full
@pytest.mark.parametrize('name', _SHIPPED)
def test_values_agree_with_the_card(name):
  checkpoint, card = next(iter(_entries(name)))
  env_id = card['environment']['id']
  target = settings.target_policy(_policy(env_id, checkpoint))
  # As the card's: a game of Pong may go on for 27,000 steps.
  found = rollouts.policy_value(
      env_id, target, card['gamma'], seed=3, whole_episodes=False
  )
  error = np.hypot(found.standard_error, card['value_standard_error'])
  assert abs(found.value - card['value']) <= 3.0 * error


def _curve(*returns):
  return [
      {'step': i, 'updates': i, 'mean_return': value}
      for i, value in enumerate(returns)
  ]


def _chosen(*returns):
  chosen = shipping.choose_checkpoints(_curve(*returns))
  return {name: point['step'] for name, point in chosen.items()}


def test_checkpoints_are_spread_over_the_curve():
  assert _chosen(0, 10, 28, 15, 55, 70, 100, 90) == {
      'weak': 2, 'medium': 4, 'good': 5, 'best': 6
  }


def test_an_untrained_policy_is_not_chosen():
  assert _chosen(0, 50, 100) == {'best': 2, 'weak': 1}
  assert _chosen(500, 10, 60, 100) == {'best': 3, 'weak': 1, 'medium': 2}


def test_a_short_curve_gives_points_after_the_best():
  assert _chosen(0, 10, 100, 75, 60) == {
      'weak': 1, 'medium': 4, 'good': 3, 'best': 2
  }


def test_no_point_is_chosen_twice():
  steps = _chosen(0, 1, 2, 3, 100)
  assert len(steps) == 4 == len(set(steps.values()))


def test_a_run_is_shipped_with_its_figures(tmp_path, monkeypatch):
  monkeypatch.setattr(shipping, 'NUM_EPISODES', 4)
  monkeypatch.setattr(shipping, 'NUM_ROLLOUTS', 10)
  config = configs.TrainConfig(
      'CartPole-v1', 'ddqn', num_steps=400, eval_every=50, eval_episodes=2,
      hyperparameters=dataclasses.replace(
          configs.SMALL_DDQN, random_steps=100
      ),
  )
  run = trainer.AgentTrainer(config, str(tmp_path / 'run'))
  run.train()
  run.close()
  output = str(tmp_path / 'shipped')
  card = shipping.ship(str(tmp_path / 'run'), output)
  assert sorted(os.listdir(output)) == [
      'card.json', 'good.npz', 'medium.npz', 'weak.npz', 'weights.npz'
  ]
  # A reward of 1 each step: both figures follow from the lengths alone.
  length = card['return_mean']
  assert 8.0 <= length <= 500.0
  assert 0.0 < card['value'] <= 1.0 - 0.99**500 + 1e-6
  assert 'mean_return' not in card
  again = shipping.ship(str(tmp_path / 'run'), output)
  assert again == json.loads(json.dumps(card))


def test_atari_weights_are_shipped_in_half_precision(tmp_path, monkeypatch):
  # Untrained networks differ in any state; those that are shipped play more.
  monkeypatch.setattr(
      shipping,
      '_agreement',
      functools.partial(shipping._agreement, num_steps=200),
  )
  env = environments.load('ALE/Pong-v5')
  specs = env.observation_spec(), env.action_spec()
  whole, half = tmp_path / 'whole.npz', tmp_path / 'half.npz'
  weights.save(str(whole), weights.make_network(*specs))
  found = shipping.write_weights('ALE/Pong-v5', str(whole), str(half))
  assert half.stat().st_size < 0.51 * whole.stat().st_size
  # Untrained values are close to each other; trained ones agree more.
  assert found['half_precision_agreement'] > 0.9


def test_a_directory_without_a_run_is_refused(tmp_path):
  with pytest.raises(errors.UserError, match='holds no training run'):
    shipping.ship(str(tmp_path))


_RUN = configs.TrainConfig('Pendulum-v1', hyperparameters=configs.Td3Config())


@pytest.mark.parametrize(
    'name, content, message',
    [
        ('config.json', '', 'config.json: cannot be read as JSON'),
        ('config.json', '[1]', 'config.json: holds a list'),
        ('config.json', '{"env_id": 3}', 'config.json: is not of a training'),
        ('evaluations.csv', None, 'has no evaluation yet'),
        ('evaluations.csv', 'garbage', "evaluations.csv: found 'garbage'"),
        ('snapshots/000000000.npz', None, '000000000.npz: is missing'),
        ('snapshots/000000000.npz', 'garbage', '000000000.npz: '),
    ],
)
def test_a_damaged_run_is_not_shipped(tmp_path, name, content, message):
  files = run_files.RunFiles(str(tmp_path))
  files.check_config(_RUN)
  specs = shipping._specs('Pendulum-v1')
  row = dict.fromkeys(run_files.CURVE_FIELDS, 0.0)
  files.add_point(row, weights.make_network(*specs))
  path = tmp_path / name
  path.unlink() if content is None else path.write_text(content)
  with pytest.raises(errors.UserError, match=message) as error:
    shipping.ship(str(tmp_path), str(tmp_path / 'shipped'))
  assert '\n' not in str(error.value)
