"""Phi, psi and Q that one run has trained, for others that need the same.

A directory for each part, named by all that it depends on, holds checkpoints
after each of its phases. A run that loads one finds what it would have found by
training, bit for bit; if it needs more steps, it goes on from there.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import fcntl
import os
import shutil

import tensorflow as tf

from srdice_tf import checkpoints
from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import interface
from srdice_tf.experiments import truths

_WEIGHTS = 'weights'
# To raise whenever the same config trains other numbers than before.
_REVISION = 1
# Parts that are shared, and the steps of the last phase of each.
_LAST_STEPS = {
    'representation': 'successor_steps', 'value_function': 'updates'
}


class FeatureStore:
  """Where runs leave one part that they have trained for each other."""

  def __init__(self, root: str, part, steps_field: str, description: Mapping):
    """Makes nothing yet.

    Args:
      root: directory of all parts.
      part: one of `Shared`, with `phases` and `config`.
      steps_field: which field of its config counts the last phase's steps.
      description: all else that the part depends on.
    """
    name = truths.checksum({
        **description,
        'part': part.name,
        'config': _changed(part.config, steps_field),
        'revision': _REVISION,
        'tensorflow': tf.__version__,
    })
    self._part = part
    self._path = os.path.join(root, name[:24])

  @contextlib.contextmanager
  def use(self, trainer: training.PhaseTrainer) -> Iterator[Callable]:
    """Loads what is there, or keeps what is going to be trained.

    If another process is training it, this one waits.

    Args:
      trainer: of the estimators; if it has begun with this part, it goes on.

    Yields:
      A function to call with the name of each phase that is done.
    """
    own = [p for p in self._part.phases if trainer.has(p.name)]
    with contextlib.ExitStack() as stack:
      is_mine = not any(trainer.step_of(p.name) for p in own)
      if is_mine:
        stack.enter_context(self._locked())
        if not any(map(trainer.is_last, own)):
          self._load(trainer, own)

      def on_phase(name: str):
        names = [p.name for p in own]
        if name not in names:
          return
        # If this run began before, another one may be about to save it.
        with contextlib.suppress(BlockingIOError):
          alone = contextlib.nullcontext() if is_mine else self._locked(False)
          with alone:
            self._save(trainer, own[: names.index(name) + 1])
        if name == names[-1]:
          stack.close()

      yield on_phase

  def _load(self, trainer, own):
    """Reads the checkpoint that is furthest, but not further than asked."""
    for count in range(len(own), 0, -1):
      for steps in self._found(own[count - 1]):
        directory = self._directory(own[count - 1], steps)
        try:
          path = checkpoints.Checkpoints(directory).latest()
          if path is not None:
            names = [p.name for p in own[:count]]
            checkpoint = trainer.checkpoint_of(names, features=self._part)
            training.restore(checkpoint, os.path.join(path, _WEIGHTS))
            return
        except errors.UserError:  # Damaged: it is trained again.
          shutil.rmtree(directory)

  def _found(self, phase) -> list[int]:
    """Returns after how many steps a phase was kept, the most first."""
    if not os.path.isdir(self._path):
      return []
    parts = [name.rpartition('_') for name in os.listdir(self._path)]
    steps = [int(number) for name, _, number in parts if name == phase.name]
    return sorted((n for n in steps if n <= phase.num_steps), reverse=True)

  def _save(self, trainer, done):
    directory = self._directory(done[-1], done[-1].num_steps)
    checkpoint = trainer.checkpoint_of(
        [p.name for p in done], features=self._part
    )
    checkpoints.Checkpoints(directory).save(
        1, lambda path: checkpoint.write(os.path.join(path, _WEIGHTS))
    )

  def _directory(self, phase, steps: int) -> str:
    return os.path.join(self._path, f'{phase.name}_{steps}')

  @contextlib.contextmanager
  def _locked(self, waits: bool = True) -> Iterator[None]:
    os.makedirs(os.path.dirname(self._path), exist_ok=True)
    with open(f'{self._path}.wait', 'w') as file:
      fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
      yield


@contextlib.contextmanager
def unused(trainer: training.PhaseTrainer) -> Iterator[Callable[[str], None]]:
  """Does nothing, where FeatureStore.use would share."""
  del trainer
  yield lambda phase: None


def user(
    estimators: Mapping[str, interface.Estimator],
    root: str,
    description: Mapping,
) -> Callable:
  """Returns FeatureStore.use for all parts, or `unused` to share none.

  Args:
    estimators: by name.
    root: directory of all parts; '' shares nothing.
    description: all that the parts depend on, beside their configs.
  """
  shared = next(iter(estimators.values())).shared
  # Parts of some of the data, such as folds have, are not among these.
  stores = [
      FeatureStore(root, getattr(shared, part), steps, description)
      for part, steps in _LAST_STEPS.items()
      if root and shared.has(part)
  ]

  @contextlib.contextmanager
  def use(trainer: training.PhaseTrainer) -> Iterator[Callable[[str], None]]:
    with contextlib.ExitStack() as stack:
      calls = [stack.enter_context(store.use(trainer)) for store in stores]

      def on_phase(name: str):
        if not any(map(trainer.has_diverged, estimators)):
          for call in calls:
            call(name)

      yield on_phase

  return use if stores else unused


def _changed(config, steps_field: str) -> dict:
  """Returns the fields that are not the default: new ones change no name."""
  return {
      field.name: getattr(config, field.name)
      for field in dataclasses.fields(config)
      if field.name != steps_field
      and getattr(config, field.name) != field.default
  }
