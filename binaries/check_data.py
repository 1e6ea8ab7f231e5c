"""Looks through logged data: what is in them, and what is wrong with them.

  python binaries/check_data.py --data=logs.npz --policy=my_policy/

Exits with 1 if an evaluation of the data would be wrong. Rows are transitions
as they were read, counted from 0.
"""

from srdice_tf.logging import quiet

quiet.install()

from binaries import cli
from binaries import common_flags
from binaries import data_flags
from srdice_tf.experiments import data_check
from srdice_tf.reports import data_report

_SOURCE = data_flags.define_data_source()
_ENV = common_flags.define_env(required=False)
_POLICY = common_flags.define_policy()
_SEED = common_flags.define_seed()


def main(_) -> int:
  data_flags.check_given('data')
  found = data_check.run(
      data_check.DataRequest(
          policy=_POLICY.value or '',
          env_id=_ENV.value or '',
          seed=_SEED.value,
          **_SOURCE(),
      )
  )
  print(data_report.text(found))
  return 1 if found.num_errors else 0


if __name__ == '__main__':
  cli.run(main)
