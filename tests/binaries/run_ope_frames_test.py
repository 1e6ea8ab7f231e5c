"""End-to-end test of run_ope on frames, with a schedule of a few steps."""

import json

from tests import warm_processes


def _run(tmp_path, **flags):
  flags = {
      'env': 'PixelCorridor',
      'policy': 'untrained',
      'algo': 'srdice,srdice_closed,deep_td',
      'preset': 'fixed',
      'num_transitions': 200,
      'truth_episodes': 5,
      'encoder_steps': 2,
      'successor_steps': 2,
      'updates': 2,
      'batch_size': 4,
      'hidden_units': 16,
      'output_dir': tmp_path / 'run',
      'dataset_dir': tmp_path / 'data',
      'data_root': tmp_path / 'root',
      **flags,
  }
  return warm_processes.run(
      'binaries/run_ope.py', *warm_processes.flags(flags)
  )


def test_frames_are_evaluated_by_the_same_command(tmp_path):
  result = _run(tmp_path)
  assert result.returncode == 0, result.stderr
  (run_dir,) = tmp_path.glob('run/*/seed0')
  methods = json.loads((run_dir / 'result.json').read_text())['methods']
  names = [method['method'] for method in methods]
  assert names == ['srdice', 'srdice_closed', 'deep_td']
  closed = methods[1]
  assert closed['interval'][0] < closed['value'] < closed['interval'][1]
  assert closed['diagnostics']['effective_share'] > 0.0
  config = json.loads((run_dir / 'config.json').read_text())
  found = config['hyperparameters']
  shared = found['representation']
  assert (shared['pixel_scale'], shared['target_interval']) == (255.0, 0)
  assert found['srdice']['normalise_features']
  # The frames of a data set must be those that are asked for.
  with open(tmp_path / 'data' / 'dataset.json') as file:
    description = json.load(file)
  description['environment']['frame_skip'] = 2
  with open(tmp_path / 'data' / 'dataset.json', 'w') as file:
    json.dump(description, file)
  result = _run(tmp_path, output_dir=tmp_path / 'other')
  assert result.returncode == 1
  assert 'its environment has frame_skip 2, asked for is None' in result.stderr
