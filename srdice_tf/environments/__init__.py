"""gymnasium environments as TF-Agents PyEnvironments."""

from srdice_tf.environments.finite_mdps import mdp_of
from srdice_tf.environments.suite import CONTINUOUS_TASKS
from srdice_tf.environments.suite import description
from srdice_tf.environments.suite import has_frames
from srdice_tf.environments.suite import load
from srdice_tf.environments.suite import load_batch
from srdice_tf.environments.suite import time_limit

__all__ = [
    'CONTINUOUS_TASKS', 'description', 'has_frames', 'load', 'load_batch',
    'mdp_of', 'time_limit',
]
