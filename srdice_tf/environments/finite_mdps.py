"""Finite MDPs by id, and the gymnasium environment that plays any of them."""

import functools
import re

import gymnasium
import numpy as np

from srdice_tf import errors
from srdice_tf import finite

CHAIN, GRID_WALK, RANDOM = 'FiveStateChain', 'GridWalk', 'RandomMDP'
_RANDOM_FORM = f'{RANDOM}-<states>-<actions>-<branching>-<seed>'
# Of an episode. DualDICE's code walks 400 steps on its grid.
_TIME_LIMITS = {CHAIN: 200, GRID_WALK: 400, RANDOM: 200}
_MAX_ENTRIES = 10_000_000


def five_state_chain() -> finite.FiniteMDP:
  """Returns the paper's toy: x1..x5, action 0 left, 1 right, the ends loop.

  Episodes begin in x1 and never terminate. The paper evaluates ratios only and
  names no reward; arriving in x5 pays 1 here, so that values differ between
  policies.
  """
  num_states = 5
  states = np.arange(num_states)
  after = np.stack([states - 1, states + 1], axis=1)  # [S, A]
  after = np.clip(after, 0, num_states - 1)
  return _deterministic(
      after, arrival_rewards=np.eye(num_states)[-1], start=np.eye(num_states)[0]
  )


def grid_walk(length: int = 10) -> finite.FiniteMDP:
  """Returns the walk of DualDICE's experiments to the corner of a grid.

  State x * length + y; actions 0 and 1 increase x and y, 2 and 3 decrease them,
  the borders hold. The reward is exp(-2 d / length), d steps from the last
  corner. Episodes begin anywhere and never terminate.
  """
  x, y = np.divmod(np.arange(length**2), length)  # [S] each
  last = length - 1
  moves = [(1, 0), (0, 1), (-1, 0), (0, -1)]
  after = np.stack(
      [
          np.clip(x + dx, 0, last) * length + np.clip(y + dy, 0, last)
          for dx, dy in moves
      ],
      axis=1,
  )  # [S, A]
  return _deterministic(
      after,
      arrival_rewards=np.exp(-2.0 * (last - x + last - y) / length),
      start=np.full(length**2, 1.0 / length**2),
  )


def random_mdp(
    num_states: int, num_actions: int, branching: int, seed: int
) -> finite.FiniteMDP:
  """Returns a random MDP.

  Args:
    num_states: S.
    num_actions: A.
    branching: to how many states a pair (s, a) can lead.
    seed: of the MDP.
  """
  rng = np.random.default_rng(seed)
  shape = num_states, num_actions
  order = rng.permuted(
      np.broadcast_to(np.arange(num_states), (*shape, num_states)), axis=-1
  )  # [S, A, S]
  transition = np.zeros((*shape, num_states))
  np.put_along_axis(
      transition,
      order[..., :branching],
      rng.dirichlet(np.ones(branching), shape),
      axis=-1,
  )
  rewards = rng.uniform(size=shape)
  start = rng.dirichlet(np.ones(num_states))
  return finite.FiniteMDP(transition, rewards, start)


def _deterministic(after, arrival_rewards, start) -> finite.FiniteMDP:
  """Returns the MDP whose pairs lead to the states `after` [S, A]."""
  transition = np.eye(len(start))[after]  # [S, A, S]
  return finite.FiniteMDP(transition, arrival_rewards[after], start)


@functools.cache
def mdp_of(env_id: str) -> finite.FiniteMDP | None:
  """Returns the MDP behind an id; None if the environment is not one of ours.

  Raises:
    UserError: if the id of a random MDP cannot be read.
  """
  if env_id == CHAIN:
    return five_state_chain()
  if env_id == GRID_WALK:
    return grid_walk()
  if not env_id.startswith(RANDOM):
    return None
  return random_mdp(*random_parameters(env_id))


def random_parameters(env_id: str) -> tuple[int, int, int, int]:
  """Returns states, actions, branching and seed of a random MDP's id."""
  match = re.fullmatch(rf'{RANDOM}-(\d+)-(\d+)-(\d+)-(\d+)', env_id)
  if match is None:
    raise errors.UserError('env', env_id, f'expected {_RANDOM_FORM}')
  num_states, num_actions, branching, seed = map(int, match.groups())
  if not (num_actions >= 1 and 1 <= branching <= num_states):
    raise errors.UserError(
        'env',
        env_id,
        f'expected {_RANDOM_FORM} with at least one state and action and a'
        ' branching from 1 to the number of states',
    )
  if num_states**2 * num_actions > _MAX_ENTRIES:
    raise errors.UserError(
        'env',
        env_id,
        f'states * actions * states is {num_states**2 * num_actions:,},'
        f' expected {_MAX_ENTRIES:,} or less',
    )
  return num_states, num_actions, branching, seed


class FiniteEnvironment(gymnasium.Env):
  """Plays a finite MDP whose episodes never terminate."""

  metadata = {'render_modes': []}

  def __init__(self, env_id: str):
    mdp = mdp_of(env_id)
    self.observation_space = gymnasium.spaces.Discrete(mdp.num_states)
    self.action_space = gymnasium.spaces.Discrete(mdp.num_actions)
    self._rewards = mdp.rewards
    self._cumulative = np.cumsum(mdp.transition, axis=-1)  # [S, A, S]
    self._start = np.cumsum(mdp.start)  # [S]
    self._state = 0

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._state = self._draw(self._start)
    return self._state, {}

  def step(self, action):
    reward = float(self._rewards[self._state, action])
    self._state = self._draw(self._cumulative[self._state, action])
    return self._state, reward, False, False, {}

  def _draw(self, cumulative: np.ndarray) -> int:
    # Scaled by the last sum, which rounding leaves near 1.
    uniform = self.np_random.random() * cumulative[-1]
    return int(np.searchsorted(cumulative, uniform, side='right'))


def register(env_id: str):
  """Makes an id known to gymnasium if it is that of a finite MDP.

  Raises:
    UserError: if the id of a random MDP cannot be read.
  """
  if env_id not in gymnasium.registry and mdp_of(env_id) is not None:
    gymnasium.register(
        env_id,
        entry_point=FiniteEnvironment,
        max_episode_steps=_TIME_LIMITS[env_id.partition('-')[0]],
        kwargs={'env_id': env_id},
    )
