"""Replay of frames: each is stored once, all updates in one compiled call."""

import os

import numpy as np
import reverb
import tensorflow as tf

from srdice_tf.agents import collector
from srdice_tf.agents import experience_server
from srdice_tf.agents import learner
from srdice_tf.agents import priorities
from srdice_tf.environments import batched

_STEP_TYPE, _ACTION, _REWARD, _DISCOUNT = range(4)


class FrameLearner(learner.Learner):
  """Uniform replay of stacks of frames, from a ring of the newest rows.

  Reverb keeps the experience, a block of rows per item, and writes the
  checkpoints. Minibatches come from a copy in two tensors, the frames and the
  rest, in the order of time. The environments alternate, so the successor of a
  row is `num_envs` places after it.
  """

  def __init__(self, agent, parameters, num_steps: int):
    """Starts the replay.

    Args:
      agent: a TF-Agents DQN agent for stacks of frames [H, W, K].
      parameters: its DdqnConfig.
      num_steps: of the whole run, so that no room is kept for more.
    """
    self._agent = agent
    self._parameters = parameters
    self._num_envs = parameters.num_envs
    height, width, self._stack = agent.time_step_spec.observation.shape
    # There are a few more rows than steps: the last state of an episode has one
    # too.
    block = max(parameters.block_steps, parameters.num_envs)
    room = num_steps + num_steps // 100 + 4 * block
    capacity = min(parameters.replay_capacity, room)
    self._capacity = capacity // self._num_envs * self._num_envs
    self._frames = tf.Variable(
        tf.zeros((self._capacity, height, width), tf.uint8), trainable=False
    )  # [C, H, W]
    self._steps = tf.Variable(
        tf.zeros((self._capacity, 4)), trainable=False
    )  # [C, 4]
    self._num_added = 0
    self._server = experience_server.ExperienceServer(self._make_table)

  def _make_table(self, name: str) -> reverb.Table:
    parameters = self._parameters
    return reverb.Table(
        name=name,
        sampler=reverb.selectors.Fifo(),
        remover=reverb.selectors.Fifo(),
        max_size=max(1, self._capacity // parameters.block_steps + 1),
        rate_limiter=reverb.rate_limiters.MinSize(1),
    )

  def gather(self, source, choose, num_steps):
    block = source.collect_rows(choose, num_steps)
    self.add_rows(block)
    return int((block.step_type != batched.LAST).sum())

  def add(self, block):
    raise NotImplementedError('Frames are added in rows.')

  def add_rows(self, block: collector.Rows):
    frames = block.observation[..., -1]  # [T, E, H, W]
    rest = (block.step_type, block.action, block.reward, block.discount)
    steps = np.stack(rest, axis=-1).astype(np.float32)  # [T, E, 4]
    self._server.insert([frames, steps])
    self._append(frames, steps)

  def _append(self, frames, steps):
    count = steps.shape[0] * steps.shape[1]
    places = (self._num_added + np.arange(count)) % self._capacity
    frames = frames.reshape(count, *frames.shape[2:])
    self._frames.scatter_nd_update(places[:, None], frames)
    self._steps.scatter_nd_update(places[:, None], steps.reshape(count, -1))
    self._num_added += count

  def learn(self, num_updates, seed, part=None):
    part = part or range(num_updates)
    low, high = self._bounds()
    loss = self._learn(
        tf.constant(num_updates), tf.constant(part.start),
        tf.constant(part.stop), tf.constant(low), tf.constant(high),
        tf.constant(seed),
    )
    return {'loss': float(loss)}

  def _bounds(self) -> tuple[int, int]:
    """Returns the first row with its whole history, and the end of these."""
    kept = self._num_added - self._capacity
    low = max(0, kept + (self._stack - 1) * self._num_envs)
    return low, self._num_added - self._parameters.n_step * self._num_envs

  @tf.function(autograph=False)
  def _learn(self, num_updates, start, stop, low, high, seed):
    shape = (num_updates, self._parameters.batch_size)
    rows = tf.random.stateless_uniform(shape, seed, low, high, tf.int32)

    def update(i, total):
      return i + 1, total + self._update(rows[i], 1.0)[0]

    _, total = tf.while_loop(
        lambda i, _: i < stop, update, (start, tf.constant(0.0))
    )
    return total / tf.cast(stop - start, tf.float32)

  def _update(self, rows, weights):
    """Returns the loss and the TD errors [B], 0 where nothing begins."""
    batch, is_transition = self.transitions(rows)
    experience = learner.as_experience(self._agent, batch)
    info = self._agent.train(experience, weights * is_transition)
    return info.loss, info.extra.td_error * is_transition

  def transitions(self, rows: tf.Tensor):
    """Returns what begins in `rows` [B], over several steps, and a mask.

    The reward is the discounted sum over the steps, fewer than `n_step` where
    the episode ends. The discount lacks one factor gamma, which the agent adds.
    The mask is 0 for the last row of an episode: nothing begins there.
    """
    count = self._parameters.n_step
    ahead = rows[:, None] + self._num_envs * tf.range(count)  # [B, N]
    steps = tf.gather(self._steps, ahead % self._capacity)  # [B, N, 4]
    in_play = tf.cast(steps[..., _STEP_TYPE] != batched.LAST, tf.float32)
    alive = tf.math.cumprod(in_play, axis=1)  # [B, N]
    powers = self._parameters.gamma ** tf.range(count, dtype=tf.float32)  # [N]
    length = tf.reduce_sum(alive, axis=1)  # [B]
    not_done = tf.where(alive > 0.0, steps[..., _DISCOUNT], 1.0)  # [B, N]
    next_rows = rows + self._num_envs * tf.cast(length, tf.int32)  # [B]
    parts = collector.Steps(
        observation=self.observations(rows),
        action=steps[:, 0, _ACTION],
        reward=tf.reduce_sum(powers * alive * steps[..., _REWARD], axis=1),
        discount=tf.reduce_prod(not_done, axis=1)
        * self._parameters.gamma ** (length - 1.0),
        next_observation=self.observations(next_rows),
    )
    return parts, alive[:, 0]

  def observations(self, rows: tf.Tensor) -> tf.Tensor:
    """Returns the stacks [B, H, W, K] whose newest frames are in `rows`."""
    back = self._num_envs * tf.range(self._stack - 1, -1, -1)  # [K]
    # Not below 0: there is nothing before the first row.
    places = tf.maximum(rows[:, None] - back, 0) % self._capacity  # [B, K]
    frames = tf.gather(self._frames, places)  # [B, K, H, W]
    types = tf.gather(self._steps, places[:, 1:])[..., _STEP_TYPE]
    # A frame exists if no episode began after it.
    goes_on = tf.cast(types != batched.FIRST, tf.float32)  # [B, K - 1]
    exists = tf.math.cumprod(goes_on, axis=1, reverse=True)  # [B, K - 1]
    exists = tf.pad(exists, [[0, 0], [0, 1]], constant_values=1.0)  # [B, K]
    frames *= tf.cast(exists, tf.uint8)[:, :, None, None]
    return tf.transpose(frames, [0, 2, 3, 1])

  def save(self, directory):
    np.save(os.path.join(directory, 'added.npy'), self._num_added)
    self._server.save(directory)

  def restore(self, directory):
    num_added = int(np.load(os.path.join(directory, 'added.npy')))
    self._server.restore(directory)
    blocks = list(self._server.read_all())
    # Rows go where they were: the oldest one need not be the first.
    self._num_added = num_added - sum(steps[..., 0].size for _, steps in blocks)
    for frames, steps in blocks:
      self._append(frames, steps)

  def close(self):
    self._server.stop()


class PrioritisedFrameLearner(FrameLearner):
  """The same frames, with rows drawn by their last TD error.

  Reverb's table of priorities holds only the numbers of the rows.
  """

  def __init__(self, agent, parameters, num_steps: int):
    super().__init__(agent, parameters, num_steps)
    # Rows that have both their history and their successors in the ring.
    missing = (self._stack - 1 + parameters.n_step) * self._num_envs
    self._priorities = priorities.Priorities(
        parameters, self._capacity - missing
    )

  def add_rows(self, block):
    _, begin = self._bounds()
    super().add_rows(block)
    _, end = self._bounds()
    rows = np.arange(max(begin, 0), end, dtype=np.int32)
    self._priorities.add((row,) for row in rows)

  def learn(self, num_updates, seed, part=None):
    del seed  # Reverb draws.
    losses = [self._draw_and_update() for _ in part or range(num_updates)]
    return {'loss': float(np.mean(losses))}

  def _draw_and_update(self) -> float:
    samples, weights = self._priorities.sample()
    rows = np.stack([sample.data[0] for sample in samples])  # [B]
    loss, td_errors = self._train(tf.constant(rows), tf.constant(weights))
    self._priorities.update(samples, td_errors.numpy())
    return float(loss)

  @tf.function(autograph=False)
  def _train(self, rows, weights):
    return self._update(rows, weights)

  def save(self, directory):
    super().save(directory)
    self._priorities.save(directory)

  def restore(self, directory):
    super().restore(directory)
    self._priorities.restore(directory)

  def close(self):
    super().close()
    self._priorities.close()
