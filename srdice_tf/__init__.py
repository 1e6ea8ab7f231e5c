"""Off-policy evaluation with density ratios, on TF-Agents.

`srdice_tf.evaluate(policy, data)` estimates the value of any TF-Agents policy
from logged data; `save` and `load` keep a fitted estimator.
"""

import importlib

__version__ = '0.2.0'
_PUBLIC = {
    'evaluate': 'api',
    'save': 'api',
    'load': 'api',
    'load_policy': 'api',
    'Dataset': 'data.datasets',
    'Episode': 'data.episode_rows',
    'Evaluation': 'results',
    'MethodResult': 'results',
    'UserError': 'errors',
}
__all__ = list(_PUBLIC)


def __getattr__(name: str):
  # TensorFlow takes seconds to import: only those who evaluate pay for it.
  if name in _PUBLIC:
    module = importlib.import_module(f'srdice_tf.{_PUBLIC[name]}')
    return getattr(module, name)
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
