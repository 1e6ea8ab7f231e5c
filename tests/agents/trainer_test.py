"""Tests of whole training runs, short ones."""

import dataclasses
import itertools
import os
import pathlib
import shutil
import signal

import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf import interrupts
from srdice_tf.agents import configs
from srdice_tf.agents import factory
from srdice_tf.agents import policy_returns
from srdice_tf.agents import run_files
from srdice_tf.agents import trainer
from srdice_tf.policies import base
from srdice_tf.policies import loading
from srdice_tf.policies import weights

_SMALL_TD3 = configs.Td3Config(
    random_steps=100, batch_size=32, replay_capacity=10_000
)

_SMALL_DDQN = dataclasses.replace(configs.SMALL_DDQN, random_steps=100)

_SHORT = configs.TrainConfig(
    'CartPole-v1', 'ddqn', num_steps=32, eval_every=32, eval_episodes=1,
    hyperparameters=dataclasses.replace(configs.SMALL_DDQN, random_steps=30),
)


def _run(directory, config, log=lambda *_: None, saves_policy=False):
  run = trainer.AgentTrainer(config, str(directory))
  if not saves_policy:  # Half a second, for a file that few tests open.
    run.files.save_policy = lambda policy: None
  try:
    run.train(log=log)
  except _Learned:
    pass
  run.close()
  return run


class _Learned(Exception):
  """Ends a run that has shown what it is for."""


@pytest.fixture(name='finished', scope='module')
def _finished(tmp_path_factory):
  """Returns the directory of a short run, to copy."""
  path = tmp_path_factory.mktemp('finished')
  _run(path, _SHORT)
  return path


def _points(run):
  keys = ('step', 'updates', 'mean_return', 'std_return')
  return [[point[key] for key in keys] for point in run.files.curve()]


def test_td3_learns_to_swing_up_a_pendulum(tmp_path):
  # Faster learning than the paper's, on fewer samples.
  parameters = configs.Td3Config(
      random_steps=5_000, batch_size=64, learning_rate=1e-3, tau=0.02
  )
  config = configs.TrainConfig(
      'Pendulum-v1', num_steps=10_000, eval_every=10_000,
      hyperparameters=parameters,
  )
  points = _points(_run(tmp_path, config))
  # Random actions give about -1200, a perfect policy about -150.
  assert points[0][2] < -800.0
  assert points[-1][2] > -450.0
  assert points[-1][:2] == [10_000, 5_000]


@pytest.mark.parametrize('agent', ['ddqn', 'ddqn_per'])
def test_double_dqn_learns_to_balance_a_pole(tmp_path, agent):
  # Faster learning than the default, on fewer samples.
  parameters = dataclasses.replace(
      configs.SMALL_DDQN, random_steps=500, updates_per_step=0.25,
      target_period=50, learning_rate=2e-3,
  )
  # Reverb's draws have no seed: with 2,000 steps of ddqn_per some runs fail.
  num_steps = 3_500 if agent == 'ddqn_per' else 2_000
  config = configs.TrainConfig(
      'CartPole-v1', agent, num_steps=num_steps, eval_every=500,
      hyperparameters=parameters,
  )

  def stop(step, values):
    if values['mean_return'] > 100.0:
      raise _Learned

  points = _points(_run(tmp_path, config, stop))
  # Random actions last 22 steps.
  assert points[0][2] < 40.0
  assert max(point[2] for point in points) > 100.0


@pytest.mark.parametrize(
    ('env_id', 'agent', 'parameters'),
    [
        ('Hopper-v4', 'td3', _SMALL_TD3),
        ('CartPole-v1', 'ddqn', _SMALL_DDQN),
    ],
)
def test_a_resumed_run_is_the_uninterrupted_one(
    tmp_path, env_id, agent, parameters
):
  config = configs.TrainConfig(
      env_id, agent, num_steps=300, eval_every=100, eval_episodes=2,
      hyperparameters=parameters,
  )
  whole = _run(tmp_path / 'whole', config)
  _run(tmp_path / 'parts', dataclasses.replace(config, num_steps=200))
  parts = _run(tmp_path / 'parts', config)
  assert _points(whole) == _points(parts)
  networks = [factory.policy_network(run.agent) for run in (whole, parts)]
  for left, right in zip(*(network.variables for network in networks)):
    np.testing.assert_array_equal(left.numpy(), right.numpy())


def test_points_after_the_checkpoint_are_made_again(tmp_path):
  config = configs.TrainConfig(
      'CartPole-v1', 'ddqn', num_steps=1_100, eval_every=500, eval_episodes=2
  )
  run = _run(tmp_path, config)
  points = _points(run)
  # As if it had been killed between an evaluation and its checkpoint.
  later = {**run.files.curve()[-1], 'step': 1_500, 'mean_return': -1.0}
  run.files.add_point(later, factory.policy_network(run.agent))
  os.makedirs(tmp_path / 'checkpoint-000001500.tmp')
  assert _points(_run(tmp_path, config)) == points


@pytest.mark.parametrize(
    'name', ['agent.index', 'counters.npz', 'reverb/chunks.tfrecord']
)
@pytest.mark.parametrize('is_there', [True, False])
def test_a_damaged_checkpoint_is_refused(tmp_path, name, is_there):
  files = run_files.RunFiles(str(tmp_path))

  def write(directory):
    os.makedirs(os.path.join(directory, 'reverb'))
    for path in ('agent.index', 'counters.npz', 'reverb/chunks.tfrecord'):
      (pathlib.Path(directory) / path).write_bytes(b'0123456789')

  files.checkpoints.save(7, write)
  path = pathlib.Path(files.checkpoints.latest()) / name
  if is_there:
    path.write_bytes(b'01234')
  else:
    path.unlink()
  message = 'cut short or edited' if is_there else 'missing'
  with pytest.raises(errors.UserError, match=f'{name}: {message}.*; remove'):
    files.checkpoints.latest()


def test_a_checkpoint_without_checksums_is_refused(tmp_path):
  files = run_files.RunFiles(str(tmp_path))
  files.checkpoints.save(7, lambda directory: None)
  os.remove(tmp_path / 'checkpoint-000000007' / 'checksums.json')
  with pytest.raises(errors.UserError, match='checksums.json: cannot be read'):
    files.checkpoints.latest()


def test_a_loss_that_is_not_finite_ends_the_run(tmp_path):
  config = configs.TrainConfig(
      'CartPole-v1', 'ddqn', num_steps=2_000, eval_every=500, eval_episodes=1
  )
  run = trainer.AgentTrainer(config, str(tmp_path))
  learn = run._learner.learn
  run._learner.learn = lambda *args: {**learn(*args), 'loss': float('nan')}
  with pytest.raises(errors.UserError, match='loss .* is nan at step 1005'):
    run.train()
  run.close()
  assert 500 <= int(run.files.checkpoints.latest()[-9:]) < 1_005


class _InParts(interrupts.Pace):
  """Three updates a call."""

  def size(self, most):
    return min(most, 3)


def _interrupted(function, after):
  """Returns the function; its call number `after` comes with a Ctrl-C."""
  calls = itertools.count(1)

  def call(*arguments, **named):
    if next(calls) == after:
      signal.raise_signal(signal.SIGINT)
    return function(*arguments, **named)

  return call


def test_ctrl_c_loses_nothing(tmp_path, monkeypatch):
  """In the middle of collecting, of updates and of an evaluation."""
  config = configs.TrainConfig(
      'CartPole-v1', 'ddqn', num_steps=400, eval_every=100, eval_episodes=2,
      hyperparameters=dataclasses.replace(_SMALL_DDQN, random_steps=200),
  )
  whole = _run(tmp_path / 'whole', config)
  monkeypatch.setattr(interrupts, 'Pace', _InParts)
  interrupts_at = (('gather', 10), ('learn', 5), ('learn', 1), ('returns', 1))
  steps = []
  for name, after in interrupts_at:
    run = trainer.AgentTrainer(config, str(tmp_path / 'parts'))
    owner = run._evaluator if name == 'returns' else run._learner
    setattr(owner, name, _interrupted(getattr(owner, name), after))
    with pytest.raises(KeyboardInterrupt):
      run.train()
    steps.append((run.step, run.updates))
    run.close()
    checkpoint = int(run.files.checkpoints.latest()[-9:])
    assert checkpoint == run.step + run.updates
  assert steps == sorted(steps)
  parts = _run(tmp_path / 'parts', config)
  assert _points(whole) == _points(parts)
  networks = [factory.policy_network(run.agent) for run in (whole, parts)]
  for left, right in zip(*(network.variables for network in networks)):
    np.testing.assert_array_equal(left.numpy(), right.numpy())


@pytest.mark.parametrize(
    'content', [None, '', 'garbage', '[]', 'step,updates\n1,2\n']
)
def test_a_damaged_curve_is_one_line(tmp_path, finished, content):
  shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
  path = tmp_path / 'evaluations.csv'
  path.unlink() if content is None else path.write_text(content)
  message = f'{tmp_path}.*; remove .* to train again.'
  with pytest.raises(errors.UserError, match=message) as error:
    trainer.AgentTrainer(_SHORT, str(tmp_path))
  assert '\n' not in str(error.value)


def test_a_checkpoint_that_does_not_fit_is_one_line(tmp_path, finished):
  shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
  other = dataclasses.replace(_SHORT, env_id='Acrobot-v1')
  path = tmp_path / 'config.json'
  path.write_text(path.read_text().replace('CartPole-v1', 'Acrobot-v1'))
  with pytest.raises(errors.UserError, match='does not fit this run') as error:
    trainer.AgentTrainer(other, str(tmp_path))
  assert '\n' not in str(error.value)


def test_the_time_left_counts_steps_and_updates_apart(tmp_path):
  config = configs.TrainConfig(
      'CartPole-v1', 'ddqn', num_steps=3_000, eval_every=10_000,
      eval_episodes=1,
  )
  run = trainer.AgentTrainer(config, str(tmp_path))
  assert np.isnan(run.seconds_left())
  # 1,000 random steps, then 0.5 updates a step.
  run.step, run.updates = 2_000, 500
  run.seconds = {'total': 70.0, 'collect': 5.0, 'learn': 50.0}
  np.testing.assert_allclose(
      run.seconds_left(), 500 * 50.0 / 500 + 1_000 * 20.0 / 2_000
  )
  run.close()


def test_a_step_is_saved_once(tmp_path):
  """An interrupt right after an evaluation asks for the same checkpoint."""
  files = run_files.RunFiles(str(tmp_path))
  for text in ('first', 'second'):
    files.checkpoints.save(
        7, lambda path, text=text: (pathlib.Path(path) / text).touch()
    )
  found = sorted(os.listdir(files.checkpoints.latest()))
  assert found == ['checksums.json', 'first']


def test_the_saved_model_and_the_weights_give_the_policys_actions(tmp_path):
  config = configs.TrainConfig(
      'Pendulum-v1', num_steps=200, eval_every=200, eval_episodes=1,
      hyperparameters=_SMALL_TD3,
  )
  run = _run(tmp_path, config, saves_policy=True)
  env = environments.load('Pendulum-v1')
  specs = env.observation_spec(), env.action_spec()
  observations = np.random.default_rng(0).normal(size=(7, 3)).astype('f4')
  expected = policy_returns.compiled_actions(run.agent.policy)(observations)
  loaded = loading.load(str(tmp_path / 'policy'), 'X', *specs)
  actions = policy_returns.compiled_actions(loaded)(observations)
  np.testing.assert_array_equal(actions, expected)
  network = weights.make_network(*specs)
  weights.restore(run.files.snapshot(200), network)
  policy = base.deterministic_policy(*specs, network)
  actions = policy_returns.compiled_actions(policy)(observations)
  np.testing.assert_allclose(actions, expected, rtol=1e-6)


def test_logged_values(tmp_path):
  logged = []
  config = configs.TrainConfig(
      'CartPole-v1', 'ddqn', num_steps=1_200, eval_every=600, eval_episodes=2
  )
  _run(tmp_path, config, lambda step, values: logged.append((step, values)))
  assert len(logged) == 3
  assert set(logged[-1][1]) == {'loss', 'mean_return', 'std_return'}


@pytest.mark.parametrize(
    ('env_id', 'agent', 'message'),
    [
        ('CartPole-v1', 'td3', '^agent=td3: CartPole-v1 has discrete actions'),
        ('Pendulum-v1', 'ddqn', 'has continuous actions; expected td3'),
        ('Pendulum-v1', 'sac', '^agent=sac: expected text one of td3'),
    ],
)
def test_unfit_agents_are_refused(tmp_path, env_id, agent, message):
  with pytest.raises(errors.UserError, match=message):
    trainer.AgentTrainer(configs.TrainConfig(env_id, agent), str(tmp_path))


def test_a_directory_of_another_run_is_refused(tmp_path, finished):
  shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
  other = dataclasses.replace(_SHORT, seed=1)
  with pytest.raises(errors.UserError, match='with seed=0, asked for is 1'):
    trainer.AgentTrainer(other, str(tmp_path))


@pytest.mark.parametrize(
    'name, value, message',
    [
        ('replay_capacity', 2**31 - 1, 'needs .* GiB of memory'),
        ('batch_size', 2**31 - 1, 'needs .* GiB of memory'),
        ('num_envs', 2**31 - 1, 'from 1 to 10,000'),
        ('replay_capacity', 10, 'too few.* at least 200'),
        ('random_steps', 2**31 - 1, 'leave no update.* expected fewer'),
    ],
)
def test_sizes_that_do_not_fit_are_refused(name, value, message, tmp_path):
  config = configs.TrainConfig('Pendulum-v1', num_steps=2**31 - 1)
  with pytest.raises(errors.UserError, match=f'{name}={value}: .*{message}'):
    trainer.AgentTrainer(config, str(tmp_path / 'run'), {name: value})
  assert not (tmp_path / 'run').exists()
