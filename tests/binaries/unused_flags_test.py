"""Tests that flags which play no part are named."""

from absl import flags
from absl.testing import flagsaver

from binaries import common_flags
from srdice_tf.estimators import presets

# Here, as what a test defines is gone after it.
_HYPERPARAMETERS = common_flags.define_hyperparameters()
_TRUTH = common_flags.define_truth()


@flagsaver.flagsaver
def test_hyper_parameters_of_other_methods_are_named(capsys):
  flags.FLAGS(['test', '--tau=0.5', '--start_pool=9', '--linear_ridge=0.3'])
  preset = presets.preset('quick', is_frames=False)
  found = _HYPERPARAMETERS(preset, ['deep_td', 'linear_srdice'])
  assert (found['tau'], found['linear_ridge']) == (0.5, 0.3)
  assert not capsys.readouterr().out
  assert _HYPERPARAMETERS(preset, ['linear_srdice']) == found
  printed = ' '.join(capsys.readouterr().out.split())
  assert printed == (
      'no part --start_pool, --tau: no estimator of --algo has them'
  )


def _truth(capsys, *arguments):
  """Returns the fields of the truth, and what is said of their flags."""
  flags.FLAGS(['test', *arguments])
  found = _TRUTH()
  return found, ' '.join(capsys.readouterr().out.split())


@flagsaver.flagsaver
def test_flags_of_roll_outs_are_named_where_there_are_none(capsys):
  found, said = _truth(capsys, '--truth=none', '--truth_episodes=9')
  assert found['truth'] == 'none'
  assert said == 'no part --truth_episodes: --truth=none takes no roll-outs'
  # As a report writes commands, with every default.
  _, said = _truth(
      capsys, '--truth=0.5', '--truth_episodes=0', '--nokeep_time_limit'
  )
  assert not said


@flagsaver.flagsaver
def test_a_bound_of_roll_outs_beside_their_number_is_named(capsys):
  _, said = _truth(capsys, '--truth_episodes=9', '--truth_max_episodes=20')
  assert said == (
      'no part --truth_max_episodes: --truth_episodes is how many there are'
  )
  assert not _truth(capsys, '--truth_episodes=0')[1]
