"""Tests for the paper's claims: what decides, by number."""

import numpy as np
import pandas as pd
import pytest

from srdice_tf.reports import claim_rules
from srdice_tf.reports import judged_claims
from tests.reports import claim_evidence

_NOTHING = claim_rules.Evidence(pd.DataFrame(), {})
_TASKS, _NOISE = claim_evidence.TASKS, claim_evidence.NOISE
_SEEDS, _GOOD = claim_evidence.SEEDS, claim_evidence.GOOD
_runs, _verdict = claim_evidence.runs, claim_evidence.verdict
_judged = claim_evidence.judged
_SHORT = 'by short runs'


def test_nothing_decides_nothing():
  judged = judged_claims.judge({'desk': _NOTHING})
  assert {each.verdict for each in judged} == {claim_rules.OPEN}
  assert len({each.claim.name for each in judged}) == len(judged)
  assert all(each.table is None for each in judged)


def _by_scale(**runs):
  """Returns scale and verdict of a claim, by runs of some scales."""
  evidence = {k: claim_rules.Evidence(v, {}) for k, v in runs.items()}
  found = _judged('hard_mis', **evidence)
  return found.scale, found.verdict


def test_the_largest_scale_that_can_decides():
  whole, few = _runs('hard', _GOOD), _runs('hard', _GOOD, seeds=(0, 1))
  lost = _runs('hard', _GOOD | {'gradient_dice': -9.0})
  alike = _runs('hard', _GOOD | {'gradient_dice': -6.0})
  confirmed, refuted = claim_rules.CONFIRMED, claim_rules.REFUTED
  assert _by_scale(desk=whole, short=lost) == ('desk', confirmed)
  assert _by_scale(desk=few, short=lost) == ('short', f'{refuted} {_SHORT}')
  assert _by_scale(desk=alike, short=lost) == ('desk', claim_rules.OPEN)
  assert _by_scale(desk=few, short=few) == ('desk', claim_rules.OPEN)


def test_a_smaller_scale_fills_in_what_a_larger_one_lacks():
  large = _runs('hard', _GOOD, tasks='CDE')
  lost = _runs('hard', _GOOD | {'gradient_dice': -9.0}, tasks='CDE')
  small = pd.concat([lost, _runs('hard', _GOOD, tasks='AB')])
  confirmed = claim_rules.CONFIRMED
  assert _by_scale(desk=large, short=small) == (
      'desk, short', f'{confirmed} {_SHORT}'
  )
  assert _by_scale(desk=large) == ('desk', claim_rules.OPEN)
  evidence = {'desk': large, 'short': small}
  found = _judged('hard_mis', **{
      k: claim_rules.Evidence(v, {}) for k, v in evidence.items()
  })
  scales = {(row[0], row[2]) for row in found.table.rows}
  assert scales == {*zip('CDE', ['desk'] * 3), *zip('AB', ['short'] * 2)}
  assert [row[0] for row in found.table.rows] == [*'ABCDE'] * 2


def test_what_only_short_runs_refute_says_so():
  refuted, lost = claim_rules.REFUTED, _GOOD | {'gradient_dice': -9.0}
  large = _runs('hard', lost, tasks='CDE')
  small = _runs('hard', lost, tasks='AB')
  # Three losses at desk scale are enough; of none, those of short runs decide.
  assert _by_scale(desk=large, short=small) == ('desk, short', refuted)
  good = _runs('hard', _GOOD, tasks='CDE')
  assert _by_scale(desk=good, short=small)[1] == f'{refuted} {_SHORT}'
  assert _by_scale(desk=large)[1] == refuted


@pytest.mark.parametrize(
    'name', ['hard_mis', 'hard_deep_td', 'hard_behaviour']
)
def test_claims_of_the_hard_setting_hold(name):
  assert _verdict(name, _runs('hard', _GOOD)) == claim_rules.CONFIRMED
  # Runs outside of an experiment count by their setting.
  assert _verdict(name, _runs('', _GOOD)) == claim_rules.CONFIRMED
  assert _verdict(name, _runs('easy_not', _GOOD)) == claim_rules.OPEN


def test_one_clear_loss_refutes():
  bad = _runs('hard', {**_GOOD, 'gradient_dice': -8.0}, tasks='E')
  runs = _runs('hard', _GOOD, tasks='ABCD'), bad
  assert _verdict('hard_mis', *runs) == claim_rules.REFUTED


def test_one_small_loss_of_many_refutes_nothing():
  small = _GOOD | {'gradient_dice': -6.6}  # By about 0.6, clearly.
  runs = _runs('hard', _GOOD, tasks='ABCD'), _runs('hard', small, tasks='E')
  found = _judged('hard_mis', desk=claim_rules.Evidence(pd.concat(runs), {}))
  assert (found.verdict, found.answers) == (claim_rules.OPEN, '9 yes, 1 no')
  runs = _runs('hard', _GOOD, tasks='ABC'), _runs('hard', small, tasks='DE')
  assert _verdict('hard_mis', *runs) == claim_rules.REFUTED


def test_no_error_is_below_what_the_truth_allows():
  runs = _runs('hard', _GOOD | {'deep_td': -40.0}, ['A'])
  allowed = runs.assign(truth_allows=-6.02, behaviour_log_error=-50.0)
  of = lambda rows: claim_rules.errors_of(
      claim_rules.Evidence(rows, {}), 'hard'
  )
  found = of(allowed)
  # Of the noise 0.1, -0.1, 0.05 and -0.05 around -6 that is left which is more.
  assert [*found['srdice']] == pytest.approx([-5.9, -6.02, -5.95, -6.02])
  assert [*found['deep_td']] == [*found['behaviour']] == [-6.02] * 4
  # What is not known allows everything.
  assert [*of(allowed.assign(truth_allows=None))['behaviour']] == [-50.0] * 4


def test_w_limits_nothing():
  make = lambda error: _runs('hard', {**_GOOD, 'srdice_closed': error})
  assert _verdict('psi_limits', make(-6.5)) == claim_rules.CONFIRMED
  assert _verdict('psi_limits', make(-9.0)) == claim_rules.REFUTED
  assert _verdict('psi_limits', make(-3.0)) == claim_rules.CONFIRMED
  assert _verdict('psi_limits', make(-7.0)) == claim_rules.OPEN


def test_what_is_not_clear_decides_nothing():
  level = _runs('hard', {**_GOOD, 'gradient_dice': -6.0}, tasks='E')
  runs = _runs('hard', _GOOD, tasks='ABCD'), level
  assert _verdict('hard_mis', *runs) == claim_rules.OPEN


@pytest.mark.parametrize(
    'fields', [{'seeds': range(2)}, {'tasks': 'ABCD'}]
)
def test_few_seeds_or_tasks_decide_nothing(fields):
  assert _verdict('hard_mis', _runs('hard', _GOOD, **fields)) == (
      claim_rules.OPEN
  )


def test_what_diverged_loses():
  runs = _runs('hard', {**_GOOD, 'dual_dice': float('nan')})
  assert _verdict('hard_mis', runs) == claim_rules.CONFIRMED


_SEVEN = 'ABCDEFG'


def _both(errors, tasks=_SEVEN):
  return _runs('hard', errors, tasks), _runs('easy', errors, tasks)


def test_similar_on_all_tasks_of_both_settings():
  name = 'same_as_deep_sr'
  assert _verdict(name, *_both(_GOOD)) == claim_rules.CONFIRMED
  assert _verdict(name, _runs('hard', _GOOD, _SEVEN)) == claim_rules.OPEN
  assert _verdict(name, *_both(_GOOD, _TASKS)) == claim_rules.OPEN
  # A task that one of the settings lacks is not whole.
  hard, easy = _both(_GOOD)
  assert _verdict(name, hard, easy[easy['task'] != 'G']) == claim_rules.OPEN


def test_most_tasks_must_be_whole():
  easy = {**_GOOD, **dict.fromkeys(_GOOD, -1.0)}
  assert _verdict('easy_behaviour', _runs('easy', easy)) == (
      claim_rules.CONFIRMED
  )
  easy.pop('dual_dice')
  assert _verdict('easy_behaviour', _runs('easy', easy)) == claim_rules.OPEN


def test_methods_that_differ_are_not_similar():
  runs = _runs('hard', {**_GOOD, 'deep_sr': -8.0})
  assert _verdict('same_as_deep_sr', runs) == claim_rules.REFUTED


def test_the_small_tasks_are_a_claim_of_their_own():
  bad = _runs('hard', {**_GOOD, 'gradient_dice': -9.0}, ['Reacher-v4'])
  runs = *_both(_GOOD, _TASKS), *_both(_GOOD, ['Pendulum-v1'])
  assert _verdict('hard_mis', *runs, bad) == claim_rules.CONFIRMED
  assert _verdict('small_mis', *runs, bad) == claim_rules.REFUTED
  assert _verdict('small_mis', *runs) == claim_rules.OPEN
  good = _both(_GOOD, ['Reacher-v4'])
  assert _verdict('small_mis', *runs, good[0]) == claim_rules.OPEN
  assert _verdict('small_mis', *runs, *good) == claim_rules.CONFIRMED


def test_deep_rl_against_mis():
  games = _runs('atari_main', _GOOD, ['Asterix', 'Pong'])
  whole = *_both(_GOOD, _TASKS), games
  assert _verdict('deep_rl_mis', *whole) == claim_rules.CONFIRMED
  # Without games it is open; Pendulum and Reacher have no say.
  assert _verdict('deep_rl_mis', *whole[:2]) == claim_rules.OPEN
  lost = _both({**_GOOD, 'dual_dice': -9.0}, ['Pendulum-v1', 'Reacher-v4'])
  assert _verdict('deep_rl_mis', *whole, *lost) == claim_rules.CONFIRMED
  lost = _runs('atari_main', {**_GOOD, 'dual_dice': -9.0}, ['Pong'])
  assert _verdict('deep_rl_mis', *whole[:2], lost) == claim_rules.REFUTED
  bad = _runs('easy', {**_GOOD, 'dual_dice': -6.5})
  runs = _runs('hard', _GOOD), bad
  found = _judged(
      'deep_rl_mis', desk=claim_rules.Evidence(pd.concat(runs), {})
  )
  # Deep SR loses in the easy setting, Deep TD wins; names tell both apart.
  assert found.verdict == claim_rules.REFUTED
  assert found.answers == '35 yes, 5 no'
  assert any('(easy)' in row[0] for row in found.table.rows)


def test_swings():
  make = lambda method, swing: _runs('hard', {method: -1.0}).assign(
      log_swing=lambda rows: swing + 0.1 * rows['run'].astype(int),
      diverged=False,
  )
  runs = [make('srdice', -5.0), make('dual_dice', 0.0)]
  assert _verdict('stable', *runs, make('gradient_dice', -1.0)) == (
      claim_rules.CONFIRMED
  )
  more = make('gradient_dice', 1.0)  # More than DualDICE's.
  assert _verdict('stable', *runs, more) == claim_rules.CONFIRMED
  assert _verdict('dual_unstable', *runs, more) == claim_rules.REFUTED
  less = make('gradient_dice', -1.0)
  assert _verdict('dual_unstable', *runs, less) == claim_rules.CONFIRMED
  less = make('gradient_dice', -6.0)  # Less than SR-DICE's.
  assert _verdict('stable', *runs, less) == claim_rules.REFUTED
  # More than half of the tasks are enough, for either verdict.
  mixed = lambda of_less: pd.concat([
      less.assign(log_swing=-1.0)[less['task'].isin([*of_less])],
      more[~more['task'].isin([*of_less])],
  ])
  less = make('gradient_dice', -1.0)
  assert _verdict('dual_unstable', *runs, mixed('ABC')) == claim_rules.CONFIRMED
  assert _verdict('dual_unstable', *runs, mixed('AB')) == claim_rules.REFUTED
  less = make('gradient_dice', -6.0)
  # What has no curve does not count, what diverged has the largest swing.
  none = make('gradient_dice', 1.0).assign(log_swing=np.nan)
  assert _verdict('stable', *runs, none) == claim_rules.OPEN
  found = none.assign(diverged=True)
  assert _verdict('stable', *runs, found) == claim_rules.CONFIRMED
  assert _verdict('dual_unstable', *runs, found) == claim_rules.REFUTED


def test_who_settles_first():
  make = lambda updates, **first: pd.concat([
      _runs('hard', {method: -1.0}).assign(
          log_settled=log + np.resize(_NOISE, 20), diverged=False,
          updates=updates,
      )
      for method, log in first.items()
  ])
  rapid = {'srdice': 9.0, 'dual_dice': 10.0, 'gradient_dice': 11.0}
  assert _verdict('rapid', make(250_000, **rapid)) == claim_rules.CONFIRMED
  slow = {**rapid, 'srdice': 12.0}
  assert _verdict('rapid', make(250_000, **slow)) == claim_rules.REFUTED
  # Methods of shortened runs have different rates.
  assert _verdict('rapid', make(30_000, **rapid)) == claim_rules.OPEN
  # What diverged was stopped early, and has not settled.
  whole = make(250_000, **rapid)
  is_lost = whole['method'] == 'dual_dice'
  lost = whole.assign(
      updates=whole['updates'].mask(is_lost, 4_000), diverged=is_lost,
      log_settled=whole['log_settled'].mask(is_lost),
  )
  assert _verdict('rapid', lost) == claim_rules.CONFIRMED
  # All five tasks are needed; Pendulum has no say.
  four = whole[whole['task'] != 'E']
  assert _verdict('rapid', four) == claim_rules.OPEN
  other = make(250_000, **slow).assign(task='Pendulum-v1')
  assert _verdict('rapid', whole, other) == claim_rules.CONFIRMED


def test_the_direct_sr_beside_td():
  make = lambda error: _both({**_GOOD, 'deep_sr': error}, _TASKS)
  assert _verdict('direct_sr', *make(-6.9)) == claim_rules.CONFIRMED
  assert _verdict('direct_sr', *make(-5.0)) == claim_rules.REFUTED
  assert _verdict('direct_sr', *make(-9.0)) == claim_rules.REFUTED
  hard, easy = make(-6.9)
  assert _verdict('direct_sr', hard) == claim_rules.OPEN
  assert _verdict('direct_sr', hard, easy[easy['task'] != 'E']) == (
      claim_rules.OPEN
  )
  other = _runs('hard', {**_GOOD, 'deep_sr': -1.0}, ['Reacher-v4'])
  assert _verdict('direct_sr', hard, easy, other) == claim_rules.CONFIRMED


def test_gradient_dice_on_humanoid():
  make = lambda error: _runs(
      'easy', {**_GOOD, 'gradient_dice': error}, ['Humanoid-v4']
  )
  assert _verdict('easy_humanoid', make(-6.2)) == claim_rules.CONFIRMED
  assert _verdict('easy_humanoid', make(-3.5)) == claim_rules.REFUTED
  assert _verdict('easy_humanoid', _runs('easy', _GOOD)) == claim_rules.OPEN


def test_humanoid_is_left_out_of_the_easy_setting():
  bad = _runs('easy', {**_GOOD, 'gradient_dice': -9.0}, tasks=['Humanoid-v4'])
  assert _verdict('easy_mis', _runs('easy', _GOOD), bad) == (
      claim_rules.CONFIRMED
  )


def test_the_interval_is_students():
  index = pd.MultiIndex.from_product([['A'], range(3)])
  errors = pd.DataFrame({'x': [1.0, 2.0, 3.0], 'y': [0.0, 0.0, 0.0]}, index)
  (found,) = claim_rules.compare(errors, 'x', 'y')
  # t of 2 degrees of freedom is 4.3027, the standard error 1 / sqrt(3).
  assert (found.number, found.value) == (3, 2.0)
  width = 4.302652729911275 / np.sqrt(3.0)
  np.testing.assert_allclose([found.low, found.high], [2 - width, 2 + width])
  assert found.answer == 'undecided'


def _rewards(seeds, **errors):
  return pd.DataFrame([
      {'env': 'A', 'seed': seed, 'reward': i, 'method': method,
       'log_mse': error + _NOISE[seed]}
      for seed in range(seeds)
      for method, found in errors.items()
      for i, error in enumerate(found)
  ])


def test_random_rewards():
  found = {
      'srdice': [-6.0, -6.1, -5.9, -6.0, -1.0],
      'dual_dice': [-1.0] * 5,
      'gradient_dice': [-3.0] * 5,
      'behaviour': [-8.0] * 5,
  }
  one = _rewards(3, **found)
  for name in ('rewards_share', 'rewards_mean'):
    assert _verdict(name, random_rewards=one) == claim_rules.OPEN
  five = lambda rows: pd.concat([rows.assign(env=env) for env in _TASKS])
  tables = {'random_rewards': five(one)}
  assert _verdict('rewards_share', **tables) == claim_rules.CONFIRMED  # 80%.
  assert _verdict('rewards_mean', **tables) == claim_rules.CONFIRMED
  assert _verdict('rewards_behaviour', **tables) == claim_rules.REFUTED
  humanoid = _rewards(3, **found).assign(env='Humanoid-v4')
  assert _verdict('rewards_humanoid', **tables) == claim_rules.OPEN
  assert _verdict('rewards_humanoid', random_rewards=humanoid) == (
      claim_rules.REFUTED
  )
  # Of the shares 0.8, 0.4 and 0.6 nobody knows whether they are 80%.
  mixed = one.copy()
  for seed, numbers in ((0, ()), (1, (0, 1)), (2, (0,))):
    lost = (mixed['seed'] == seed) & mixed['reward'].isin(numbers)
    lost &= mixed['method'] == 'srdice'
    mixed.loc[lost, 'log_mse'] = 0.0
  assert _verdict('rewards_share', random_rewards=five(mixed)) == (
      claim_rules.OPEN
  )
  # Student's interval of 0.8, 1 and 1 is 0.65 to 1.22; no share is above 1.
  mixed = one.copy()
  lost = (mixed['seed'] > 0) & (mixed['reward'] == 4)
  mixed.loc[lost & (mixed['method'] == 'srdice'), 'log_mse'] = -9.0
  judged = _judged(
      'rewards_share', desk=claim_rules.Evidence(
          pd.DataFrame(), {'random_rewards': five(mixed)}
      )
  )
  assert judged.table.rows[0][4:7] == [
      pytest.approx(2.8 / 3), pytest.approx(0.6465, abs=1e-4), 1.0
  ]
  # No mean is below what the truths of the rewards allow: log(0.5 0.2^2).
  known = five(one).assign(truth_error=0.1, data_mean=-0.5)
  found_mean = lambda rows: claim_rules.lower_on_rewards(
      rows, 'srdice', ['behaviour']
  ).comparisons[0].value
  assert found_mean(five(one)) == pytest.approx(-5.0 + 8.0)
  least = np.log(0.02)
  noise = np.mean(_NOISE[:3])
  assert found_mean(known) == pytest.approx(
      (4 * least - 1.0 + noise) / 5 - least
  )
  # Two seeds are too few, however many rewards there are.
  tables = {'random_rewards': five(_rewards(2, **found))}
  for name in ('rewards_share', 'rewards_mean', 'rewards_behaviour'):
    assert _verdict(name, **tables) == claim_rules.OPEN
