"""What run_ope.py evaluates, from its flags: a task, or logged data."""

from collections.abc import Callable

from absl import flags

from binaries import common_flags
from binaries import data_flags
from srdice_tf import commands
from srdice_tf.experiments import logged_tasks
from srdice_tf.experiments import tasks

# The flags count as those of the binary.
flags.disclaim_key_flags()

# What a task with an environment takes, but data from elsewhere do not.
_OF_COLLECTED = (
    'setting',
    'num_transitions',
    'behaviour_policy',
    'behaviour_sigma',
    'uniform_probability',
    'epsilon',
    'greedy_probability',
)
_OF_LOGGED = 'columns', 'accept', 'target_actions'

TaskConfig = tasks.TaskConfig | logged_tasks.LoggedTaskConfig


def define() -> Callable[[], tuple[TaskConfig, str]]:
  """Defines the flags.

  Returns:
    A function that gives the task, and the address of a replay server that has
    its data, or ''.
  """
  env = common_flags.define_env(required=False)
  task = common_flags.define_task()
  source = data_flags.define_data_source()
  actions = data_flags.define_target_actions()
  address = common_flags.define_reverb_address()
  table = data_flags.define_reverb_table()

  def make() -> tuple[TaskConfig, str]:
    fields = task()
    if table.value is not None:
      server = data_flags.server_name(address.value, table.value)
      source_fields = {'data': server, **source()}
    else:
      source_fields = source()
    if 'data' not in source_fields:
      _refuse(_OF_LOGGED, 'is for --data')
      if env.value is None:
        raise flags.Error('flag --env must be given, or --data')
      return tasks.TaskConfig(env.value, **fields), address.value or ''
    _refuse(_OF_COLLECTED, 'is for data that are collected, not for --data')
    fields['policy'] = _policy(fields.get('policy'), actions.value)
    if 'truth' not in fields and not env.value:
      common_flags.say_no_rollouts('without --env there are no roll-outs')
    fields.setdefault('truth', 'rollouts' if env.value else 'none')
    config = logged_tasks.LoggedTaskConfig(
        env_id=env.value or '', **fields, **source_fields
    )
    return config, '' if table.value else address.value or ''

  return make


def _policy(policy: str | None, actions: str | None) -> str:
  if policy is not None and actions is not None:
    raise flags.Error('give --policy or --target_actions, not both')
  if policy is None and actions is None:
    command = commands.line('run_ope', data='logs.npz', policy='my_policy/')
    raise flags.Error(
        'flag --policy must be given, or --target_actions: what is evaluated'
        f' on --data; try: {command}'
    )
  if actions is not None:
    _refuse(['target_sigma'], 'is not for --target_actions: they are as drawn')
  return policy or data_flags.checked_actions(actions)


def _refuse(names, reason: str):
  for name in names:
    if flags.FLAGS[name].value is not None:
      raise flags.Error(f'flag --{name} {reason}')
