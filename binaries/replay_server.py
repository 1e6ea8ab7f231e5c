r"""Serves a data set to collectors and readers on other machines.

  python binaries/replay_server.py --port=8008 --dataset_dir=data/shared
  python binaries/collect_dataset.py --env=Hopper-v4 --collector=1 \
    --reverb_address=localhost:8008

It saves when a collector asks for it and when it is stopped with Ctrl-C. The
same command starts it again with the data it had.
"""

from srdice_tf import console

console.start(__file__)

import time

from absl import flags

from binaries import cli
from srdice_tf import interrupts
from srdice_tf import limits
from srdice_tf.replay import directories
from srdice_tf.replay import network
from srdice_tf.replay import servers

_PORT = flags.DEFINE_integer(
    'port', None, 'Port that the server listens on.', lower_bound=1,
    upper_bound=65535, required=True,
)
_DATASET_DIR = flags.DEFINE_string(
    'dataset_dir', None, 'Directory of the data set.', required=True
)
_CAPACITY = flags.DEFINE_integer(
    'capacity', 1_000_000, 'Most transitions that the server can hold.',
    lower_bound=1,
)
_HOST = flags.DEFINE_enum(
    'host',
    network.LOCALHOST,
    network.HOSTS,
    'From where the server can be reached: from this machine only, or from'
    ' everywhere (0.0.0.0). The server asks for no password.',
)
_LEAST_BYTES = 32  # Of a transition, in any environment.
_REACH = {
    True: 'only this machine can reach it; --host=0.0.0.0 opens it',
    False: 'everybody who can reach this machine can read and change its data',
}


def main(_) -> None:
  limits.check_memory(
      'capacity', _CAPACITY.value, lambda size: size * _LEAST_BYTES
  )
  directory = directories.DatasetDirectory(_DATASET_DIR.value)
  server = servers.ReplayServer(
      directory, _CAPACITY.value, _PORT.value, _HOST.value
  )
  with interrupts.Deferred() as interrupt:
    size = server.counts['transitions']
    print(f'serving {size:,} transitions on port {_PORT.value}', flush=True)
    print(_REACH[network.is_local(server.port)], flush=True)
    while interrupt.received is None:
      server.adopt_checkpoint()
      time.sleep(0.2)
    server.save()
  size = server.counts['transitions']
  print(f'saved {size:,} transitions in {_DATASET_DIR.value}')
  server.stop()


if __name__ == '__main__':
  cli.run(main)
