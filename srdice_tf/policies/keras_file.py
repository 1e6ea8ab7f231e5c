"""Policies from .keras files: what Keras' `Model.save` writes.

A model takes observations [B, ...]; what its outputs mean is said in
`model_policies`. A model with Lambda layers, which are code, is not loaded.
"""

import tensorflow as tf
from tf_agents.policies import tf_policy

from srdice_tf import errors
from srdice_tf.policies import model_policies
from srdice_tf.policies import policy_requests


def load(request: policy_requests.Request) -> tf_policy.TFPolicy:
  """Returns the policy of a Keras model.

  Raises:
    UserError: if it cannot be read or does not fit the specs, or keeps a state.
  """
  checksum = model_policies.checksum(request.name)
  try:
    model = tf.keras.models.load_model(
        request.name, compile=False, safe_mode=True
    )
  except Exception as error:  # What damage raises depends on where it is.
    reason = ' '.join(str(error).split()) or type(error).__name__
    raise errors.at(
        request.source,
        f'cannot be read: {reason[:300].rstrip(".")}',
        'expected a model that Model.save of Keras 2 wrote, of layers that'
        ' Keras knows',
    ) from error
  if any(getattr(layer, 'stateful', False) for layer in model.layers):
    raise errors.at(
        request.source,
        'it keeps a state from step to step, as RNNs do',
        'expected a model that acts on the observation alone',
    )
  inputs = {x.name: list(x.shape) for x in tf.nest.flatten(model.inputs)}
  model_policies.check_inputs(request, inputs)
  dtype = tf.nest.flatten(model.inputs)[0].dtype

  def call(observations):
    return model(tf.cast(observations, dtype), training=False)

  has_softmax = _has_softmax(model)
  policy = model_policies.make(request, call, checksum, has_softmax)
  policy.model = model  # Its variables are the policy's.
  return policy


def _has_softmax(model) -> bool:
  last = model.layers[-1]
  is_softmax = isinstance(last, tf.keras.layers.Softmax)
  activation = getattr(last, 'activation', None)
  return is_softmax or activation is tf.keras.activations.softmax
