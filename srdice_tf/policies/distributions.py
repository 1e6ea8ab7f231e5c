"""Action distributions that TensorFlow Probability lacks."""

import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions


class ClippedNormal(tfd.Distribution):
  """clip(x, low, high) of x ~ N(loc, scale^2), element by element.

  Inside the bounds it has the normal's density; on a bound it has an atom, the
  normal's mass beyond it, and `log_prob` is the logarithm of that mass.
  """

  def __init__(self, loc, scale, low, high, name='ClippedNormal'):
    parameters = dict(locals())
    self.loc = tf.convert_to_tensor(loc)
    self.scale = tf.convert_to_tensor(scale, self.loc.dtype)
    self.low = tf.convert_to_tensor(low, self.loc.dtype)
    self.high = tf.convert_to_tensor(high, self.loc.dtype)
    self._normal = tfd.Normal(self.loc, self.scale)
    super().__init__(
        dtype=self.loc.dtype,
        reparameterization_type=tfd.NOT_REPARAMETERIZED,
        validate_args=False,
        allow_nan_stats=True,
        parameters=parameters,
        name=name,
    )

  @classmethod
  def _parameter_properties(cls, dtype, num_classes=None):
    return {
        name: tfp.util.ParameterProperties()
        for name in ('loc', 'scale', 'low', 'high')
    }

  def _event_shape(self):
    return tf.TensorShape([])

  def _event_shape_tensor(self):
    return tf.constant([], tf.int32)

  def _sample_n(self, n, seed=None):
    return tf.clip_by_value(self._normal.sample(n, seed), self.low, self.high)

  def _log_prob(self, value):
    inside = self._normal.log_prob(value)
    at_low = self._normal.log_cdf(self.low)
    at_high = self._normal.log_survival_function(self.high)
    beyond = (value < self.low) | (value > self.high)
    log_prob = tf.where(value == self.low, at_low, inside)
    log_prob = tf.where(value == self.high, at_high, log_prob)
    return tf.where(beyond, tf.constant(float('-inf'), self.dtype), log_prob)


class NoisyDistribution(tfd.Distribution):
  """clip(x + noise, low, high) of vectors x ~ another distribution.

  It can be sampled; its density has no closed form.
  """

  def __init__(self, distribution, scale, low, high, name='NoisyDistribution'):
    parameters = dict(locals())
    self._distribution = distribution
    self._noise = tfd.Normal(tf.zeros_like(scale), scale)
    self._range = low, high
    super().__init__(
        dtype=distribution.dtype,
        reparameterization_type=tfd.NOT_REPARAMETERIZED,
        validate_args=False,
        allow_nan_stats=True,
        parameters=parameters,
        name=name,
    )

  @classmethod
  def _parameter_properties(cls, dtype, num_classes=None):
    return {'distribution': tfp.util.BatchedComponentProperties()}

  def _event_shape(self):
    return self._noise.batch_shape

  def _event_shape_tensor(self):
    return self._noise.batch_shape_tensor()

  def _sample_n(self, n, seed=None):
    own_seed, noise_seed = tfp.random.split_seed(seed)
    own = self._distribution.sample(n, seed=own_seed)  # [n, B, A]
    own = infinite_as_nan(own)
    noise = self._noise.sample(tf.shape(own)[:-1], seed=noise_seed)
    return tf.clip_by_value(own + noise, *self._range)


class OpenUniform(tfd.Uniform):
  """Uniform between the bounds, with no mass on them.

  In a mixture with ClippedNormal, whose mass on a bound is an atom, a density
  there must count for nothing.
  """

  def _log_prob(self, value):
    inside = (value > self.low) & (value < self.high)
    log_density = -tf.math.log(self.high - self.low)
    no_mass = tf.constant(float('-inf'), self.dtype)
    return tf.where(inside, log_density, no_mass)


def infinite_as_nan(actions: tf.Tensor) -> tf.Tensor:
  """Returns actions of which clipping hides no infinite one."""
  return tf.where(tf.math.is_inf(actions), actions - actions, actions)


def mixture(probabilities, components):
  """Returns the mixture of components of equal shape; weights [B, K]."""
  components = list(components)
  # Tables of probabilities are in float64, networks in float32.
  dtype = _float_type(components[0])
  return tfd.Mixture(
      cat=tfd.Categorical(probs=tf.cast(probabilities, dtype)),
      components=components,
  )


def _float_type(distribution) -> tf.DType:
  """Returns the type of the log-probabilities."""
  if isinstance(distribution, tfd.Categorical):
    return distribution.probs_parameter().dtype
  return distribution.dtype
