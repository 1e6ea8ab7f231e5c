"""Phi and psi that one run has trained, for the others that need the same.

A directory for each representation, named by all that it depends on, holds a
checkpoint of its networks after the last of its phases that was trained. A run
that loads it finds what it would have found by training, bit for bit.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import fcntl
import glob
import os
import shutil

import tensorflow as tf

from srdice_tf import checkpoints
from srdice_tf import checksums
from srdice_tf import errors
from srdice_tf import training
from srdice_tf.estimators import interface
from srdice_tf.estimators import representation
from srdice_tf.experiments import truths

_WEIGHTS = 'weights'
# Whose code decides what is trained.
_CODE = 'losses.py', 'training.py', 'estimators/*.py', 'networks/*.py'


class FeatureStore:
  """Where runs with the same phi and psi leave them for each other."""

  def __init__(self, root: str, description: Mapping):
    """Makes nothing yet.

    Args:
      root: directory of all representations.
      description: all that phi and psi depend on, beside the code.
    """
    name = truths.checksum({**description, **_versions()})[:24]
    self._path = os.path.join(root, name)
    self._checkpoints = checkpoints.Checkpoints(self._path)

  @contextlib.contextmanager
  def use(
      self,
      estimators: Mapping[str, interface.Estimator],
      trainer: training.PhaseTrainer,
  ) -> Iterator[Callable[[str], None]]:
    """Loads what is there, or keeps what is going to be trained.

    If another process is training it, this one waits.

    Args:
      estimators: by name.
      trainer: of the estimators; if it has begun with phi, it goes on.

    Yields:
      A function to call with the name of each phase that is done.
    """
    features = _representation(estimators)
    own = [p.name for p in features.phases if trainer.has(p.name)]
    with contextlib.ExitStack() as stack:
      is_mine = not any(map(trainer.step_of, own))
      if is_mine:
        stack.enter_context(self._locked())
        self._load(features, trainer, own)

      def on_phase(name: str):
        if name not in own or any(map(trainer.has_diverged, estimators)):
          return
        # If this run began before, another one may be about to save it.
        with contextlib.suppress(BlockingIOError):
          alone = contextlib.nullcontext() if is_mine else self._locked(False)
          with alone:
            self._save(features, trainer, own[: own.index(name) + 1])
        if name == own[-1]:
          stack.close()

      yield on_phase

  def _load(self, features, trainer, own: list[str]):
    try:
      path = self._checkpoints.latest()
      if path is not None:
        num_phases = min(_number(path), len(own))
        checkpoint = trainer.checkpoint_of(own[:num_phases], features=features)
        training.restore(checkpoint, os.path.join(path, _WEIGHTS))
    except errors.UserError:  # Damaged: it is trained again.
      shutil.rmtree(self._path)

  def _save(self, features, trainer, done: list[str]):
    path = self._checkpoints.latest()
    if path is None or _number(path) < len(done):
      checkpoint = trainer.checkpoint_of(done, features=features)
      self._checkpoints.save(
          len(done),
          lambda path: checkpoint.write(os.path.join(path, _WEIGHTS)),
      )

  @contextlib.contextmanager
  def _locked(self, waits: bool = True) -> Iterator[None]:
    os.makedirs(os.path.dirname(self._path), exist_ok=True)
    with open(f'{self._path}.wait', 'w') as file:
      fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
      yield


@contextlib.contextmanager
def unused(*_) -> Iterator[Callable[[str], None]]:
  """Does nothing, where FeatureStore.use would share."""
  yield lambda phase: None


def user(
    estimators: Mapping[str, interface.Estimator],
    root: str,
    describe: Callable[[representation.RepresentationConfig], Mapping],
) -> Callable:
  """Returns FeatureStore.use, or `unused` if there is no phi to share.

  Args:
    estimators: by name.
    root: directory of all representations; '' shares nothing.
    describe: returns all that phi and psi depend on.
  """
  features = _representation(estimators)
  if not root or features is None:
    return unused
  return FeatureStore(root, describe(features.config)).use


def _representation(
    estimators: Mapping[str, interface.Estimator],
) -> representation.Representation | None:
  """Returns that of the whole data; parts of them may have their own."""
  shared = next(iter(estimators.values())).shared
  return shared.representation if shared.has('representation') else None


def _number(checkpoint: str) -> int:
  """Returns how many phases a checkpoint has."""
  return int(checkpoint.rpartition('-')[2])


def _versions() -> dict[str, str]:
  package = os.path.dirname(os.path.dirname(__file__))
  paths = [
      path
      for pattern in _CODE
      for path in sorted(glob.glob(os.path.join(package, pattern)))
  ]
  code = {os.path.relpath(p, package): checksums.of_file(p) for p in paths}
  return {'code': truths.checksum(code), 'tensorflow': tf.__version__}
