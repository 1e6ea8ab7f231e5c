"""Speed of the estimators' steps on frames, against bare convolutions."""

import time

import numpy as np
import tensorflow as tf

from srdice_tf import environments
from srdice_tf import memory
from srdice_tf import training
from srdice_tf.benchmarks import measure
from srdice_tf.benchmarks import step_costs
from srdice_tf.data import datasets
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import tasks
from srdice_tf.policies import loading
from srdice_tf.policies import settings

_ENV_ID = 'ALE/Pong-v5'
_EPISODE = 500
# Sizes of input and output, kernel and stride of each convolution.
_CONVOLUTIONS = (
    ((84, 84, 4), (20, 20, 32), 8, 4),
    ((20, 20, 32), (9, 9, 64), 4, 2),
    ((9, 9, 64), (7, 7, 64), 3, 1),
)
_DECODER = (
    ((9, 9, 64), (7, 7, 64), 3, 1),
    ((20, 20, 32), (9, 9, 64), 4, 2),
    ((84, 84, 1), (20, 20, 32), 8, 4),
)


def steps(num_transitions: int) -> list[measure.Measurement]:
  """Returns ratios of step times, batch 32; the data are random numbers."""
  problem = _problem(num_transitions)
  config = presets.preset('fixed', is_frames=True)
  made = registry.make_estimators(['srdice', 'deep_td'], problem, config, 0)
  phases = {p.name: p for e in made.values() for p in e.phases}
  size, features = config['batch_size'], config['num_features']
  hidden = [config['hidden_units']] * config['hidden_layers']
  actions = problem.inputs.num_actions
  bare = {
      'encoder': _network(size, [*hidden, features, 3136])
      + _transposed(size)
      + _convolutions(size),
      'successor': _twice(size, [*hidden, actions * features]),
      'deep_td': _twice(size, [*hidden, actions]),
  }
  lines = []
  for name, operations in bare.items():
    taken, least = step_costs.compare(
        phases[name], step_costs.repeat(operations)
    )
    lines.append(
        measure.at_most(
            f'{name} step on frames / bare convolutions and products',
            taken / least, 1.6, f'{1e3 * taken:.1f} and {1e3 * least:.1f} ms',
        )
    )
  gathered = _gather_seconds(problem, size)
  lines.append(
      measure.at_most(
          f'gathering {size} transitions of stacks / a deep_td step',
          gathered / taken, 0.1, f'{1e3 * gathered:.2f} ms',
      )
  )
  return lines


def _problem(size: int):
  """A data set of random frames with the shapes of Pong."""
  env = environments.load(_ENV_ID)
  specs = env.observation_spec(), env.action_spec()
  policy = settings.target_policy(loading.load('untrained', _ENV_ID, *specs))
  rng = np.random.default_rng(0)
  num_rows = size + size // _EPISODE + 1
  rows = memory.aligned_empty((num_rows, 84, 84), np.uint8)
  rows[:] = rng.integers(256, size=rows.shape)
  dataset = datasets.Dataset.from_rows(
      rows=rows,
      step_types=np.minimum(np.arange(num_rows) % (_EPISODE + 1), 1),
      actions=rng.integers(specs[1].maximum + 1, size=num_rows),
      rewards=rng.normal(size=num_rows).astype(np.float32),
      not_done=np.ones(num_rows, np.float32),
      frame_stack=4,
  )
  return tasks.make_problem(policy, dataset, specs, gamma=0.99)


def _random(*shape) -> tf.Tensor:
  return tf.random.stateless_normal(shape, (0, 1))


def _convolutions(size: int, backward: bool = True) -> list:
  """Returns the library's own convolutions of the trunk."""
  operations = []
  for i, (before, after, kernel, stride) in enumerate(_CONVOLUTIONS):
    x, y = _random(size, *before), _random(size, *after)
    w = _random(kernel, kernel, before[-1], after[-1])
    operations.append(_forward(x, w, stride))
    if backward:
      operations.append(_filters(x, w, y, stride))
      if i:
        operations.append(_inputs(x, w, y, stride))
  return operations


def _transposed(size: int) -> list:
  """Returns those of the decoder: each is the other's gradient."""
  operations = []
  for after, before, kernel, stride in _DECODER:
    x, y = _random(size, *after), _random(size, *before)
    w = _random(kernel, kernel, after[-1], before[-1])
    operations += [
        _inputs(x, w, y, stride), _filters(x, w, y, stride),
        _forward(x, w, stride),
    ]
  return operations


def _forward(x, w, stride):
  return lambda: tf.nn.conv2d(x, w, stride, 'VALID')


def _filters(x, w, y, stride):
  strides = [1, stride, stride, 1]
  return lambda: tf.raw_ops.Conv2DBackpropFilter(
      input=x, filter_sizes=w.shape, out_backprop=y, strides=strides,
      padding='VALID',
  )


def _inputs(x, w, y, stride):
  return lambda: tf.nn.conv2d_transpose(y, w, x.shape, stride, 'VALID')


def _network(size: int, outputs: list[int], backward: bool = True) -> list:
  """Returns the products of layers from the trunk's 3136 numbers on."""
  operations = []
  for before, after in zip([3136, *outputs], outputs):
    x, y = _random(size, before), _random(size, after)
    w = _random(before, after)
    operations.append(lambda x=x, w=w: tf.matmul(x, w))
    if backward:
      operations.append(lambda x=x, y=y: tf.matmul(x, y, transpose_a=True))
      operations.append(lambda w=w, y=y: tf.matmul(y, w, transpose_b=True))
  return operations


def _twice(size: int, sizes: list[int]) -> list:
  """Returns what a network with gradient and its target network take."""
  return (
      _convolutions(size) + _network(size, sizes)
      + _convolutions(size, False) + _network(size, sizes, False)
  )


def _gather_seconds(problem, size: int) -> float:
  """Returns the time of drawing a minibatch, states and next states."""
  rng = tf.random.Generator.from_seed(0)

  def step():
    batch = problem.sample_logged(size, rng)
    ends = batch.states[0, 0, 0, 0], batch.next_states[0, 0, 0, 0]
    return {'sum': tf.cast(ends[0] + ends[1], tf.float32)}

  call = training.compile_steps(step)
  call(tf.constant(2))
  seconds = []
  for _ in range(3):
    begun = time.perf_counter()
    np.asarray(call(tf.constant(50))['sum'])
    seconds.append((time.perf_counter() - begun) / 50)
  return float(np.median(seconds))
