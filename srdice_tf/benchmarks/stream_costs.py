"""Steps on streamed data against steps on data in memory."""

import contextlib

import numpy as np

from srdice_tf import environments
from srdice_tf import training
from srdice_tf.benchmarks import measure
from srdice_tf.data import datasets
from srdice_tf.data.sources import private_server
from srdice_tf.data.sources import served_segments
from srdice_tf.estimators import presets
from srdice_tf.estimators import registry
from srdice_tf.experiments import tasks
from srdice_tf.policies import loading
from srdice_tf.policies import settings
from srdice_tf.replay import row_codec

_EPISODE = 1000  # Steps.
_STEPS = 200  # Of one measurement.
_ROUNDS = 3
_GOAL = 0.5  # Streamed steps by those in memory, for minibatches of 256.
# Each with one of the methods that have it; SR-DICE's w has minibatches of
# 2048, of features that are computed anew.
_PHASES = {'encoder': 'srdice', 'successor': 'srdice', 'deep_td': 'deep_td',
           'srdice': 'srdice'}


def steps(env_id: str, num_transitions: int) -> list[measure.Measurement]:
  """Compares the steps of each phase, and a pass over the data.

  Args:
    env_id: whose shapes the data have; their numbers are drawn at random.
    num_transitions: of the data.
  """
  env = environments.load(env_id)
  specs = env.observation_spec(), env.action_spec()
  policy = loading.load('untrained', env_id, *specs)
  policy = settings.target_policy(policy, 0.1)
  kept = _data(specs, num_transitions)
  request = {'rows': _rows(specs, num_transitions)}
  with contextlib.ExitStack() as stack:
    server = stack.enter_context(private_server.PrivateServer(30.0, request))
    codec = row_codec.Codec(*server.answer['codec'])
    stream = served_segments.load(server.client, codec)
    stack.callback(stream.close)
    found = {}
    for name, data in (('memory', kept), ('streamed', stream)):
      problem = tasks.make_problem(policy, data, specs, 0.99)
      found[name] = _works(problem)
    return [
        _compared(phase, {name: works[phase] for name, works in found.items()})
        for phase in (*_PHASES, 'pass')
    ]


def _rows(specs, size: int) -> dict[str, np.ndarray]:
  """Returns rows of episodes, of random numbers."""
  rng, num_rows = np.random.default_rng(0), size + size // _EPISODE
  observation_spec, action_spec = specs
  numbers = lambda shape: rng.standard_normal((num_rows, *shape), np.float32)
  age = np.arange(num_rows) % (_EPISODE + 1)
  return {
      'rows': numbers(observation_spec.shape),
      'step_types': np.where(age == 0, 0, np.where(age == _EPISODE, 2, 1)),
      'actions': np.tanh(numbers(action_spec.shape)),
      'rewards': numbers(()),
      'not_done': np.ones(num_rows, np.float32),
  }


def _data(specs, size: int) -> datasets.Dataset:
  return datasets.Dataset.from_rows(**_rows(specs, size))


def _works(problem):
  """Returns functions that take some steps of each phase, and a pass."""
  config = presets.preset('paper', is_frames=False)
  methods = registry.make_estimators(
      ('srdice', 'deep_td'), problem, config, seed=0
  )
  works = {}
  for phase, method in _PHASES.items():
    (found,) = (p for p in methods[method].phases if p.name == phase)
    found.prepare()
    run = training.compile_steps(found.step)
    run(2)
    works[phase] = lambda run=run: run(_STEPS) and _STEPS

  def visit() -> int:
    problem.over_transitions(problem.loaded.states)()
    return problem.size

  return {**works, 'pass': visit}


def _compared(phase: str, works) -> measure.Measurement:
  rates = measure.alternate(works, _ROUNDS)
  ratio = rates['streamed'] / rates['memory']
  unit = 'transitions/s' if phase == 'pass' else 'steps/s'
  detail = f'{rates["streamed"]:,.0f} and {rates["memory"]:,.0f} {unit}'
  name = f'{phase}, streamed / in memory'
  if phase in ('srdice', 'pass'):
    return measure.reported(name, ratio, detail)
  return measure.at_least(name, ratio, _GOAL, detail)
