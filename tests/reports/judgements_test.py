"""Tests of verdicts as a person reads them."""

import pytest

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.reports import comparison
from srdice_tf.reports import judgements


def _method(name, grade, *reasons, value=1.0, sources=(), **evidence):
  return results.MethodResult(
      name,
      value,
      sources=sources,
      evidence=results.EstimateEvidence(**evidence),
      verdict=grade and results.Verdict(grade, reasons),
  )


def _evaluation(*methods, seed=0):
  return results.Evaluation({m.method: m for m in methods}, 0.99, seed)


_BAD = _method(
    'srdice', 'do_not_use', 'it diverged', 'its mass is off', value=0.8
)
_UNSURE = _method('deep_td', 'unsure', 'it is 20% from others', value=1.5)
_GOOD = _method('linear_srdice', 'usable', 'it passes all 8 tests')


def test_the_recommended_method_comes_first_and_all_are_told():
  found = judgements.lines([_evaluation(_GOOD, _BAD, _UNSURE)])
  assert found.splitlines() == [
      'Do the data support this policy? usable',
      '  linear_srdice: usable: it passes all 8 tests',
      '  srdice: do not use: it diverged; its mass is off',
      '  deep_td: unsure: it is 20% from others',
  ]


def test_recommended_is_who_agrees_most_not_who_is_graded_best():
  far = _method('deep_td', 'usable', value=3.0)
  near = _method('linear_srdice', 'unsure', value=1.1)
  lone = _method('tabular_srdice', 'unsure', value=1.0)
  nan = _method('x', 'do_not_use', value=float('nan'))
  # 1.1 lies 0.9 from the median of 3 and 1, 1 lies 1.05 from that of 3 and 1.1.
  assert _evaluation(nan, far, lone, near).recommended is near
  # Two are as far from each other: the one that was nearer in our runs.
  assert _evaluation(nan, far, near).recommended is far
  assert _evaluation(nan, near, far).recommended is far
  assert _evaluation(nan).recommended is nan
  assert _evaluation().recommended is None


def test_who_shares_training_does_not_agree():
  psi = {'sources': ('successor', 'srdice')}
  srdice = _method('srdice', 'usable', value=1.0, **psi)
  same = _method('srdice_closed', 'usable', value=1.0, sources=('successor',))
  near = _method('deep_td', 'usable', value=2.0)
  other = _method('linear_srdice', 'usable', value=2.5)
  # 2 is 1 from the median of 1, 1 and 2.5; srdice is 1.25 from that of 2 and
  # 2.5, with which alone it shares nothing.
  assert _evaluation(srdice, same, other, near).recommended is near


@pytest.mark.parametrize(
    'error, is_recommended',
    [(0.19, True), (0.2, False), (float('nan'), False), (None, False)],
)
def test_the_doubly_robust_method_unless_its_q_ran_away(error, is_recommended):
  robust = _method('dr', 'unsure', value=9.0, standard_error=error)
  found = _evaluation(_GOOD, robust, _UNSURE).recommended
  assert found is (robust if is_recommended else _UNSURE)
  lost = _method('dr', 'do_not_use', value=float('nan'), standard_error=0.1)
  assert _evaluation(lost, _GOOD).recommended is _GOOD


def test_nothing_that_rests_on_a_lost_q_is_recommended():
  robust = _method(
      'dr', 'unsure', value=-13.1, standard_error=0.8,
      sources=('successor', 'deep_td', 'dr'),
  )
  q = _method('deep_td', 'unsure', value=-3.0, sources=('deep_td',))
  psi = _method('srdice', 'unsure', value=2.1, sources=('successor', 'srdice'))
  linear = _method('linear_srdice', 'unsure', value=2.6)
  assert _evaluation(robust, q, psi).recommended is psi
  assert _evaluation(q, robust, psi, linear).recommended is psi
  assert _evaluation(q, linear, psi, robust).recommended is psi
  # Nothing else is left.
  assert _evaluation(q, robust).recommended is q
  assert _evaluation(robust, q).recommended is q


def test_the_worst_of_the_seeds_decides():
  found = [_evaluation(_GOOD), _evaluation(_UNSURE, _BAD, seed=1)]
  assert judgements.grade(found) == 'unsure'
  assert 'deep_td (seed 1): unsure' in judgements.lines(found)


def test_long_reasons_are_wrapped():
  found = [_evaluation(_method('srdice', 'unsure', *['of no use'] * 30))]
  text = judgements.lines(found)
  assert max(map(len, text.splitlines())) <= 100


def test_results_of_before_have_no_verdict():
  found = [_evaluation(_method('srdice', None))]
  assert judgements.lines(found) == '' and judgements.grade(found) is None
  judgements.check(found, 'unsure', 'runs')
  assert 'verdict' not in comparison.text(found)


def test_the_table_has_the_worst_grade_of_each_method():
  other = _evaluation(_method('linear_srdice', 'do_not_use'), seed=1)
  text = comparison.text([_evaluation(_UNSURE, _GOOD), other])
  rows = {line.split()[0]: line for line in text.splitlines()}
  assert rows['linear_srdice'].endswith('do not use')
  assert rows['deep_td'].endswith('unsure')


@pytest.mark.parametrize(
    ('method', 'fail_on', 'fails'),
    [
        (_GOOD, 'unsure', False),
        (_UNSURE, 'never', False),
        (_UNSURE, 'unsure', True),
        (_UNSURE, 'do_not_use', False),
        (_BAD, 'never', False),
        (_BAD, 'unsure', True),
        (_BAD, 'do_not_use', True),
    ],
)
def test_who_asked_for_better_gets_an_error(method, fail_on, fails):
  found = [_evaluation(method)]
  if not fails:
    judgements.check(found, fail_on, 'runs')
    return
  with pytest.raises(errors.VerdictError, match=f'fail_on={fail_on} .*runs'):
    judgements.check(found, fail_on, 'runs')
