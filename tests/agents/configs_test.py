"""Tests of the settings: the paper's numbers, and none that nobody reads."""

import dataclasses
import functools
import math
import pathlib
import re

import pytest

from srdice_tf import errors
from srdice_tf.agents import configs

_SOURCES = '\n'.join(
    path.read_text()
    for path in pathlib.Path(configs.__file__).parent.glob('*.py')
)


@pytest.mark.parametrize(
    ('owner', 'field'),
    [
        (config.__name__, field.name)
        for config in (
            configs.Td3Config, configs.DdqnConfig, configs.TrainConfig
        )
        for field in dataclasses.fields(config)
    ],
)
def test_each_field_is_read(owner, field):
  del owner
  assert re.search(rf'(config|parameters|hyperparameters)\.{field}\b', _SOURCES)


def test_td3_has_the_papers_numbers():
  config = configs.Td3Config()
  assert (config.batch_size, config.learning_rate) == (256, 3e-4)
  assert (config.gamma, config.tau, config.delay) == (0.99, 0.005, 2)
  assert (config.target_noise, config.target_noise_clip) == (0.2, 0.5)
  assert (config.exploration_noise, config.random_steps) == (0.1, 25_000)


def test_double_dqn_has_the_papers_numbers():
  config = configs.DdqnConfig()
  assert (config.learning_rate, config.adam_epsilon) == (6.25e-5, 1.5e-4)
  assert (config.batch_size, config.target_period) == (32, 8_000)
  assert (config.initial_epsilon, config.final_epsilon) == (1.0, 0.01)
  assert config.epsilon_decay_steps == 250_000
  assert (config.random_steps, config.updates_per_step) == (20_000, 0.25)


@pytest.mark.parametrize('field', ['num_steps', 'eval_every', 'eval_episodes'])
def test_counts_are_positive(field):
  with pytest.raises(errors.UserError, match=f'^{field}=0: .*(least|from) 1'):
    configs.TrainConfig('Pendulum-v1', **{field: 0})


def test_settings_replace_defaults():
  parameters = configs.override(configs.DdqnConfig(), {'n_step': 3}, 'ddqn')
  assert (parameters.n_step, parameters.batch_size) == (3, 32)
  with pytest.raises(errors.UserError, match='tau=0.1: agent=ddqn has no such'):
    configs.override(configs.DdqnConfig(), {'tau': 0.1}, 'ddqn')
  priorities = {'min_priority': 0.1}
  with pytest.raises(errors.UserError, match='agent=ddqn has no such'):
    configs.override(configs.DdqnConfig(), priorities, 'ddqn')
  found = configs.override(configs.DdqnConfig(), priorities, 'ddqn_per')
  assert found.min_priority == 0.1


@pytest.mark.parametrize(
    'name, value',
    [('gamma', 1.0), ('gamma', 0.0), ('tau', 1.5), ('tau', 0.0),
     ('batch_size', 0), ('updates_per_step', 101.0),
     ('learning_rate', -1e-3), ('target_noise', -0.1)],
)
def test_settings_out_of_range_are_refused(name, value):
  with pytest.raises(errors.UserError, match=f'^{name}={value}: expected'):
    configs.override(configs.Td3Config(), {name: value}, 'td3')


_CONFIGS = (configs.Td3Config, configs.DdqnConfig, configs.TrainConfig)


@pytest.mark.parametrize(
    'config, field',
    [
        (config, field.name)
        for config in _CONFIGS
        for field in dataclasses.fields(config)
        if field.type in (int, float)
    ],
)
def test_each_number_has_a_range(config, field):
  make = functools.partial(config, 'x') if config == _CONFIGS[2] else config
  for value in (-1, math.nan, math.inf):
    with pytest.raises(errors.UserError, match=f'^{field}={value}: expected'):
      make(**{field: value})


@pytest.mark.parametrize(
    'agent, name, value',
    [('td3', 'tau', 1.0), ('td3', 'target_noise', 0.0),
     ('td3', 'random_steps', 0), ('ddqn', 'small_network', False),
     ('ddqn', 'final_epsilon', 0.0)],
)
def test_settings_may_be_at_the_ends_of_their_ranges(agent, name, value):
  defaults = configs.Td3Config() if agent == 'td3' else configs.DdqnConfig()
  changed = configs.override(defaults, {name: value}, agent)
  assert getattr(changed, name) == value
