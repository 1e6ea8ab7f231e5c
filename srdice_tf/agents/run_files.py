"""The directory of a training run: checkpoints, curve, snapshots, policy."""

import os

from tf_agents.policies import policy_saver

from srdice_tf import checkpoints
from srdice_tf import config_file
from srdice_tf import csv_file
from srdice_tf.policies import weights

# A run may go on to more steps and look at its policy more often.
_CHANGEABLE = ('num_steps', 'eval_every')
_TRACES = ('checkpoint-*', 'evaluations.csv')  # What a run goes on from.
CURVE_FIELDS = ('step', 'updates', 'mean_return', 'std_return', 'seconds')


class RunFiles:
  """Reads and writes a run directory; each file appears whole or not at all."""

  def __init__(self, directory: str):
    self._directory = directory
    self.checkpoints = checkpoints.Checkpoints(directory)
    config_file.make_directory(self.path('snapshots'))

  def path(self, *names: str) -> str:
    return os.path.join(self._directory, *names)

  def check_config(self, config):
    """Writes the settings, or refuses a directory of other ones."""
    config_file.claim(self._directory, config, _CHANGEABLE, _TRACES)

  # The learning curve and the weights at each of its points.

  def curve(self) -> list[dict[str, float]]:
    return csv_file.read(
        self.path('evaluations.csv'),
        CURVE_FIELDS,
        f'remove {self._directory} to train again',
    )

  def truncate_curve(self, step: int):
    """Drops the points after `step`, which are going to be computed again."""
    rows = [row for row in self.curve() if row['step'] <= step]
    self._write_curve(rows)

  def add_point(self, row: dict[str, float], network):
    weights.save(self.snapshot(row['step']), network)
    self._write_curve([*self.curve(), row])

  def _write_curve(self, rows):
    csv_file.write(
        self.path('evaluations.csv'),
        CURVE_FIELDS,
        ([row[name] for name in CURVE_FIELDS] for row in rows),
    )

  def snapshot(self, step: float) -> str:
    return self.path('snapshots', f'{int(step):09d}.npz')

  def save_policy(self, policy):
    policy_saver.PolicySaver(policy).save(self.path('policy'))
