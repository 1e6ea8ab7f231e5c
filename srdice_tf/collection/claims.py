"""Tells a replay server what is going to be collected, if that fits."""

from srdice_tf import errors
from srdice_tf.collection import collect_config


def claim(config: collect_config.CollectConfig, server):
  """Checks that the server's data are these ones; describes new data.

  Args:
    config: what is to be collected.
    server: a servers.ReplayServer or servers.RemoteServer.

  Raises:
    UserError: naming the field in which the data differ.
  """
  wanted = config.description()
  found = server.client.metadata()
  for collector, description in found.items():
    is_own = collector == config.collector
    for field in wanted if is_own else ('environment',):
      if description.get(field) != wanted[field]:
        raise errors.at(
            'data set',
            f'the one that is there differs in {field}: it has'
            f' {description.get(field)}, asked for is {wanted[field]}',
            'choose another dataset_dir',
        )
  if config.collector not in found:
    _check_room(config, found, server)
    server.client.put_metadata(wanted)


def _check_room(config, found: dict[int, dict], server):
  """Raises an error if Reverb would have to drop the oldest transitions."""
  taken = sum(each['num_transitions'] for each in found.values())
  capacity = server.client.capacity()
  if taken + config.num_transitions > capacity:
    raise errors.UserError(
        'num_transitions',
        config.num_transitions,
        f'the replay server can hold {capacity}, of which its collectors take'
        f' {taken}; start it with a larger capacity',
    )
