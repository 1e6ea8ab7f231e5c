"""Tests of the experiments as data, and of what they are written out to."""

import json

import pytest

from srdice_tf import errors
from srdice_tf.experiments import known_experiments
from srdice_tf.experiments import own_experiments
from srdice_tf.experiments import paper_experiments
from srdice_tf.experiments import planning
from srdice_tf.experiments import runs
from srdice_tf.experiments import scales

_PAPER = {
    'hard', 'easy', 'random_rewards', 'ablation_size', 'ablation_gamma',
    'ablation_noise', 'ablation_deterministic', 'representations',
    'big_networks', 'run_time', 'atari_main', 'atari_noise', 'atari_separate',
    'chain',
}


def _specs(name, scale):
  return [
      (spec.point.label, spec.config)
      for spec in planning._specs(name, scale, 'data')
  ]


def test_every_experiment_of_the_paper_is_there():
  assert set(paper_experiments.EXPERIMENTS) == _PAPER
  own = set(own_experiments.EXPERIMENTS)
  assert own and not own & _PAPER
  assert set(known_experiments.EXPERIMENTS) == _PAPER | own
  assert set(scales.SCALES) == {'paper', 'desk', 'short', 'smoke'}


def test_hard_at_the_scale_of_the_paper():
  specs = _specs('hard', 'paper')
  # Seven tasks, ten seeds; methods that share phi and psi share a run.
  assert len(specs) == 2 * 7 * 10
  assert {config.algos for _, config in specs} == {
      ('srdice', 'srdice_closed', 'deep_sr', 'deep_td'),
      ('dual_dice', 'gradient_dice'),
  }
  for _, config in specs:
    assert not config.hyperparameters.changes()
    assert config.task.truth_episodes == 100
    assert config.task.num_transitions == 50_000


@pytest.mark.parametrize(
    'scale, small, large', [('desk', 3, 3), ('short', 3, 3), ('paper', 0, 3)]
)
def test_large_batches_stand_beside_the_small_ones_of_hard(scale, small, large):
  found = {}
  for label, config in _specs('batch_size', scale):
    for algo in config.algos:
      key = label, algo, config.hyperparameters['ratio_batch_size']
      found[key] = found.get(key, 0) + 1
  expected = {}
  for algo in ('dual_dice', 'gradient_dice'):
    # By the paper's numbers those of hard are large.
    name = 'batch2048' if small else ''
    expected |= {('', algo, 256): small, (name, algo, 2048): large}
  assert found == {key: count for key, count in expected.items() if count}


def test_parts_of_the_behaviour_policy_change_one_number_each():
  found = {
      (label, c.task.behaviour_sigma, c.task.uniform_probability)
      for label, c in _specs('behaviour_parts', 'paper')
  }
  # None is the hard setting's own.
  assert found == {
      ('', None, None), ('gaussian', None, 0.0), ('uniform', 0.1, None),
  }


def test_ablations_say_what_differs():
  sizes = [c.task.num_transitions for _, c in _specs('ablation_size', 'paper')]
  assert sorted(set(sizes)) == [
      5_000, 10_000, 25_000, 50_000, 100_000, 250_000
  ]
  gammas = {c.task.gamma for _, c in _specs('ablation_gamma', 'paper')}
  assert gammas == {0.9, 0.95, 0.99, 0.995}
  ((_, noise), *_) = _specs('ablation_noise', 'paper')
  assert noise.task.behaviour_sigma == 0.5
  assert noise.task.uniform_probability == 0.0
  ((_, greedy), *_) = _specs('ablation_deterministic', 'paper')
  assert (greedy.task.target_sigma, greedy.task.behaviour_sigma) == (0.0, 0.0)
  big = [c for label, c in _specs('big_networks', 'paper') if label == 'big']
  assert {c.hyperparameters['hidden_layers'] for c in big} == {3}
  assert len(big) == 10


@pytest.mark.parametrize(
    'name, desk, short',
    [('hard', 5, 5), ('easy', 3, 3), ('ablation_gamma', 3, 5),
     ('big_networks', 3, 5), ('atari_main', 3, 3)],
)
def test_how_many_data_sets_there_are(name, desk, short):
  seeds = lambda scale: {config.seed for _, config in _specs(name, scale)}
  assert (seeds('desk'), seeds('short')) == ({*range(desk)}, {*range(short)})


def test_verdicts_are_tried_on_seven_tasks_and_four_checkpoints():
  specs = _specs('verdict', 'desk')
  own = [c.task for label, c in specs if '_of_' not in label]
  assert len({(t.env_id, t.policy, t.setting) for t in own}) == 7 * 4 * 2
  assert len(own) == 56 and all(t.policy == t.behaviour_policy for t in own)
  others = [c.task for label, c in specs if '_of_' in label]
  assert {(t.policy, t.behaviour_policy) for t in others} == {
      ('pretrained:best', 'pretrained:weak')
  }
  # One run has all methods: they are compared with each other.
  assert {len(config.algos) for _, config in specs} == {4}


def test_games_are_those_with_a_shipped_agent():
  for name in ('atari_main', 'atari_noise', 'atari_separate'):
    found = {c.task.env_id for _, c in _specs(name, 'paper')}
    # Of Asterix there is no second agent.
    several = {'ALE/Pong-v5', 'ALE/Asterix-v5'}
    assert found == ({'ALE/Pong-v5'} if name == 'atari_separate' else several)
    assert {c.seed for _, c in _specs(name, 'paper')} == {0, 1, 2}


def test_what_two_experiments_have_in_common_is_run_once(tmp_path):
  root = str(tmp_path)
  hard = planning.plan('hard', 'paper', root)
  gamma = planning.plan('ablation_gamma', 'paper', root)
  both = {e.directory for e in hard.entries} & set(gamma.shown)
  assert len(both) == 20  # Two runs of each seed.
  for run in both:
    shown = gamma.shown[run]
    assert shown == run.replace('/hard/', '/ablation_gamma/', 1)


@pytest.mark.parametrize('scale', scales.SCALES)
@pytest.mark.parametrize('name', known_experiments.EXPERIMENTS)
def test_every_experiment_has_a_cost(name, scale):
  count, seconds = planning.cost(name, scale)
  assert count >= 1 and seconds > 0
  if scale == 'smoke':
    assert count <= 3 and seconds < 120


def test_costs_follow_the_numbers_of_steps():
  _, paper = planning.cost('hard', 'paper')
  _, desk = planning.cost('hard', 'desk')
  # DualDICE and GradientDICE: 250,000 steps of 40 ms, 7 tasks, 10 seeds.
  dice = 2 * 250_000 * 0.040 * 70
  assert dice < paper < 1.3 * dice
  assert desk < paper / 6


def test_directories_have_names_of_their_own(tmp_path):
  for name in ('ablation_size', 'big_networks', 'coverage'):
    plan = planning.plan(name, 'smoke', str(tmp_path))
    paths = [entry.directory for entry in plan.entries]
    assert len(set(paths)) == len(paths)
    assert all(isinstance(e.config, runs.RunConfig) for e in plan.entries)


def test_the_caption_states_seeds_updates_and_batch(tmp_path):
  plan = planning.plan('hard', 'desk', str(tmp_path))
  caption = planning.caption(plan)
  assert '5 seeds' in caption and 'two cores' in caption
  assert 'gradient_dice: 250,000 updates, batch 256, 50,000' in caption
  assert 'deep_td: 250,000 updates, batch 2,048' in caption


def test_experiment_json_names_the_runs(tmp_path):
  plan = planning.plan('chain', 'smoke', str(tmp_path))
  planning.write(plan, 'python x')
  path = tmp_path / 'smoke' / 'chain' / 'experiment.json'
  found = json.loads(path.read_text())
  assert found['name'] == 'chain' and found['scale'] == 'smoke'
  assert found['runs'] == ['chain'] and found['command'] == 'python x'
  assert '2 trials, 200 updates' in found['caption']
  planning.write(plan, 'python y')  # The same once more.
  path.write_text(json.dumps({**found, 'scale': 'desk'}))
  with pytest.raises(errors.UserError, match='has the scale desk, asked for'):
    planning.write(plan, '')
  path.write_text('{"name": "cha')
  with pytest.raises(errors.UserError, match='cannot be read as JSON'):
    planning.write(plan, '')


def test_a_part_has_what_it_needs(tmp_path):
  whole = planning.plan('random_rewards', 'smoke', str(tmp_path))
  part = planning.part(whole, 'HalfCheetah.*seed0$')
  rewards = [entry for entry in part.entries if entry.after]
  assert rewards
  for entry in rewards:
    assert 'HalfCheetah' in entry.directory
    assert set(entry.after) <= {other.directory for other in part.entries}
  assert planning.part(whole, '') == whole


def test_a_part_leaves_out_the_rest(tmp_path):
  whole = planning.plan('schedules', 'desk', str(tmp_path))
  part = planning.part(whole, r'^fast(5|10)000/.*(Ant|Hopper).*seed[01]$')
  assert len(part.entries) == 2 * 2 * 2
  # In the order of the whole.
  assert part.entries == tuple(e for e in whole.entries if e in part.entries)
  with pytest.raises(errors.UserError, match=r'match=Swimmer: no run has'):
    planning.part(whole, 'Swimmer')
  with pytest.raises(errors.UserError, match=r'match=\[: expected a regular'):
    planning.part(whole, '[')


def test_unknown_names_are_refused_with_the_nearest():
  with pytest.raises(errors.UserError, match='experiment=ablation_sise: .*'
                     'nearest are ablation_size'):
    planning.plan('ablation_sise', 'smoke', '')
  with pytest.raises(errors.UserError, match='there are hard, easy'):
    planning.plan('zzzzz', 'smoke', '')
  with pytest.raises(errors.UserError, match='scale=dexk: .*nearest is desk'):
    planning.plan('chain', 'dexk', '')


def test_directories_that_cannot_be_are_found_before_any_run(tmp_path):
  file, good = tmp_path / 'file', str(tmp_path)
  file.touch()
  for field in ('root', 'data_root'):
    roots = {'root': good, 'data_root': good, field: str(file)}
    with pytest.raises(errors.UserError, match=f'^{field}=.*Not a directory'):
      planning.plan('coverage', 'smoke', **roots)
