"""Tests that flags which play no part are named."""

from absl import flags
from absl.testing import flagsaver

from binaries import common_flags
from srdice_tf.estimators import presets


@flagsaver.flagsaver
def test_hyper_parameters_of_other_methods_are_named(capsys):
  with_flags = common_flags.define_hyperparameters()
  flags.FLAGS(['test', '--tau=0.5', '--start_pool=9', '--linear_ridge=0.3'])
  preset = presets.preset('quick', is_frames=False)
  found = with_flags(preset, ['deep_td', 'linear_srdice'])
  assert (found['tau'], found['linear_ridge']) == (0.5, 0.3)
  assert not capsys.readouterr().out
  assert with_flags(preset, ['linear_srdice']) == found
  printed = ' '.join(capsys.readouterr().out.split())
  assert printed == (
      'no part --start_pool, --tau: no estimator of --algo has them'
  )
