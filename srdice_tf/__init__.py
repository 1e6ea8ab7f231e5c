"""Off-policy evaluation with density ratios, on TF-Agents.

`srdice_tf.evaluate(policy, dataset, algo='srdice', gamma=0.99)` estimates the
value of any TF-Agents policy; `save` and `load` keep a fitted estimator.
"""

import importlib


def __getattr__(name: str):
  # TensorFlow takes seconds to import: only who evaluates pays for it.
  if name in ('evaluate', 'save', 'load', 'Evaluation'):
    library = importlib.import_module('srdice_tf.experiments.library')
    return getattr(library, name)
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
