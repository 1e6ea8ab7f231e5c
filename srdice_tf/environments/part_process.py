"""The process that steps a part of a batch of environments.

`split_batch` starts it. It imports no TensorFlow, and not the program that asks
for it: environments are made from what gymnasium knows of them there. Both talk
through a socket, by commands, and share the memory of what environments show.
"""

import dataclasses
from multiprocessing import connection
import pickle
import signal
import sys
import warnings

import gymnasium

from srdice_tf import errors
from srdice_tf.environments import batch_rows
from srdice_tf.environments import making
from srdice_tf.environments import seeded_episodes

RESET, STEP = b'reset', b'step'
# The main program's own module, which is another one here.
_MAIN = b'__main__'


@dataclasses.dataclass(frozen=True)
class Wanted:
  """What the environments of a batch are.

  Attributes:
    env_id: of each.
    seed: of the batch.
    max_episode_steps: replaces the environment's own time limit.
    single_episode: whether each stays at the end of its first episode.
  """

  env_id: str
  seed: int
  max_episode_steps: int | None
  single_episode: bool


@dataclasses.dataclass(frozen=True)
class Part:
  """What a process is asked for.

  Attributes:
    wanted: all environments of the batch.
    spec: what gymnasium knows of them where they are asked for.
    numbers: of those that are stepped in the process.
    layout: of the shared memory.
    trial_steps: that both sides play first, to compare.
  """

  wanted: Wanted
  spec: gymnasium.envs.registration.EnvSpec
  numbers: range
  layout: batch_rows.Layout
  trial_steps: int

  def to_bytes(self) -> bytes | None:
    """Returns what another process reads; None if none could."""
    try:
      data = pickle.dumps(self)
    except Exception:  # Of the user's classes, for any reason.
      return None
    return None if _MAIN in data else data


def main():
  """Steps environments until the other side of the socket is closed."""
  # The process that asks answers Ctrl-C, and whoever ends a whole job. It has
  # the same environments, and so the same warnings.
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
  warnings.showwarning = lambda *unused: None
  socket, memory = map(int, sys.argv[1:3])
  with connection.Connection(socket) as pipe:
    try:
      _serve(pipe, memory)
    except (EOFError, OSError):
      pass  # It has closed the socket or has ended.


def _serve(pipe: connection.Connection, memory: int):
  """Makes the environments, says so by a trial, and follows commands."""
  try:
    part = pickle.loads(pipe.recv_bytes())
    gymnasium.registry[part.spec.id] = part.spec
    trial = _make(part.wanted, part.layout.num_envs)
    envs = [_make(part.wanted, number) for number in part.numbers]
    checksum = trial.trial(part.trial_steps)
    trial.close()
  except EOFError:
    raise
  except (Exception, SystemExit):  # Of the user's code, or what it imports.
    pipe.send(None)
    return
  pipe.send(checksum)
  try:
    rows, actions = part.layout.arrays(memory)
    rows = rows.part(part.numbers)
    actions = actions[part.numbers.start : part.numbers.stop]  # [B', ...]
    single_episode = part.wanted.single_episode
    while command := pipe.recv_bytes():
      pipe.send(_act(envs, command, rows, actions, single_episode))
  finally:
    for env in envs:
      env.close()


def _make(wanted: Wanted, number: int) -> seeded_episodes.SeededEpisodes:
  return seeded_episodes.SeededEpisodes(
      making.make(wanted.env_id, wanted.max_episode_steps),
      making.seed_of(wanted.seed, number),
      making.frame_stack(wanted.env_id),
  )


def _act(envs, command: bytes, rows, actions, single_episode: bool):
  """Returns what an environment raised: line and details, or None."""
  try:
    if command == RESET:
      batch_rows.begin(envs, rows)
    else:
      batch_rows.advance(envs, rows, actions, single_episode)
  except errors.UserError as error:
    return str(error), error.details
  return None
