"""Tests of the evidence on an estimate, against numbers by hand."""

import dataclasses

import numpy as np
import pytest

from srdice_tf import results
from srdice_tf.environments import finite_mdps
from srdice_tf.evaluation import diagnostics
from srdice_tf.evaluation import evidence
from srdice_tf.evaluation import support
from tests import finite


def _facts(**fields):
  return evidence.LoggedFacts(
      **{
          'rewards': np.array([1.0, 3.0]),
          'not_done': np.ones(2),
          'gamma': 0.9,
          **fields,
      }
  )


def _method(name, value, *phases, **fields):
  seconds = dict.fromkeys(phases or (name,), 1.0)
  return results.MethodResult(name, value, phase_seconds=seconds, **fields)


def _with_ratios(ratios):
  ratios = np.asarray(ratios)
  found = diagnostics.ratio_diagnostics(ratios)
  return _method('x', 1.0, ratios=ratios, diagnostics=found)


def test_exact_ratios_have_their_mass_also_where_episodes_end():
  mdp = finite_mdps.random_mdp(20, 3, 5, 0)
  mdp.transition[:] *= 0.8  # A fifth of the steps ends an episode.
  problem = finite.FiniteProblem(mdp, np.full((20, 3), 50))
  ratios = problem.ratio[problem.pairs]
  facts = _facts(
      rewards=problem.dataset.rewards.numpy(),
      not_done=problem.dataset.not_done.numpy(),
      gamma=finite.GAMMA,
  )
  assert facts.not_done.mean() < 0.9 and ratios.mean() < 0.5
  exact = evidence.measure(_with_ratios(ratios), (), facts)
  assert exact.mass_gap < 1e-6
  assert exact.largest_ratio == pytest.approx(ratios.max())
  wrong = evidence.measure(_with_ratios(1.2 * ratios), (), facts)
  assert wrong.mass_gap == pytest.approx(0.2)


def test_nothing_ends_so_the_mean_is_one():
  found = evidence.measure(_with_ratios([1.5, 0.7]), (), _facts())
  assert found.mass_gap == pytest.approx(0.1)
  assert found.effective_share == pytest.approx(2.2**2 / (1.5**2 + 0.7**2) / 2)


def test_methods_that_share_training_are_no_witnesses():
  srdice = _method('srdice', 2.0, 'encoder', 'successor', 'srdice')
  closed = _method('srdice_closed', 9.0, 'encoder', 'successor', 'closed')
  others = [
      srdice, closed, _method('deep_td', 2.2), _method('linear', 2.6),
      _method('dual_dice', float('nan')),
  ]
  found = evidence.measure(srdice, others, _facts())
  assert found.disagreement == pytest.approx(0.2)  # 2.4 is the median.
  assert found.nearest_method == pytest.approx(0.1)
  alone = evidence.measure(srdice, [srdice, closed], _facts())
  assert alone.disagreement is None and alone.nearest_method is None


def test_what_rests_on_a_lost_q_is_no_witness():
  linear, q = _method('linear', 2.0), _method('deep_td', -3.0)
  psi = _method('srdice', 2.2, 'successor', 'srdice')
  dr = lambda error: _method(
      'dr', -13.1, 'successor', 'deep_td', 'dr', standard_error=error
  )
  found = evidence.measure(linear, [linear, q, psi, dr(9.0)], _facts())
  assert found.disagreement == pytest.approx(0.1)
  found = evidence.measure(linear, [linear, q, psi, dr(0.9)], _facts())
  assert found.disagreement == pytest.approx(2.5)
  # What a value was trained by may be less than all phases of its method.
  range_only = dataclasses.replace(dr(0.9), sources=('deep_td', 'dr'))
  found = evidence.measure(psi, [psi, range_only], _facts())
  assert found.disagreement == pytest.approx(15.3 / 2.2)


def test_relative_numbers():
  result = _method(
      'srdice',
      2.0,
      standard_error=0.1,
      flow_residual=0.6,
      details={'least_squares_deep_sr': 1.9},
      curve=results.Curve(tuple(range(8)), (9., 9., 9., 9., 9., 9., 2.2, 2.)),
  )
  facts = _facts(given=support.ActionSupport(0.25, 0.01, 9, 9, 1.5))
  found = evidence.measure(result, (), facts, flow_noise=0.2)
  assert found.standard_error == pytest.approx(0.05)
  assert found.flow_excess == pytest.approx(3.0)
  assert found.theorem_4_gap == pytest.approx(0.05)
  assert found.drift == pytest.approx(0.1)
  assert (found.far_share, found.action_distance) == (0.25, 1.5)
  assert found.reward_deviation == 1.0


def test_near_zero_the_rewards_are_the_unit():
  assert evidence.scale(-5.0, 2.0) == 5.0
  assert evidence.scale(0.01, 2.0) == pytest.approx(0.2)
  assert evidence.scale(0.0, 0.0) > 0.0


def test_what_a_method_lacks_is_not_known():
  found = evidence.measure(_method('deep_td', 1.0), (), _facts())
  assert found == results.EstimateEvidence(reward_deviation=1.0)
