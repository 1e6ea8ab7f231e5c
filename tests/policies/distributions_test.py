"""Tests for the action distributions against arithmetic by hand."""

import math

import numpy as np
import tensorflow_probability as tfp

from srdice_tf.policies import distributions

tfd = tfp.distributions


def _normal_cdf(x):
  return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def test_clipped_normal_has_density_inside_and_atoms_on_the_bounds():
  clipped = distributions.ClippedNormal(
      loc=np.float32([0.5]), scale=2.0, low=-1.0, high=2.0
  )
  inside = -0.5 * ((1.0 - 0.5) / 2.0) ** 2 - math.log(
      2.0 * math.sqrt(2.0 * math.pi)
  )
  np.testing.assert_allclose(clipped.log_prob([1.0]), [inside], rtol=1e-5)
  at_low = math.log(_normal_cdf((-1.0 - 0.5) / 2.0))
  np.testing.assert_allclose(clipped.log_prob([-1.0]), [at_low], rtol=1e-5)
  at_high = math.log(1.0 - _normal_cdf((2.0 - 0.5) / 2.0))
  np.testing.assert_allclose(clipped.log_prob([2.0]), [at_high], rtol=1e-5)
  assert clipped.log_prob([2.1])[0] == -np.inf


def _total_mass(distribution, low, high):
  """Integrates the density and adds the two atoms."""
  grid = np.linspace(low, high, 20_001, dtype=np.float32)[1:-1]
  density = np.exp(distribution.log_prob(grid[:, None]))[:, 0]
  atoms = np.exp(distribution.log_prob([[np.float32(low)], [np.float32(high)]]))
  return density.sum() * (high - low) / 20_000 + atoms.sum()


def test_masses_sum_to_one():
  clipped = distributions.ClippedNormal(np.float32([0.9]), 0.3, -1.0, 1.0)
  np.testing.assert_allclose(_total_mass(clipped, -1.0, 1.0), 1.0, atol=1e-3)
  uniform = distributions.OpenUniform(np.float32([-1.0]), 1.0)
  mixed = distributions.mixture(np.float32([[0.2, 0.8]]), [uniform, clipped])
  np.testing.assert_allclose(_total_mass(mixed, -1.0, 1.0), 1.0, atol=1e-3)


def test_mixture_keeps_the_atom_of_its_normal():
  clipped = distributions.ClippedNormal(np.float32([0.9]), 0.3, -1.0, 1.0)
  uniform = distributions.OpenUniform(np.float32([-1.0]), 1.0)
  mixed = distributions.mixture(np.float32([[0.2, 0.8]]), [uniform, clipped])
  atom = 1.0 - _normal_cdf((1.0 - 0.9) / 0.3)
  np.testing.assert_allclose(
      np.exp(mixed.log_prob([1.0])), [0.8 * atom], rtol=1e-5
  )
  density = math.exp(-0.5) / (0.3 * math.sqrt(2 * math.pi))
  np.testing.assert_allclose(
      np.exp(mixed.log_prob([0.6])), [0.2 / 2.0 + 0.8 * density], rtol=1e-4
  )


def test_samples_have_the_atoms_frequency():
  clipped = distributions.ClippedNormal(np.float32([0.9]), 0.3, -1.0, 1.0)
  samples = clipped.sample(20_000, seed=[0, 1]).numpy()
  assert samples.max() == 1.0
  atom = 1.0 - _normal_cdf((1.0 - 0.9) / 0.3)
  assert abs((samples == 1.0).mean() - atom) < 0.015
  independent = tfd.Independent(clipped, 1)
  assert independent.log_prob([0.5]).shape == ()
