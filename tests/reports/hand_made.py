"""Small results made by hand, as runs leave them behind."""

import json

import numpy as np

from srdice_tf import results
from srdice_tf.experiments import result_file

TRUTH = results.PolicyValue(2.0, 0.005, 0, 0, 0, 1, 100, 0.99, 917)
BEHAVIOUR = results.PolicyValue(1.0, 0.005, 0, 0, 0, 1, 100, 0.99, 917)
STEPS = tuple(range(1000, 13_000, 1000))


def result(method: str, error: float, seed: int = 0) -> results.MethodResult:
  """Returns a method that ends at a log error, a bit higher with the seed."""
  errors = error + 0.1 * seed + np.linspace(3.0, 0.0, 3).repeat([1, 1, 10])
  estimates = 2.0 + np.sqrt(2.0 * np.exp(errors))
  return results.MethodResult(
      method,
      float(estimates[-1]),
      seconds=10.0 + seed,
      curve=results.Curve(STEPS, tuple(map(float, estimates))),
  )


def write_run(directory, env_id, seed, methods, setting='hard', **config):
  """Writes a run whose methods end at these log errors.

  Args:
    directory: a pathlib.Path.
    env_id: the environment.
    seed: of the run.
    methods: the log error at the end, by name.
    setting: of the behaviour policy.
    **config: further fields of config.json; 'task' and 'hyperparameters' are
      added to what they hold.
  """
  directory.mkdir(parents=True, exist_ok=True)
  task = {
      'env_id': env_id, 'setting': setting, 'gamma': 0.99,
      'num_transitions': 50_000, **config.pop('task', {}),
  }
  result_file.write(
      str(directory),
      results.Evaluation(
          {name: result(name, e, seed) for name, e in methods.items()},
          task['gamma'],
          seed,
          env_id,
          setting,
          task['num_transitions'],
          50,
          1.5,
          TRUTH,
          BEHAVIOUR,
      ),
  )
  more = config.pop('hyperparameters', {})
  content = {
      'task': task,
      'algos': list(methods),
      'hyperparameters': {
          name: {'updates': 12_000, 'ratio_batch_size': 256, **more}
          for name in methods
      },
      'seed': seed,
      **config,
  }
  (directory / 'config.json').write_text(json.dumps(content))


def write_experiment(directory, name, runs=(), **fields):
  """Writes experiment.json."""
  directory.mkdir(parents=True, exist_ok=True)
  content = {
      'name': name, 'scale': 'desk', 'title': f'Title of {name}',
      'caption': 'A caption.', 'runs': list(runs),
      'command': f'python binaries/run_experiment.py --experiment={name}',
      **fields,
  }
  (directory / 'experiment.json').write_text(json.dumps(content))
