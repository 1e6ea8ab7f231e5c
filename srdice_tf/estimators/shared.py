"""What the estimators of one run share, made on first use and trained once."""

from collections.abc import Callable
from collections.abc import Iterable
import functools

import tensorflow as tf

from srdice_tf.estimators import flow
from srdice_tf.estimators import problems
from srdice_tf.estimators import representation
from srdice_tf.estimators import value_function

# By the names of the properties of Shared; each has a Config.
PARTS = {
    'representation': representation.Representation,
    'value_function': value_function.ValueFunction,
    'flow_test': flow.FlowTest,
}


class Shared:
  """Parts that several estimators use.

  Parts with `phases` are trained with the first estimator that has these among
  its own; for the others they are trained already.

  Attributes:
    hyperparameters: of the whole run.
    held_out: the problem of the episodes that are not fitted; None if all are.
    count: counts long work, as `range` does.
  """

  def __init__(
      self,
      problem: problems.Problem,
      hyperparameters,
      seed: int,
      held_out: problems.Problem | None = None,
      count: Callable[[int], Iterable[int]] = range,
      make: Callable[..., tf.Module] | None = None,
  ):
    """Makes nothing yet.

    Args:
      problem: what is fitted.
      hyperparameters: hyperparameters.Hyperparameters.
      seed: of everything random.
      held_out: what is not fitted but scored on.
      count: counts long work, such as the draws of a bootstrap.
      make: makes an estimator from its name, problem, seed and this.
    """
    self.hyperparameters = hyperparameters
    self.held_out = held_out
    self.count = count
    self._problem = problem
    self._seed = seed
    self._make = make
    self._methods = {}

  def has(self, part: str) -> bool:
    """Returns whether one of PARTS was made."""
    return part in self.__dict__  # As of a cached property.

  def method(self, name: str):
    """Returns the estimator of that name, the same one each time."""
    if name not in self._methods:
      self._methods[name] = self._make(name, self._problem, self._seed, self)
    return self._methods[name]

  def on(self, problem: problems.Problem) -> 'Shared':
    """Returns the same for another problem; nothing of this one is in it."""
    return Shared(
        problem,
        self.hyperparameters,
        self._seed,
        count=self.count,
        make=self._make,
    )

  @functools.cached_property
  def representation(self) -> representation.Representation:
    """The features phi and their successors psi."""
    config = self.hyperparameters.of(representation.RepresentationConfig)
    return representation.Representation(self._problem, config, self._seed)

  @functools.cached_property
  def value_function(self) -> value_function.ValueFunction:
    """Deep TD's Q."""
    config = self.hyperparameters.of(value_function.ValueFunctionConfig)
    return value_function.ValueFunction(self._problem, config, self._seed)

  @functools.cached_property
  def flow_test(self) -> flow.FlowTest | None:
    """Scores ratios of held-out episodes, or of all if none are held out.

    None on frames: its functions are of vectors.
    """
    if not self._problem.has_vectors:
      return None
    config = self.hyperparameters.of(flow.FlowTestConfig)
    return flow.FlowTest(self.scored or self._problem, config)

  @functools.cached_property
  def scored(self) -> problems.Problem | None:
    """What flow is scored on, if that is not all that is fitted.

    Of streamed data a part that fits the memory.
    """
    scored = self.held_out or self._problem
    if scored.is_streamed:
      return scored.thinned(flow.MOST_TRANSITIONS)[0]
    return self.held_out
