"""Tests for what run_ope.py is to evaluate, from its flags."""

from absl import flags
from absl.testing import flagsaver
import numpy as np
import pytest

from binaries import common_flags
from binaries import ope_task
from srdice_tf import errors
from srdice_tf.experiments import logged_tasks
from srdice_tf.experiments import tasks

_MAKE = ope_task.define()


def _made(**values):
  flags.FLAGS.mark_as_parsed()
  # Other tests of the process may have set some.
  defaults = {name: flags.FLAGS[name].default for name in common_flags._holders}
  with flagsaver.flagsaver(**defaults | values):
    return _MAKE()


def test_an_environment():
  config, address = _made(env='Hopper-v4', setting='easy')
  assert config == tasks.TaskConfig('Hopper-v4', setting='easy')
  assert address == ''


def test_logged_data_need_no_environment(tmp_path):
  path = str(tmp_path / 'a.npz')
  np.savez(path, next_actions=[1.0], initial_actions=[1.0])
  config, _ = _made(data='logs.npz', policy='module:act', accept=['pieces'])
  assert config == logged_tasks.LoggedTaskConfig(
      'logs.npz', 'module:act', truth='none', accept='pieces'
  )
  with pytest.raises(flags.Error, match='--target_sigma is not for'):
    _made(data='logs.npz', target_actions=path, target_sigma=0.1)
  config, _ = _made(data='logs.npz', policy='p', env='Hopper-v4')
  assert config.env_id == 'Hopper-v4' and config.truth == 'rollouts'


def test_actions_of_a_policy_that_is_not_given(tmp_path):
  path = str(tmp_path / 'a.npz')
  np.savez(path, next_actions=np.zeros((3, 1)), initial_actions=np.zeros(1))
  config, _ = _made(data='logs.npz', target_actions=path, truth='2.5')
  assert config.policy == path and config.truth == '2.5'
  np.savez(path, weights=np.zeros(3))
  for wrong in (path, 'not_there.npz', 'random'):
    with pytest.raises(errors.UserError, match=f'^target_actions={wrong}: no'):
      _made(data='logs.npz', target_actions=wrong)


def test_a_server_of_tf_agents():
  config, address = _made(
      reverb_address='localhost:8000', reverb_table='episodes', policy='p'
  )
  assert config.data == 'reverb:localhost:8000/episodes' and address == ''


@pytest.mark.parametrize(
    'values, message',
    [
        ({}, '--env must be given, or --data'),
        ({'env': 'Hopper-v4', 'columns': 'state=x'}, '--columns is for --data'),
        ({'data': 'x', 'policy': 'p', 'epsilon': 0.1}, '--epsilon is for data'),
        ({'data': 'x'}, 'try: .*run_ope.py --data=logs.npz --policy='),
        ({'data': 'x', 'policy': 'p', 'target_actions': 'a'}, 'not both'),
        ({'reverb_table': 't'}, '--reverb_table is for --reverb_address'),
    ],
)
def test_flags_that_do_not_go_together(values, message):
  with pytest.raises(flags.Error, match=message):
    _made(**values)
