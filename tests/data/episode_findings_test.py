"""Tests of the checks of how data are cut into episodes."""

import dataclasses

import numpy as np
import pytest

from srdice_tf import data
from srdice_tf.data import finding
from srdice_tf.data import findings
from srdice_tf.data import logged


def _walk(lengths, terminal=True, seed=0):
  """Returns episodes of a walk that begins anywhere and changes slowly."""
  rng = np.random.default_rng(seed)
  terminal = np.resize(terminal, len(lengths))
  episodes = []
  for length, is_terminal in zip(lengths, terminal):
    steps = rng.uniform(-0.1, 0.1, (length + 1, 3))
    episodes.append(
        data.Episode(
            observations=rng.normal(size=3) + np.cumsum(steps, axis=0),
            actions=rng.uniform(-1, 1, (length, 2)),
            rewards=rng.normal(1.0, 0.1, length),
            is_terminal=bool(is_terminal),
        )
    )
  return episodes


def _find(episodes, **arguments):
  dataset = data.Dataset.from_episodes(episodes)
  found = findings.find(logged.described_by_itself(dataset), **arguments)
  return {each.name: each for each in found}


def _joined(first, second):
  """Returns two episodes as one, as if the end of the first were not marked."""
  return dataclasses.replace(
      second,
      observations=np.concatenate(
          [first.observations[:-1], second.observations]
      ),
      actions=np.concatenate([first.actions, second.actions]),
      rewards=np.concatenate([first.rewards, second.rewards]),
  )


def test_terminal_flags_at_a_time_limit():
  one = _find(_walk([200] * 30))['time_limit']
  assert one.severity == finding.ERROR
  assert one.rows[:2] == (199, 399) and len(one.rows) == 30
  assert 'all 30 episodes' in one.text and 'after 200 steps' in one.text
  assert not _find(_walk([200] * 30, terminal=False))  # As it should be.


def test_a_shorter_terminal_episode_tells_that_the_task_ends():
  assert 'time_limit' not in _find(_walk([*range(21, 50), 200]))
  # Cut ones of that length tell limits and ends apart.
  lengths = [30, 40, 50, 50] * 8
  assert 'time_limit' not in _find(_walk(lengths, [1, 1, 1, 0]))
  lengths[3::4] = [49] * 8  # The last step was left out.
  assert 'time_limit' not in _find(_walk(lengths, [1, 1, 1, 0]))
  lengths[3::4] = [45] * 8
  assert 'time_limit' in _find(_walk(lengths, [1, 1, 1, 0]), time_limit=50)


def test_time_limits_among_real_ends():
  lengths = [*range(20, 40), *[100] * 10]
  one = _find(_walk(lengths))['time_limit']
  assert one.severity == finding.ERROR and len(one.rows) == 10
  assert '10 of 30 episodes' in one.text


def test_time_limits_that_are_no_round_number():
  lengths = [*range(20, 40), *[60] * 20]
  one = _find(_walk(lengths))['time_limit']
  assert one.severity == finding.ERROR and len(one.rows) == 20
  short = _find(_walk([*range(5, 15), *[24] * 20]))['time_limit']
  assert short.severity == finding.WARNING
  # A few of the same length may well be a chance.
  assert 'time_limit' not in _find(_walk([*range(20, 58), 60, 60, 60]))


def test_a_short_task_with_a_fixed_length_is_a_warning():
  assert _find(_walk([7] * 40))['time_limit'].severity == finding.WARNING
  one = _find(_walk([7] * 40), time_limit=7)['time_limit']
  assert one.severity == finding.ERROR
  lengths = [3, 4, 5, 6, 7] * 8
  assert 'time_limit' not in _find(_walk(lengths))
  assert 'time_limit' in _find(_walk(lengths), time_limit=7)


def test_flags_that_are_missing():
  assert 'no_terminals' in _find(_walk(range(5, 45), terminal=False))
  assert 'no_terminals' not in _find(_walk([10] * 40, terminal=False))
  assert 'no_terminals' not in _find(_walk(range(5, 45)))


def test_too_few_episodes():
  one = _find(_walk([50]))['start_states']
  assert one.severity == finding.ERROR
  found = _find(_walk(range(5, 10)))
  assert found['start_states'].severity == finding.WARNING
  assert 'few_episodes' in found
  found = _find(_walk(range(5, 20)))
  assert 'start_states' not in found and 'few_episodes' in found
  assert not _find(_walk(range(5, 40)))


@pytest.mark.parametrize('gap', [0, 1])
def test_pieces_of_one_long_episode(gap):
  (whole,) = _walk([2000], terminal=False)
  cut = [
      data.Episode(
          whole.observations[i : i + 50 - gap + 1],
          whole.actions[i : i + 50 - gap],
          whole.rewards[i : i + 50 - gap],
          is_terminal=False,
      )
      for i in range(0, 2000, 50)
  ]
  one = _find(cut)['pieces']
  # If the steps between the pieces are not there it is only likely.
  assert one.severity == (finding.WARNING if gap else finding.ERROR)
  if not gap:
    assert one.rows[:2] == (50, 100) and len(one.rows) == 39
  assert 'pieces' not in _find(_walk([50] * 40, terminal=False))


def test_states_without_an_order_are_no_pieces():
  rng = np.random.default_rng(0)
  mixed = [
      dataclasses.replace(each, observations=rng.normal(size=(11, 3)))
      for each in _walk([10] * 40, terminal=False)
  ]
  assert 'pieces' not in _find(mixed)


def test_ends_that_are_not_marked():
  episodes = _walk(range(30, 70))
  assert 'jumps' not in _find(episodes)
  episodes[3:5] = [_joined(*episodes[3:5])]
  one = _find(episodes)['jumps']
  assert one.rows == (30 + 31 + 32 + 33 - 1,)
  assert one.severity == finding.WARNING


def test_episodes_of_one_step():
  one = _find(_walk([1, *range(5, 40)]))['one_step']
  assert one.rows == (0,) and '1 of 36' in one.text
  assert 'all episodes' in _find(_walk([1] * 40))['one_step'].text
  assert 'one_step' not in _find(_walk(range(5, 40)))


def test_episodes_that_are_there_twice():
  episodes = _walk(range(5, 45))
  one = _find([*episodes, episodes[2]])['duplicate_episodes']
  assert one.severity == finding.ERROR
  assert one.rows == (sum(range(5, 45)),)
  assert 'duplicate_rows' not in _find([*episodes, episodes[2]])
  many = _walk([5, 6, 7] * 50)
  one = _find([*many, many[0]])['duplicate_episodes']
  assert one.severity == finding.WARNING  # Less than 1%.


def test_discrete_episodes_may_be_the_same_by_chance():
  episodes = [
      dataclasses.replace(each, actions=np.full(len(each.rewards), i % 2))
      for i, each in enumerate(_walk(range(5, 45)))
  ]
  one = _find([*episodes, episodes[2]])['duplicate_episodes']
  assert one.severity == finding.WARNING


def test_steps_that_are_there_twice():
  episodes = _walk(range(5, 45))
  first, second = episodes[:2]
  for name in ('observations', 'actions', 'rewards'):
    getattr(second, name)[2] = getattr(first, name)[1]
  assert _find(episodes)['duplicate_rows'].rows == (5 + 2,)
