"""gymnasium environments as TF-Agents PyEnvironments."""

import importlib

_PUBLIC = {
    'CONTINUOUS_TASKS': 'suite',
    'description': 'suite',
    'has_frames': 'suite',
    'load': 'suite',
    'load_batch': 'suite',
    'mdp_of': 'finite_mdps',
    'time_limit': 'suite',
}
__all__ = list(_PUBLIC)


def __getattr__(name: str):
  # The processes that only step environments do without TensorFlow.
  if name in _PUBLIC:
    module = importlib.import_module(f'srdice_tf.environments.{_PUBLIC[name]}')
    return getattr(module, name)
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
