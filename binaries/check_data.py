"""Looks through logged data: what is in them, and what is wrong with them.

  python binaries/check_data.py --data=logs.npz --policy=my_policy/

Exits with 1 if an evaluation of the data would be wrong. Rows are those of a
file of arrays or a table, else transitions as they were read, counted from 0.
"""

from srdice_tf import console

console.start(__file__)

from absl import flags

from binaries import cli
from binaries import common_flags
from binaries import data_flags
from srdice_tf.experiments import data_check
from srdice_tf.reports import data_report

_SOURCE = data_flags.define_data_source()
_ADDRESS = common_flags.define_reverb_address()
_TABLE = data_flags.define_reverb_table()
_ENV = common_flags.define_env(required=False)
_POLICY = common_flags.define_policy()
_ACTIONS = data_flags.define_target_actions()
_SEED = common_flags.define_seed()


def main(_) -> int:
  found = data_check.run(
      data_check.DataRequest(
          policy=_policy(),
          env_id=_ENV.value or '',
          seed=_SEED.value,
          **_source(),
      )
  )
  print(data_report.text(found))
  return 1 if found.num_errors else 0


def _source() -> dict:
  if _TABLE.value is None:
    data_flags.check_given('data')
    return _SOURCE()
  server = data_flags.server_name(_ADDRESS.value, _TABLE.value)
  return {'data': server, **_SOURCE()}


def _policy() -> str:
  if _ACTIONS.value is None:
    return _POLICY.value or ''
  if _POLICY.value is not None:
    raise flags.Error('give --policy or --target_actions, not both')
  return data_flags.checked_actions(_ACTIONS.value)


if __name__ == '__main__':
  cli.run(main)
