"""Turns the steps of TF-Agents' drivers into episodes.

A step of TF-Agents has an observation, the action taken there, and the type,
reward and discount of the time step after it; that time step's observation is
in the next step. An episode of T actions has T + 1 steps: the last one, the
boundary, goes from the LAST observation to the FIRST one of the next episode
and is no transition.
"""

import collections
from collections.abc import Iterable
from collections.abc import Iterator

import numpy as np

from srdice_tf import errors
from srdice_tf.data import arrays
from srdice_tf.data import episode_rows
from srdice_tf.data.sources import trajectory_fields

_NOTES = {
    'startless': (
        '{:,} steps are left out: the starts of their episodes are not there'
    ),
    'open': (
        '{:,} episodes have no last step and are taken as cut, not as terminal'
    ),
    'unseen': (
        'the last steps of {:,} episodes are left out: the observations after'
        ' them are not there'
    ),
    'repeated': (
        'the last observations of {:,} terminal episodes are repeated: their'
        ' terminal states are not there'
    ),
    'discounted': (
        '{:,} discounts between 0 and 1 are taken as 1: they end no episode,'
        ' and the evaluation has a discount of its own'
    ),
}


class EpisodeMaker:
  """Collects the episodes of streams of steps.

  Attributes:
    counts: how many steps or episodes are not as they could be, by reason.
  """

  def __init__(self):
    self.counts = collections.Counter()

  @property
  def notes(self) -> tuple[str, ...]:
    """What was assumed or left out."""
    return tuple(
        text.format(self.counts[reason])
        for reason, text in _NOTES.items()
        if self.counts[reason]
    )

  def episodes(
      self, steps: trajectory_fields.AgentSteps, where: str
  ) -> list[episode_rows.Episode]:
    """Returns the episodes of one stream of steps.

    What step types and discounts say decides: an episode whose last discount
    is 0 ends in a terminal state, one whose last discount is above 0 was cut
    by a time limit, one without a LAST step was cut where the stream ends.

    Args:
      steps: [N], in the order of time.
      where: what errors call the stream.

    Raises:
      UserError: if the steps contradict each other.
    """
    _check_types(steps, where)
    found = (
        self._episode(begin, _part(steps, begin, end), where)
        for begin, end in _runs(steps.step_type)
    )
    return [episode for episode in found if episode is not None]

  def _episode(
      self, begin: int, steps: trajectory_fields.AgentSteps, where: str
  ) -> episode_rows.Episode | None:
    """Returns the episode of these steps; None if there is nothing to use."""
    length = len(steps.step_type) - 1  # If the last step is no transition.
    if steps.step_type[0] != arrays.FIRST:
      self.counts['startless'] += length
      return None
    observations = steps.observation
    is_ended = steps.step_type[-1] == arrays.LAST
    if is_ended:
      is_terminal = length > 0 and steps.discount[length - 1] == 0
    else:
      is_terminal = (
          steps.next_step_type[-1] == arrays.LAST and steps.discount[-1] == 0
      )
      if is_terminal:
        length += 1
        observations = np.concatenate([observations, observations[-1:]])
      self._count_end(steps, is_terminal)
    if not length:
      return None
    self._check_discounts(begin, steps.discount[:length], is_terminal, where)
    logs = steps.log_probability
    return episode_rows.Episode(
        observations=observations,
        actions=steps.action[:length],
        rewards=steps.reward[:length],
        is_terminal=bool(is_terminal),
        log_probabilities=None if logs is None else logs[:length],
    )

  def _count_end(self, steps, is_terminal: bool):
    """Counts what an episode without a boundary lacks."""
    self.counts['repeated' if is_terminal else 'unseen'] += 1
    if steps.next_step_type[-1] != arrays.LAST:
      self.counts['open'] += 1

  def _check_discounts(self, begin, discounts, is_terminal, where: str):
    """Raises an error if a discount is no discount, or ends no episode."""
    wrong = ~((discounts >= 0) & (discounts <= 1))
    inner = discounts[:-1] if is_terminal else discounts
    wrong[: len(inner)] |= inner == 0
    if wrong.any():
      step = np.flatnonzero(wrong)[0]
      raise errors.at(
          where,
          f'discount of step {begin + step} is {discounts[step]:g}',
          'expected 0 before the last step of an episode that terminates, and'
          ' up to 1 elsewhere',
      )
    self.counts['discounted'] += int(np.sum((discounts > 0) & (discounts < 1)))


def _part(steps, begin: int, end: int) -> trajectory_fields.AgentSteps:
  return trajectory_fields.AgentSteps(*(
      None if each is None else each[begin:end] for each in steps
  ))


def _runs(step_types: np.ndarray) -> Iterator[tuple[int, int]]:
  """Yields begin and end of the steps of each episode."""
  is_new = step_types == arrays.FIRST
  is_new[1:] |= step_types[:-1] == arrays.LAST
  is_new[:1] = True
  begins = np.flatnonzero(is_new)
  yield from zip(begins, np.append(begins[1:], len(step_types)))


def _check_types(steps: trajectory_fields.AgentSteps, where: str):
  """Raises an error if step types are none, or contradict each other."""
  known = arrays.FIRST, arrays.MID, arrays.LAST
  for name in ('step_type', 'next_step_type'):
    found = getattr(steps, name)
    other = np.flatnonzero(~np.isin(found, known))
    if other.size:
      raise errors.at(
          where,
          f'{name} of step {other[0]} is {found[other[0]]}',
          'expected 0 (first), 1 or 2 (last of an episode)',
      )
  told, found = steps.next_step_type[:-1], steps.step_type[1:]
  # A driver that is started again resets its environment at any time.
  wrong = np.flatnonzero((told != found) & (found != arrays.FIRST))
  if wrong.size:
    step = wrong[0]
    raise errors.at(
        where,
        f'next_step_type of step {step} is {told[step]}, step_type of step'
        f' {step + 1} is {found[step]}',
        'expected the steps of one environment, in the order of time',
    )


def check_any(episodes: Iterable[episode_rows.Episode], where: str, notes=()):
  """Raises an error if there are no episodes.

  Args:
    episodes: that were found.
    where: the file or server.
    notes: what was left out, which may be the reason.
  """
  if not episodes:
    raise errors.at(
        where, '; '.join(['there is no episode', *notes]),
        'expected steps from the first one of an episode on',
    )
