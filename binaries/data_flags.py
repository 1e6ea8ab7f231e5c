"""Flags of binaries that read data which were logged elsewhere."""

from collections.abc import Callable

from absl import flags

from binaries import common_flags
from srdice_tf import errors
from srdice_tf.policies import target_actions_file

# The caller's module, not this one, owns the flags defined here.
flags.disclaim_key_flags()


def define_data_source() -> Callable[[], dict]:
  """Defines --data, --columns and --accept: data that were logged elsewhere.

  Returns:
    A function that gives data, columns and accept, those that were set.
  """
  data = common_flags.define(
      'data',
      flags.DEFINE_string,
      None,
      'Logged data: a file of arrays (.npz; .hdf5 as of D4RL), a table (.csv, '
      '.parquet) with --columns, minari:ID, or a directory or file of Minari, '
      'RLDS, TF-Agents (TFRecord) or collect_dataset.py. Only read.',
  )
  columns = common_flags.define(
      'columns',
      flags.DEFINE_string,
      None,
      'Which columns of a table are what, such as '
      'state=x+y,action=a,reward=r,episode=id,terminal=done.',
  )
  accept = common_flags.define(
      'accept',
      flags.DEFINE_list,
      None,
      'Errors of check_data.py that are right in these data, by name, such as '
      'time_limit where a task does end after a fixed number of steps; they '
      'become warnings.',
  )
  def given() -> dict:
    return common_flags.given({'data': data, 'columns': columns})() | (
        {'accept': ','.join(accept.value)} if accept.value else {}
    )

  return given


def check_given(*names: str):
  """Raises a flag error if one of these flags was not given."""
  for name in names:
    if flags.FLAGS[name].value is None:
      raise flags.Error(f'flag --{name} must be given')


def define_target_actions() -> flags.FlagHolder[str]:
  return common_flags.define(
      'target_actions',
      flags.DEFINE_string,
      None,
      "File of the target policy's actions at s' of each transition "
      '(next_actions) and at s0 of each episode (initial_actions) of --data, '
      '.npz, for those who cannot give the policy itself; instead of --policy.',
  )


def checked_actions(path: str) -> str:
  """Returns the file of --target_actions.

  Raises:
    UserError: if it is no such file; a policy is for --policy.
  """
  if not target_actions_file.fits(path):
    raise errors.UserError(
        'target_actions',
        path,
        'no such file, or none with these arrays; expected an .npz file with'
        ' next_actions and initial_actions',
    )
  return path


def server_name(address: str | None, table: str) -> str:
  """Returns the name of the data in a table of a server.

  Raises:
    Error: if flags are missing, or do not go together.
  """
  if address is None:
    raise flags.Error('flag --reverb_table is for --reverb_address')
  if flags.FLAGS['data'].value is not None:
    raise flags.Error('give --data or --reverb_table, not both')
  return f'reverb:{address}/{table}'


def define_reverb_table() -> flags.FlagHolder[str]:
  return common_flags.define(
      'reverb_table',
      flags.DEFINE_string,
      None,
      "Table of the server at --reverb_address that TF-Agents' own observers "
      'fill; default: the server is one of replay_server.py.',
  )


def define_stream() -> flags.FlagHolder[bool]:
  return common_flags.define(
      'stream',
      flags.DEFINE_boolean,
      False,
      'Stream the data from a server, that of --reverb_address or one in a '
      'process of its own, instead of reading them into memory; data that are '
      'collected are streamed by themselves where they would take more than '
      'half of the free memory.',
  )
