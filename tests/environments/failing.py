"""An environment that fails in the way its id says, for tests.

`TestFailing-<how>-v0` counts steps; in step 3 of each episode it does <how>.
Named as `tests.environments.failing:TestFailing-raise-v0` gymnasium imports it.
"""

import sys

import gymnasium
import numpy as np

STEP = 3
_VALUES = {
    'none-reward': (None, None),
    'nan-reward': (None, float('nan')),
    'text-reward': (None, '1.0'),
    'large-reward': (None, 1e300),
    'huge-reward': (None, 10**400),
    'array-reward': (None, np.ones(2)),
    'short': (np.zeros(1), 1.0),
    'scalar': (0.0, 1.0),
    'ragged': ([[0.0], [1.0, 2.0]], 1.0),
    'none': (None, 1.0),
    'text': (['a', 'b'], 1.0),
    'nan': (np.array([0.0, np.nan]), 1.0),
    'infinite': (np.array([0.0, np.inf]), 1.0),
}
HOWS = (*_VALUES, 'raise', 'exit', 'reset', 'make', 'spaces', 'tuple', 'close')


class Failing(gymnasium.Env):
  """Observes (the step, the last action); pays 1."""

  observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float64)
  action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

  def __init__(self, how: str):
    self._how = how
    self._num_resets = 0
    if how == 'make':
      raise ValueError('the model is\nnot there')

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._num_resets += 1
    if self._how == 'reset' and self._num_resets == 2:
      raise RuntimeError('no second time')
    self._step = 0
    return np.zeros(2), {}

  def step(self, action):
    self._step += 1
    observation, reward = np.array([self._step, action[0]]), 1.0
    ends = self._step == 5
    if self._step == STEP:
      if self._how == 'raise':
        self._fall()
      if self._how == 'exit':
        sys.exit(0)
      if self._how == 'tuple':
        return observation, reward
      if self._how in _VALUES:
        value, reward = _VALUES[self._how]
        if 'reward' not in self._how:
          observation = value
    return observation, reward, ends, False, {}

  def _fall(self):
    raise ZeroDivisionError('the simulator\nfell over')

  def close(self):
    if self._how == 'close':
      raise OSError('it does not close')


class _NoSpaces(gymnasium.Env):

  def __init__(self, how: str):
    del how


def id_of(how: str) -> str:
  return f'TestFailing-{how}-v0'


for _how in HOWS:
  gymnasium.register(
      id_of(_how),
      entry_point=_NoSpaces if _how == 'spaces' else Failing,
      kwargs={'how': _how},
  )
