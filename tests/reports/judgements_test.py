"""Tests of verdicts as a person reads them."""

import pytest

from srdice_tf import errors
from srdice_tf import results
from srdice_tf.reports import comparison
from srdice_tf.reports import judgements


def _method(name, grade, *reasons, value=1.0, **evidence):
  return results.MethodResult(
      name,
      value,
      evidence=results.EstimateEvidence(**evidence),
      verdict=grade and results.Verdict(grade, reasons),
  )


def _evaluation(*methods, seed=0):
  return results.Evaluation({m.method: m for m in methods}, 0.99, seed)


_BAD = _method('srdice', 'do_not_use', 'it diverged', 'its mass is off')
_UNSURE = _method('deep_td', 'unsure', 'it is 20% from others')
_GOOD = _method(
    'linear_srdice', 'usable', 'it passes all 8 tests', disagreement=0.01
)


def test_the_recommended_method_comes_first_and_all_are_told():
  found = judgements.lines([_evaluation(_BAD, _UNSURE, _GOOD)])
  assert found.splitlines() == [
      'Do the data support this policy? usable',
      '  linear_srdice: usable: it passes all 8 tests',
      '  srdice: do not use: it diverged; its mass is off',
      '  deep_td: unsure: it is 20% from others',
  ]


def test_recommended_is_who_agrees_most_not_who_is_graded_best():
  near = _method('deep_sr', 'unsure', disagreement=0.02)
  far = _method('deep_td', 'usable', disagreement=0.05)
  nan = _method('x', 'do_not_use', value=float('nan'), disagreement=0.0)
  assert _evaluation(nan, far, near).recommended is near
  # Without others beside it, the first that did not diverge.
  assert _evaluation(nan, _BAD, _UNSURE).recommended is _BAD
  assert _evaluation().recommended is None


@pytest.mark.parametrize(
    'error, is_recommended', [(0.19, True), (0.2, False), (None, False)]
)
def test_the_doubly_robust_method_unless_its_q_ran_away(error, is_recommended):
  robust = _method('dr', 'unsure', disagreement=0.5, standard_error=error)
  found = _evaluation(_GOOD, robust, _UNSURE).recommended
  assert found is (robust if is_recommended else _GOOD)
  lost = _method('dr', 'do_not_use', value=float('nan'), standard_error=0.1)
  assert _evaluation(lost, _GOOD).recommended is _GOOD


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
