"""Tests for the texts at the end of a run."""

import dataclasses

from srdice_tf import results
from srdice_tf.reports import summaries

_DESCRIPTION = {
    'environment': {'id': 'Hopper-v4'},
    'policy': 'pretrained',
    'setting': 'hard',
    'seed': 3,
    'counts': {
        'transitions': 50_000,
        'episodes': 70,
        'ended_episodes': 0,
        'mean_reward': 1.25,
        'mean_return': None,
        'std_return': None,
    },
}


def test_collection_without_an_ended_episode():
  text = summaries.of_collection(_DESCRIPTION, 'data/x', 12.34)
  assert 'Hopper-v4, hard, seed 3' in text
  assert '50,000 in data/x' in text
  assert 'no episode ended' in text
  assert '12.3 s' in text


def test_collection_with_returns():
  counts = {
      **_DESCRIPTION['counts'],
      'ended_episodes': 4,
      'mean_return': 7.0,
      'std_return': 0.5,
  }
  text = summaries.of_collection({**_DESCRIPTION, 'counts': counts}, 'x', 1.0)
  assert '7.00 +- 0.50 (std)' in text


def test_value_says_its_unit():
  value = results.PolicyValue(0.5, 0.01, 90.0, 3.0, 99.0, 1.0, 100, 0.99, 1000)
  text = summaries.of_value(value, 'ALE/Pong-v5', 'random', 'target', 2.0)
  assert '0.50000 +- 0.01000 (standard error), (1-gamma)-normalised' in text
  assert 'gamma 0.99' in text
  assert '--dataset_dir=data/ALE_Pong-v5' in text


def test_a_truth_says_what_it_allows():
  value = results.PolicyValue(0.5, 0.01, 90.0, 3.0, 99.0, 1.0, 100, 0.99, 1000)
  assert summaries.of_truth(value) == (
      'truth         0.50000 +- 0.01000 (standard error), 100 roll-outs; allows'
      ' a log\n              error of about -9.9, less is chance'
  )
  exact = dataclasses.replace(value, standard_error=0.0, exact=True)
  assert summaries.of_truth(exact) == 'truth         0.50000 (exact)'
  assert '0.50000 (exact), ' in summaries.of_value(exact, 'A', 'x', 'none', 1.0)


def test_a_cap_is_said():
  value = results.PolicyValue(
      0.5, 0.01, 9.0, 3.0, 9.0, 1.0, 1000, 0.99, 917, wanted_error=0.0025
  )
  cap = '1,000{} (the cap: +- 0.00250 was not reached)'
  assert cap.format(' roll-outs') in ' '.join(
      summaries.of_truth(value).split()
  )
  text = summaries.of_value(value, 'A', 'x', 'none', 1.0)
  assert cap.format('') in text
  enough = dataclasses.replace(value, wanted_error=0.01)
  assert 'the cap' not in summaries.of_truth(enough)
