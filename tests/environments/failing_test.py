"""Tests that environments that fail are named in one line."""

import gymnasium
import numpy as np
import pytest

from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.environments import gymnasium_env
from tests.environments import failing

_STEPS = {
    'raise': 'ZeroDivisionError: the simulator fell over',
    'exit': 'SystemExit: 0',
    'tuple': 'ValueError: not enough values',
    'none-reward': 'the reward is None, expected a finite number',
    'nan-reward': 'the reward is nan',
    'text-reward': "the reward is '1.0'",
    'large-reward': 'the reward is 1e+300',
    'huge-reward': 'the reward is 1000',
    'array-reward': 'the reward is array([1., 1.])',
    'short': 'the observation has shape (1,), expected (2,)',
    'scalar': 'the observation has shape (), expected (2,)',
    'ragged': 'ValueError: ',
    'none': 'the observation has shape (), expected (2,)',
    'text': 'the observation is of <U1, expected float32',
    'nan': 'the observation has values that are NaN or infinite',
    'infinite': 'the observation has values that are NaN or infinite',
}


@pytest.mark.parametrize('how', _STEPS)
def test_a_step_that_fails_is_named(how):
  env = environments.load_batch(failing.id_of(how), 1)
  env.reset()
  with pytest.raises(errors.UserCodeError) as error:
    for _ in range(failing.STEP):
      env.step(np.zeros((1, 1), np.float32))
  message = str(error.value)
  assert message.startswith(f'env={failing.id_of(how)}: episode 0, step 3: ')
  assert _STEPS[how] in message and '\n' not in message
  raises = 'raise', 'exit', 'tuple', 'ragged'
  assert bool(error.value.details) == (how in raises)


def test_the_traceback_is_that_of_the_users_code():
  env = environments.load_batch(failing.id_of('raise'), 1)
  env.reset()
  with pytest.raises(errors.UserCodeError) as error:
    for _ in range(failing.STEP):
      env.step(np.zeros((1, 1), np.float32))
  lines = error.value.details.splitlines()
  assert lines[0] == 'Traceback (most recent call last):'
  assert 'tests/environments/failing.py' in lines[1] and 'in step' in lines[1]
  assert 'in _fall' in error.value.details
  assert 'fell over' in lines[-1]
  assert 'gymnasium' not in error.value.details


def test_a_reset_that_fails_is_named():
  env = environments.load_batch(failing.id_of('reset'), 1)
  env.reset()
  with pytest.raises(
      errors.UserCodeError, match='episode 1, its reset: RuntimeError: no sec'
  ) as error:
    for _ in range(6):
      env.step(np.zeros((1, 1), np.float32))
  assert 'in reset' in error.value.details


def test_an_environment_that_cannot_be_made():
  with pytest.raises(
      errors.UserCodeError, match='cannot be made: ValueError: the model is not'
  ) as error:
    environments.load(failing.id_of('make'))
  assert 'in __init__' in error.value.details
  with pytest.raises(errors.UserError, match='cannot be made: .*observation_'):
    environments.load(failing.id_of('spaces'))
  with pytest.raises(errors.UserError, match='no_such_module'):
    environments.load('no_such_module:Env-v0')


def test_one_that_does_not_close_is_no_failure():
  with pytest.warns(UserWarning, match='cannot be closed: OSError: it does'):
    environments.load(failing.id_of('close')).close()


class _Shifted(gymnasium.Env):
  """Walks right by the action, from 10 to 12; pays the action's own number."""

  observation_space = gymnasium.spaces.Discrete(3, start=10)
  action_space = gymnasium.spaces.Discrete(2, start=-1)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.state = 10
    return self.state, {}

  def step(self, action):
    assert action in self.action_space
    self.state = self.state + action + 1
    return self.state, float(action), False, False, {}


def test_discrete_spaces_are_numbered_from_0():
  env = gymnasium_env.GymnasiumEnvironment(_Shifted(), seed=0)
  assert (env.observation_spec().minimum, env.observation_spec().maximum) == (
      0, 2,
  )
  steps = [env.reset(), *(env.step(action) for action in (0, 1, 1))]
  assert [int(step.observation) for step in steps] == [0, 0, 1, 2]
  assert [float(step.reward) for step in steps] == [0.0, -1.0, 0.0, 0.0]
  with pytest.raises(errors.UserCodeError, match='observation is 13, expected'):
    env.step(1)


def test_discrete_observations_are_whole_numbers():
  env = _Shifted()
  wrapped = gymnasium_env.GymnasiumEnvironment(env, seed=0)
  wrapped.reset()
  for state in (10.5, None, '11', np.array([11])):
    env.state = state
    env.step = lambda action, state=state: (state, 0.0, False, False, {})
    with pytest.raises(errors.UserCodeError, match='the observation is '):
      wrapped.step(0)


def test_pixels_must_fit_their_type():
  class Pixels(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (1, 1, 2), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)
    result = np.array([[[1, 2]]])

    def reset(self, *, seed=None, options=None):
      return self.result, {}

  env = Pixels()
  wrapped = gymnasium_env.GymnasiumEnvironment(env, seed=0)
  assert wrapped.begin().dtype == np.uint8
  for result in ([[[1.0, 2.0]]], [[[1, 300]]]):
    env.result = np.array(result)
    with pytest.raises(errors.UserCodeError, match='expected uint8'):
      wrapped.begin()


def test_whole_numbers_in_vectors_become_floats():
  counts = gymnasium.spaces.Box(0, 9, (4,), np.int32)
  spec = gymnasium_env.observation_spec(counts, 'X', False)
  assert (spec.shape, spec.dtype) == ((4,), np.float32)


def test_whole_numbers_as_actions_of_a_box_are_not_supported():
  with pytest.raises(errors.UserError, match='Box of floats'):
    gymnasium_env.action_spec(
        gymnasium.spaces.Box(0, 5, (2,), np.int64), 'X'
    )
