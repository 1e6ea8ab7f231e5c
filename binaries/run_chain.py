"""Reproduces the paper's toy figure: density ratios on the five-state chain.

  python binaries/run_chain.py

SR-DICE, DualDICE and GradientDICE with tabular, inverted and dependent
features; all trials of a method are trained at once. If the run is killed, the
same command goes on after the last curve that was finished.
"""

from srdice_tf import console

console.start(__file__)

import os

from absl import flags

from binaries import cli
from binaries import config_flags
from srdice_tf.experiments import chain
from srdice_tf.reports import chain_table

_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', os.path.join('runs', 'chain'), 'Directory of the run.'
)
_SETTINGS = config_flags.define_fields(chain.ChainConfig)


def main(_) -> None:
  config = chain.ChainConfig(**_SETTINGS())
  curves = chain.run(config, _OUTPUT_DIR.value)
  print(chain_table.table(curves))
  print(
      f'picture       {os.path.join(_OUTPUT_DIR.value, chain.PICTURE)}\n'
      f'next          tensorboard --logdir={_OUTPUT_DIR.value}'
  )
  chain_table.check_finite(curves, _OUTPUT_DIR.value)


if __name__ == '__main__':
  cli.run(main)
