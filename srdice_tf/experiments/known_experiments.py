"""All experiments by name: those of the paper, and ours beyond it."""

import difflib

from srdice_tf import commands
from srdice_tf import errors
from srdice_tf.experiments import designs
from srdice_tf.experiments import own_experiments
from srdice_tf.experiments import paper_experiments

EXPERIMENTS: dict[str, designs.Experiment] = {
    **paper_experiments.EXPERIMENTS, **own_experiments.EXPERIMENTS
}


def experiment(name: str) -> designs.Experiment:
  """Returns an experiment by its name.

  Raises:
    UserError: if there is none of that name; the nearest are named.
  """
  if name in EXPERIMENTS:
    return EXPERIMENTS[name]
  near = difflib.get_close_matches(name, EXPERIMENTS, n=3, cutoff=0.4)
  others = f'{"the nearest" if near else "there"} are'
  others += f' {", ".join(near or EXPERIMENTS)}'
  advice = f'{others}; see {commands.line("run_experiment", list=True)}'
  expected = f'there is no such experiment; {advice}'
  raise errors.UserError('experiment', name, expected)
