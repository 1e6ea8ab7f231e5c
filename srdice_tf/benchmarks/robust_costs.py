"""Speed of doubly robust sums, and of several Q networks at once."""

import time

import tensorflow as tf

from srdice_tf import training
from srdice_tf.benchmarks import measure
from srdice_tf.benchmarks import step_costs
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry

_ENV_ID = 'HalfCheetah-v4'
_NUM_STEPS = 200  # Of Q in a call, less than a second.
_ROUNDS = 5
_UNTRAINED = {'encoder_steps': 0, 'successor_steps': 0, 'updates': 0}


def summing(num_transitions: int) -> list[measure.Measurement]:
  """Seconds of `dr` with its interval, once ratios and Q are there.

  How long training takes is another matter, so nothing is trained.
  """
  problem = step_costs.random_problem(_ENV_ID, num_transitions)
  config = presets.preset('paper', is_frames=False).replace(
      **_UNTRAINED, lstd_ridge=1e-3
  )
  made = registry.make_estimators(['srdice_lstd', 'dr'], problem, config, 0)
  dr = made.pop('dr')
  training.PhaseTrainer(made).run()
  taken = step_costs.solving(dr.phases[-1])
  begun = time.perf_counter()
  dr.interval()
  interval = time.perf_counter() - begun
  return [
      measure.at_most(
          'dr on finished parts, seconds',
          taken + interval,
          5.0,
          f'{taken:.2f} s of sums and {interval:.2f} s of bootstrap,'
          f' {problem.size:,} transitions',
      )
  ]


def value_members(
    num_transitions: int, num_members: int
) -> list[measure.Measurement]:
  """A step of several Q networks against that of one."""
  problem = step_costs.random_problem(_ENV_ID, num_transitions)
  works = {}
  for count in (1, num_members):
    config = presets.preset('paper', is_frames=False)
    config = config.replace(value_members=count)
    made = registry.make_estimators(['deep_td'], problem, config, 0)
    call = training.compile_steps(made['deep_td'].phases[0].step)
    call(tf.constant(2))
    works[count] = _working(call)
  rates = measure.alternate(works, _ROUNDS)  # Steps in a second.
  one, several = rates[1], rates[num_members]
  return [
      measure.at_most(
          f'a step of {num_members} Q networks / of one',
          one / several,
          3.0,
          f'{1e3 / several:.2f} and {1e3 / one:.2f} ms',
      )
  ]


def _working(call):
  def work() -> int:
    call(tf.constant(_NUM_STEPS))
    return _NUM_STEPS

  return work
