"""What --help shows: the flags that people use first, and groups of all.

It imports nothing, so that --help comes at once. tests/binaries/help_test.py
compares it with the flags.
"""

# All flags but the hyper-parameters, which are Methods.
_NAMES = {
    'Task': (
        'env envs experiment match list policy target_actions target_sigma'
        ' noise gamma truth truth_episodes truth_max_episodes num_episodes'
        ' keep_time_limit'
    ),
    'Data': (
        'data stream columns accept runs setting num_transitions'
        ' behaviour_policy behaviour_sigma uniform_probability epsilon'
        ' greedy_probability dataset_dir data_root holdout_fraction'
        ' num_datasets num_envs collector save_seconds port host capacity'
        ' reverb_address reverb_table server_timeout'
    ),
    'Methods': 'algo agent only',
    'Schedule': (
        'preset scale seed num_seeds encoder_steps successor_steps updates'
        ' num_steps num_trials interval eval_every eval_episodes workers'
        ' executor ray_address num_threads'
    ),
    'Output': 'output_dir root table fail_on json keep ship verbose',
}
GROUPS = {group: names.split() for group, names in _NAMES.items()}
_OTHERS = 'Methods'

# The dozen flags, at most, that people use first.
FIRST = {
    'benchmark': 'num_transitions only',
    'check_data': (
        'env policy target_actions data columns accept reverb_address'
        ' reverb_table'
    ),
    'check_ranges': 'runs table',
    'check_verdicts': 'runs table',
    'collect_dataset': (
        'env policy setting num_transitions dataset_dir num_envs'
        ' reverb_address collector seed'
    ),
    'evaluate_policy': 'env policy noise gamma num_episodes seed json',
    'make_report': 'runs output_dir',
    'replay_server': 'dataset_dir port host capacity',
    'run_chain': 'gamma num_steps num_trials seed output_dir',
    'run_coverage': (
        'env policy gamma setting num_transitions num_datasets data_root algo'
        ' seed output_dir'
    ),
    'run_experiment': (
        'experiment match list data_root scale workers executor ray_address'
        ' root'
    ),
    'run_ope': (
        'env policy gamma truth data setting num_transitions algo preset seed'
        ' num_seeds output_dir'
    ),
    'run_study': (
        'envs policy gamma setting num_transitions algo preset seed num_seeds'
        ' output_dir'
    ),
    'train_policy': (
        'env gamma agent seed num_steps eval_every eval_episodes output_dir'
        ' ship'
    ),
}

_ENV = (
    'ID',
    'gymnasium id, such as Hopper-v4 or ALE/Pong-v5; FiveStateChain, GridWalk',
)
_DEFAULT_DATA = '; default: as many as in the paper'
# What a flag takes, and what for; of one program where another has the same
# name for something else.
SHORT = {
    'env': _ENV,
    'envs': ('LIST', 'environments; default: the five of the paper'),
    'experiment': ('NAME', 'one of those that --list shows'),
    'match': (
        'PATTERN', 'of its runs, such as Hopper.*seed0; default: all'
    ),
    'list': ('', 'show the experiments and what each costs at --scale'),
    'policy': (
        'NAME',
        'pretrained (default; shipped), a directory of a SavedModel, a .keras'
        ' or .onnx file, module:function, random',
    ),
    'target_actions': (
        'FILE', "the policy's actions instead of the policy, .npz"
    ),
    'noise': ('NAME', 'around the policy: target (default), none, hard, ...'),
    'gamma': ('NUMBER', 'discount (default: 0.99)'),
    'truth': ('HOW', 'rollouts (default with --env), none, or its value'),
    'num_episodes': ('NUMBER', 'roll-outs; default: to an error of 0.5%'),
    'data': ('PATH', 'your own data: .npz, .hdf5, .csv, .parquet, minari:ID,'
             ' or a directory'),
    'columns': ('WHICH', 'of a table, such as'
                ' state=x+y,action=a,reward=r,episode=id'),
    'accept': ('LIST', 'errors that are right in these data: time_limit, ...'),
    'runs': ('DIRECTORY', 'of the runs, at any height above them'),
    'setting': ('NAME', 'who makes the data: hard (default) or easy; discrete'
                ' actions: main (default), noise or separate'),
    'num_transitions': ('NUMBER', f'transitions to collect{_DEFAULT_DATA}'),
    'run_coverage.num_transitions': (
        'NUMBER', 'of each data set (default: 10000)'
    ),
    'benchmark.num_transitions': (
        'NUMBER', 'of a measurement (default: 50000)'
    ),
    'num_datasets': ('NUMBER', 'independent data sets (default: 100)'),
    'dataset_dir': ('DIRECTORY', 'of the data set'),
    'data_root': ('DIRECTORY', 'of all data sets and truths (default: data)'),
    'num_envs': ('NUMBER', 'environments that step together; default: by size'),
    'reverb_address': ('HOST:PORT', 'of a replay server that has the data'),
    'reverb_table': ('NAME', "table that TF-Agents' observers fill there"),
    'collector': ('NUMBER', 'of this one, if several fill a server'
                  ' (default: 0)'),
    'port': ('NUMBER', 'that the server listens on'),
    'host': ('ADDRESS', 'localhost (default), or 0.0.0.0: from everywhere'),
    'capacity': ('NUMBER', 'most transitions it can hold (default: 1000000)'),
    'algo': ('LIST', 'srdice (default), deep_td, linear_srdice, dr,'
             ' srdice_closed, srdice_lstd, deep_sr, dual_dice, gradient_dice,'
             ' tabular_srdice, tabular_dual_dice'),
    'run_study.algo': ('LIST', 'linear_srdice (default), srdice, deep_td, ...'),
    'run_coverage.algo': ('NAME', 'linear_srdice (default), srdice, ...'),
    'agent': ('NAME', 'td3 (default); ddqn or ddqn_per: discrete actions'),
    'only': ('GROUP', 'steps, linear, collect, dr, ...; can be repeated'),
    'preset': ('NAME', 'schedule and rates: paper (default), quick: two'
               ' minutes, fixed: for frames'),
    'run_study.preset': ('NAME', 'schedule and rates: paper (default) or'
                         ' quick'),
    'scale': ('NAME', 'desk (default), short: few updates, paper: days,'
              ' smoke: no result'),
    'seed': ('NUMBER', 'of everything random (default: 0)'),
    'num_seeds': ('NUMBER', 'runs with data of their own (default: 1)'),
    'run_study.num_seeds': ('NUMBER', 'data sets of each task (default: 10)'),
    'num_steps': ('NUMBER', 'steps to train for (default: 1000000)'),
    'run_chain.num_steps': ('NUMBER', 'updates of each trial (default: 50000)'),
    'num_trials': ('NUMBER', 'trials of each method (default: 10)'),
    'eval_every': ('NUMBER', 'steps between evaluations (default: 20000)'),
    'eval_episodes': ('NUMBER', 'episodes of an evaluation (default: 10)'),
    'workers': ('NUMBER', 'runs at a time (default: 0, all cores)'),
    'executor': ('WHERE', 'local (default) or ray'),
    'ray_address': ('HOST:PORT', 'of a Ray cluster that shares the disk'),
    'output_dir': ('DIRECTORY', 'of what it writes; default: below runs/'),
    'run_chain.output_dir': ('DIRECTORY', 'of the run (default: runs/chain)'),
    'run_coverage.output_dir': (
        'DIRECTORY', 'of the runs (default: runs/coverage)'
    ),
    'run_study.output_dir': ('DIRECTORY', 'of the runs (default: runs/study)'),
    'make_report.output_dir': ('DIRECTORY', 'default: report, below --runs'),
    'root': ('DIRECTORY', 'of all experiments (default: runs/experiments)'),
    'table': ('FILE', 'CSV; default: verdict.csv, below --runs'),
    'json': ('', 'print one line of JSON instead'),
    'ship': ('', 'do not train, but choose weights of the run to ship'),
}


def group_of(flag: str) -> str:
  """Returns the group of a flag."""
  found = (group for group, names in GROUPS.items() if flag in names)
  return next(found, _OTHERS)


def first(program: str) -> dict[str, list[tuple[str, str, str]]]:
  """Returns flag, value and text of what comes first, by group in order."""
  names = FIRST.get(program, '').split()
  found = {}
  for group in GROUPS:
    rows = [
        (name, *SHORT.get(f'{program}.{name}', SHORT.get(name)))
        for name in names
        if group_of(name) == group
    ]
    if rows:
      found[group] = rows
  return found
