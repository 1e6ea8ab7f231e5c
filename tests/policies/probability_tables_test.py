"""Tests for policies as tables of probabilities."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.policies import actions
from srdice_tf.policies import loading
from srdice_tf.policies import probability_tables
from srdice_tf.policies import settings


def _load(env_id, name='pretrained'):
  env = environments.load(env_id)
  return loading.load(name, env_id, env.observation_spec(), env.action_spec())


def _specs(env_id='FiveStateChain'):
  env = environments.load(env_id)
  return env.observation_spec(), env.action_spec()


def test_actions_have_the_frequencies_of_the_table():
  table = np.array([[0.2, 0.8], [1, 0], [0.5, 0.5], [0, 1], [0.9, 0.1]])
  policy = probability_tables.TabularPolicy(*_specs(), table)
  np.testing.assert_allclose(
      actions.probability_table(policy, 5), table, rtol=1e-15
  )
  states = tf.repeat(tf.range(5, dtype=tf.int64), 4000)
  step = ts.restart(states, batch_size=20_000)
  taken = policy.action(step, seed=tf.constant([1, 2])).action
  means = tf.reshape(taken, [5, 4000]).numpy().mean(axis=1)
  np.testing.assert_allclose(means, table[:, 1], atol=0.03)
  view = actions.target_actions(policy)
  parameters = view.parameters(states)
  drawn = view.sample(parameters, tf.random.Generator.from_seed(0))
  means = tf.reshape(drawn, [5, 4000]).numpy().mean(axis=1)
  np.testing.assert_allclose(means, table[:, 1], atol=0.03)


def test_dual_dices_policies_on_the_grid():
  policy = _load('GridWalk')
  target = actions.probability_table(settings.target_policy(policy), 100)
  # On and above the diagonal x grows, below it y does; 0.1 is uniform.
  np.testing.assert_allclose(target[34], [0.925, 0.025, 0.025, 0.025])
  np.testing.assert_allclose(target[33], [0.925, 0.025, 0.025, 0.025])
  np.testing.assert_allclose(target[43], [0.025, 0.925, 0.025, 0.025])
  for alpha in (0, 0.33, 0.66):
    setting = settings.setting(f'alpha{alpha}', policy.action_spec)
    assert setting.num_transitions == 80_000
    behaviour = settings.behaviour_policy(policy, setting)
    exploration = 0.1 + 0.6 * (1 - alpha)
    expected = np.full(4, exploration / 4)
    expected[0] += 1 - exploration
    table = actions.probability_table(behaviour, 100)
    np.testing.assert_allclose(table[34], expected, rtol=1e-12)


def test_shipped_policies():
  np.testing.assert_array_equal(
      actions.probability_table(_load('FiveStateChain'), 5),
      np.full((5, 2), 0.5),
  )
  first = actions.probability_table(_load('RandomMDP-6-3-2-0'), 6)
  second = actions.probability_table(_load('RandomMDP-6-3-2-1'), 6)
  np.testing.assert_allclose(first.sum(axis=1), 1.0)
  assert np.abs(first - second).max() > 0.1
  assert loading.checksum(_load('RandomMDP-6-3-2-0')) != loading.checksum(
      _load('RandomMDP-6-3-2-1')
  )


def test_settings_of_finite_mdps():
  observation_spec, action_spec = _specs()
  assert settings.default_setting(action_spec, observation_spec) == 'alpha0'
  assert settings.default_setting(action_spec) == 'main'
  policy = _load('FiveStateChain')
  noise = settings.behaviour_policy(
      policy, settings.setting('noise', action_spec)
  )
  assert actions.probability_table(noise, 5) is None  # Its episodes differ.
  step = ts.restart(tf.zeros([1000], tf.int64), batch_size=1000)
  state = noise.get_initial_state(1000)
  taken = noise.action(step, state, seed=tf.constant([1, 2])).action
  assert np.mean(taken) == pytest.approx(0.5, abs=0.1)


def test_tables_in_files(tmp_path):
  path = tmp_path / 'table.npy'
  table = np.array([[0.25, 0.75]] * 5)
  np.save(path, table)
  policy = _load('FiveStateChain', str(path))
  np.testing.assert_allclose(actions.probability_table(policy, 5), table)


@pytest.mark.parametrize(
    'table, message',
    [
        (np.full((4, 2), 0.5), r'shape \(4, 2\), expected \(5, 2\)'),
        ([[0.5, 0.5]] * 4 + [[0.5, 0.6]], 'rows of 1 states .* state 4'),
        ([[1.5, -0.5]] + [[0.5, 0.5]] * 4, 'rows of 1 states .* state 0'),
        ([[np.nan, 0.5]] * 5, 'rows of 5 states'),
    ],
)
def test_tables_that_are_no_policies(table, message, tmp_path):
  path = str(tmp_path / 'table.npy')
  np.save(path, table)
  with pytest.raises(errors.UserError, match=f'{path}: .*{message}'):
    _load('FiveStateChain', path)


def test_file_that_is_no_table(tmp_path):
  path = tmp_path / 'table.npy'
  path.write_text('probabilities')
  with pytest.raises(errors.UserError, match='^policy=.*table.npy: '):
    _load('FiveStateChain', str(path))
