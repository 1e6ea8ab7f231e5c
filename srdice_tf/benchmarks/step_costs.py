"""Speed of the estimators' steps against their bare matrix products."""

from collections.abc import Sequence
import time
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from srdice_tf import environments
from srdice_tf import training
from srdice_tf.benchmarks import measure
from srdice_tf.data import datasets
from srdice_tf.estimators import phases
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import tasks
from srdice_tf.policies import loading
from srdice_tf.policies import settings

_ENV_ID = 'HalfCheetah-v4'
_ROUNDS = 5
_EPISODE = 1000


class _Pass(NamedTuple):
  """What one network does in a step.

  Attributes:
    sizes: of its layers, the input first.
    batch_size: rows that go through it.
    backward: whether gradients of its weights are taken.
    from_input: whether also that of its input is.
  """

  sizes: Sequence[int]
  batch_size: int
  backward: bool = True
  from_input: bool = False


def steps(env_id: str = _ENV_ID, num_transitions: int = 50_000):
  """Returns ratios of step times; the data are random numbers."""
  problem = random_problem(env_id, num_transitions)
  config = presets.preset('paper', is_frames=False)
  estimators = registry.make_estimators(
      [
          'srdice', 'srdice_closed', 'deep_sr', 'deep_td', 'dual_dice',
          'gradient_dice',
      ],
      problem, config, seed=0,
  )
  by_name = {p.name: p for e in estimators.values() for p in e.phases}
  seconds = {
      name: compare(by_name[name], _bare_products(passes))
      for name, passes in _passes(problem.inputs, config).items()
  }
  lines = [
      measure.at_most(
          f'{name} step / its matrix products',
          taken / bare,
          1.6,
          f'{1e3 * taken:.2f} and {1e3 * bare:.2f} ms',
      )
      for name, (taken, bare) in seconds.items()
  ]
  for name in ('srdice', 'deep_sr'):
    by_name[name].prepare()
    seconds[name] = compare(by_name[name], _bare_products(()))
  taken, successor = seconds['srdice'][0], seconds['successor'][0]
  lines.append(
      measure.at_most(
          "w's step on cached features / successor step",
          taken / successor,
          0.2,
          f'{1e3 * taken:.2f} and {1e3 * successor:.2f} ms',
      )
  )
  taken = solving(by_name['srdice_closed'])
  seconds['srdice_closed'] = taken, 0.0
  lines.append(
      measure.at_most(
          'closed form of w, seconds', taken, 2.0,
          f'{problem.size:,} transitions',
      )
  )
  return lines + _wall_times(estimators, seconds)


def random_problem(env_id: str, size: int):
  """A data set of random numbers with the shapes of an environment's."""
  env = environments.load(env_id)
  specs = env.observation_spec(), env.action_spec()
  policy = settings.target_policy(loading.load('untrained', env_id, *specs))
  rng = np.random.default_rng(0)
  shape = size + size // _EPISODE + 1
  dataset = datasets.Dataset.from_rows(
      rows=rng.normal(size=(shape, *specs[0].shape)).astype(np.float32),
      step_types=np.minimum(np.arange(shape) % (_EPISODE + 1), 1),
      actions=rng.uniform(-1, 1, (shape, *specs[1].shape)).astype(np.float32),
      rewards=rng.normal(size=shape).astype(np.float32),
      not_done=np.ones(shape, np.float32),
  )
  return tasks.make_problem(policy, dataset, specs, gamma=0.99)


def _passes(inputs, config) -> dict[str, tuple[_Pass, ...]]:
  """Returns what the networks of each phase do in a step."""
  width, small = config['num_features'], config['batch_size']
  large, units = config['ratio_batch_size'], config['hidden_units']
  hidden = [inputs.size, *[units] * config['hidden_layers']]
  decoder = [width, *[units] * (config['hidden_layers'] - 1)]
  f_and_w = (
      _Pass([*hidden, 1], 3 * large),
      _Pass([*hidden, 1], 2 * large, backward=False),
      _Pass([*hidden, 1], large),
  )
  return {
      'encoder': (
          _Pass([*hidden[:-1], width], small),
          _Pass([*decoder, inputs.num_state_values], small, True, True),
          _Pass([*decoder, inputs.num_action_values], small, True, True),
      ),
      'successor': (
          _Pass([*hidden, width], small),
          _Pass([*hidden, width], small, backward=False),
      ),
      'deep_td': (
          _Pass([*hidden, 1], small),
          _Pass([*hidden, 1], small, backward=False),
      ),
      'dual_dice': f_and_w,
      'gradient_dice': f_and_w,
  }


def compare(phase: phases.Phase, bare) -> tuple[float, float]:
  """Returns the seconds of a phase's step and of `bare`'s, in turns."""
  phase.prepare()
  call = training.compile_steps(phase.step)
  for warm_up in (call, bare):
    warm_up(tf.constant(2))
  begun = time.perf_counter()
  call(tf.constant(20))
  # About a second in a call, a thousand steps at most.
  count = int(np.clip(20 / (time.perf_counter() - begun), 20, 1000))
  taken = {'step': [], 'bare': []}
  for _ in range(_ROUNDS):
    for name, work in (
        ('step', lambda: call(tf.constant(count))),
        ('bare', lambda: bare(tf.constant(count))),
    ):
      begun = time.perf_counter()
      tf.nest.map_structure(np.asarray, work())
      taken[name].append((time.perf_counter() - begun) / count)
  return float(np.median(taken['step'])), float(np.median(taken['bare']))


def _bare_products(passes):
  """Returns a function of n that makes the products n times, in one call."""
  matmul = lambda *product: lambda: tf.linalg.matmul(*product)
  rng = np.random.default_rng(0)
  random = lambda *shape: tf.constant(rng.normal(size=shape), tf.float32)
  products = []
  for sizes, rows, backward, from_input in passes:
    for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
      x, weights = random(rows, before), random(before, after)
      gradient = random(rows, after)
      products.append(matmul(x, weights, False, False))
      if backward:
        products.append(matmul(x, gradient, True, False))
        if i or from_input:
          products.append(matmul(gradient, weights, False, True))
  return repeat(products)


def repeat(operations):
  """Returns a function of n that runs all operations n times, in one call."""
  counter = tf.Variable(0)

  def step():
    # After something that changes, so that nothing is moved out of the loop;
    # one number of each result, so that none is dropped as unused.
    with tf.control_dependencies([counter.assign_add(1)]):
      ends = [tf.reshape(run(), [-1])[0] for run in operations]
    return {'sum': tf.add_n(ends) if ends else tf.constant(0.0)}

  return training.compile_steps(step)


def solving(phase: phases.Phase) -> float:
  """Returns the seconds of a closed form over features that are there."""
  phase.prepare()
  begun = time.perf_counter()
  phase.step()
  return time.perf_counter() - begun


def _wall_times(estimators, seconds) -> list[measure.Measurement]:
  """Returns how long each method takes with the preset, from its steps."""
  lines = []
  for name, estimator in estimators.items():
    parts = [(p.num_steps, seconds[p.name][0]) for p in estimator.phases]
    minutes = sum(number * taken for number, taken in parts) / 60
    detail = ' + '.join(f'{n:,} x {1e3 * s:.2f} ms' for n, s in parts)
    lines.append(
        measure.reported(
            f'{name}, paper preset, expected minutes', minutes, detail
        )
    )
  return lines
