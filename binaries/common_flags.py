"""Flags that several binaries share, each defined where it is asked for.

A binary calls the functions for the flags that it takes; they count as its
own, so that `--help` lists them, and no others.
"""

from collections.abc import Callable
from collections.abc import Sequence
import textwrap

from absl import flags

# The caller's module, not this one, owns the flags defined here.
flags.disclaim_key_flags()

KINDS = {
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    bool: flags.DEFINE_boolean,
    str: flags.DEFINE_string,
}
# Two binaries in one process, as in tests, share a flag.
_holders: dict[str, flags.FlagHolder] = {}


def define_env(required: bool = True) -> flags.FlagHolder[str]:
  """Defines --env.

  Args:
    required: whether it must be given.
  """
  return define(
      'env',
      flags.DEFINE_string,
      None,
      'Environment: a gymnasium id, such as HalfCheetah-v4 or ALE/Pong-v5, '
      'FiveStateChain, GridWalk, or RandomMDP-20-3-5-0 (states, actions, '
      'branching, seed).',
      required=required,
  )


def define_policy() -> flags.FlagHolder[str]:
  """Defines --policy, by default the one shipped for the environment."""
  return define(
      'policy',
      flags.DEFINE_string,
      None,
      'Base policy that is evaluated, as it is but for --target_sigma: '
      'pretrained (the default, shipped for the '
      'environment; also pretrained:weak, :medium, :good), untrained, '
      'random, the directory of a TF-Agents SavedModel, a Keras (.keras) or '
      'ONNX (.onnx) network, a policy of DOPE (.pkl), a Python function '
      '(module:function) from states to actions or probabilities, a file of '
      "the policy's actions at s' and s0 of the data (.npz with next_actions "
      'and initial_actions), of weights (.npz), or of a table of '
      'probabilities (.npy).',
  )


def define_setting() -> flags.FlagHolder[str]:
  """Defines --setting, how the base policy becomes the behaviour policy."""
  return define(
      'setting',
      flags.DEFINE_string,
      None,
      'Behaviour policy. Continuous actions: hard (default; noise 0.2, a fifth '
      'of the actions uniform) or easy (noise 0.133). Discrete actions: main '
      '(default; epsilon 0.1), noise (epsilon 0.2, a fifth of the episodes '
      'greedy) or separate (epsilon 0.1 around another agent, that of '
      '--behaviour_policy). '
      'Finite MDPs: alpha0 (default), alpha0.33 or alpha0.66, a uniform action '
      'with probability 2/3 (1 - alpha). Each number has a flag of its own.',
  )


def define_behaviour(with_target: bool = True) -> Callable[[], dict]:
  """Defines --behaviour_policy and a flag for each number of the noise.

  Args:
    with_target: whether the target policy's number is one of them.

  Returns:
    A function that gives the fields of a TaskConfig whose flags were set.
  """
  numbers = {
      'target_sigma': "Standard deviation of the target policy's noise, for "
      'actions between -1 and 1; default: 0.1 for the shipped policies, else '
      '0. Continuous actions of policies that do not draw them.',
      'behaviour_sigma': "Standard deviation of the behaviour policy's noise, "
      "for actions between -1 and 1; default: the setting's. Continuous "
      'actions.',
      'uniform_probability': 'Share of uniform actions of the behaviour policy;'
      " default: the setting's. Continuous actions.",
      'epsilon': 'Probability of a uniform action of the behaviour policy; '
      "default: the setting's. Discrete actions.",
      'greedy_probability': 'Share of the episodes in which the behaviour '
      "policy does not explore; default: the setting's. Discrete actions.",
  }
  if not with_target:
    del numbers['target_sigma']
  holders = {
      name: define(name, flags.DEFINE_float, None, text)
      for name, text in numbers.items()
  }
  holders['behaviour_policy'] = define(
      'behaviour_policy',
      flags.DEFINE_string,
      None,
      'Base policy that makes the data, named as for --policy; default: that '
      'of --policy, but in the setting separate the other agent that is '
      'shipped for the environment.',
  )
  return given(holders)


def define_num_transitions() -> flags.FlagHolder[int]:
  return define(
      'num_transitions',
      flags.DEFINE_integer,
      None,
      'Transitions to collect; default as in the paper: hard 50,000, easy '
      '500,000, discrete actions 1,000,000, finite MDPs 80,000.',
      lower_bound=1,
  )


def define_data(with_target: bool = False) -> Callable[[], dict]:
  """Defines the flags that say of which policy data are, how and how many.

  Args:
    with_target: as for `define_behaviour`.

  Returns:
    A function that gives the fields of a TaskConfig whose flags were set.
  """
  own = given({
      'policy': define_policy(),
      'setting': define_setting(),
      'num_transitions': define_num_transitions(),
  })
  behaviour = define_behaviour(with_target)
  return lambda: own() | behaviour()


def define_task() -> Callable[[], dict]:
  """Defines the flags of an evaluation but for --env; see `define_data`."""
  gamma, truth = define_gamma(), define_truth()
  data = define_data(with_target=True)
  return lambda: {'gamma': gamma.value, **truth(), **data()}


def define_seed() -> flags.FlagHolder[int]:
  return define(
      'seed',
      flags.DEFINE_integer,
      0,
      'Seed of all randomness: the same seed gives the same result.',
      lower_bound=0,
      upper_bound=2**31 - 1,
  )


def define_gamma() -> flags.FlagHolder[float]:
  """Defines --gamma, strictly between 0 and 1."""
  is_new = 'gamma' not in _holders
  holder = define(
      'gamma', flags.DEFINE_float, 0.99, 'Discount factor, between 0 and 1.'
  )
  if is_new:
    flags.register_validator(
        'gamma',
        lambda gamma: 0 < gamma < 1,
        message='must lie strictly between 0 and 1',
    )
  return holder


def define_truth() -> Callable[[], dict]:
  """Defines whether and how true values are known.

  Returns:
    A function that gives the fields of a task whose flags were set.
  """
  how = define(
      'truth',
      flags.DEFINE_string,
      None,
      'How true values are known: rollouts in the environment (exact in finite '
      'MDPs), none, or the value itself, a number per step. Default: rollouts '
      'where an environment is named, else none.',
  )
  rollouts = define_rollouts()

  def fields() -> dict:
    if how.value not in (None, 'rollouts'):
      say_no_rollouts(f'--truth={how.value} takes no roll-outs')
    return given({'truth': how})() | rollouts()

  return fields


def say_no_rollouts(reason: str):
  """Prints which flags of roll-outs play no part, where there are none."""
  names = 'truth_episodes', 'truth_max_episodes', 'keep_time_limit'
  _say_unused(_changed(names), reason)


def define_rollouts(max_episodes: int = 1000) -> Callable[[], dict]:
  """Defines how true values are measured, which cannot be left out.

  Args:
    max_episodes: the default of --truth_max_episodes.

  Returns:
    A function that gives the fields of a task.
  """
  episodes = define(
      'truth_episodes',
      flags.DEFINE_integer,
      0,
      'Roll-outs for each true value; 0: as many as it takes for a standard '
      'error below 0.5% of the value (near 0: of a tenth of the standard '
      'deviation of the rewards). The paper has 100. Finite MDPs: exact.',
      lower_bound=0,
  )
  most = define_truth_max_episodes(max_episodes)
  keep_time_limit = define_keep_time_limit()

  def fields() -> dict:
    unused = _changed(['truth_max_episodes'] if episodes.value else [])
    _say_unused(unused, '--truth_episodes is how many there are')
    return {
        'truth_episodes': episodes.value,
        'truth_max_episodes': most.value,
        'keep_time_limit': keep_time_limit.value,
    }

  return fields


def define_truth_max_episodes(default: int = 1000) -> flags.FlagHolder[int]:
  return define(
      'truth_max_episodes',
      flags.DEFINE_integer,
      default,
      'The most roll-outs for a true value if their number is not given.',
      lower_bound=2,
  )


def define_keep_time_limit() -> flags.FlagHolder[bool]:
  return define(
      'keep_time_limit',
      flags.DEFINE_boolean,
      False,
      "Cut roll-outs for true values at the environment's time limit, as the "
      'paper does; by default they go on until gamma^t is negligible.',
  )


def define_holdout_fraction() -> flags.FlagHolder[float]:
  return define(
      'holdout_fraction',
      flags.DEFINE_float,
      0.0,
      'Share of the episodes that is not fitted but scored: flow residuals are '
      'measured on it. 0: trained methods are scored on what they fitted.',
      lower_bound=0.0,
      upper_bound=0.9,
  )


def define_data_root() -> flags.FlagHolder[str]:
  return define(
      'data_root',
      flags.DEFINE_string,
      'data',
      'Directory for data sets, each named by its whole description, and for '
      'true values, which all runs share.',
  )


def define_reverb_address() -> flags.FlagHolder[str]:
  """Defines --reverb_address; None means a server in this process."""
  is_new = 'reverb_address' not in _holders
  holder = define(
      'reverb_address',
      flags.DEFINE_string,
      None,
      'Address (host:port) of a replay server that runs elsewhere, as started '
      'by replay_server.py; default: one in this process.',
  )
  if is_new:
    flags.register_validator(
        'reverb_address', _is_address, message='expected host:port'
    )
  return holder


def define_server_timeout() -> flags.FlagHolder[float]:
  return define(
      'server_timeout',
      flags.DEFINE_float,
      30.0,
      'Seconds after which a replay server that does not answer is given up.',
      lower_bound=0.1,
      upper_bound=86_400.0,
  )


def define_hyperparameters() -> Callable:
  """Defines a flag for each hyper-parameter of each estimator.

  Returns:
    A function of a preset and the names of estimators, which gives the preset
    with the flags that were set, and says which of them play no part.
  """
  # Imports TensorFlow, which not every binary needs.
  from srdice_tf.estimators import hyperparameters
  from srdice_tf.estimators import presets
  from srdice_tf.estimators import registry

  holders = {}
  for name, (field, text) in hyperparameters.fields().items():
    text = f'{text} In the preset paper: {presets.paper_text(name)}.'
    holders[name] = define(name, KINDS[field.type], None, text)
  values = given(holders)

  def change(preset, algos):
    registry.check_names(algos)
    changed = preset.replace(**values())
    used = changed.for_methods(algos).values()
    unused = sorted(set(values()).difference(*used))
    _say_unused(unused, 'no estimator of --algo has them')
    return changed

  return change


def define_fail_on() -> flags.FlagHolder[str]:
  """Defines --fail_on, from which verdict on a program fails."""
  grades = ['never', 'unsure', 'do_not_use']
  return define(
      'fail_on',
      lambda name, default, text: flags.DEFINE_enum(
          name, default, grades, text
      ),
      'never',
      'Exit with the code 4, after everything is written, if the verdict is '
      'this one or worse: for pipelines.',
  )


def given(holders: dict[str, flags.FlagHolder]) -> Callable[[], dict]:
  """Returns a function that gives the flags that were set, by field."""
  return lambda: {
      name: holder.value
      for name, holder in holders.items()
      if holder.value is not None
  }


def _changed(names: Sequence[str]) -> list[str]:
  """Returns the flags that were set to something else than their default."""
  found = (flags.FLAGS[name] for name in names)
  return [f.name for f in found if f.present and f.value != f.default]


def _say_unused(names: Sequence[str], reason: str):
  """Prints which flags play no part, if there are any."""
  if names:
    shown = ', '.join(f'--{name}' for name in names)
    text = f'no part       {shown}: {reason}'
    print(textwrap.fill(text, 80, subsequent_indent=14 * ' '), flush=True)


def define(name: str, kind, default, text: str, **options):
  """Defines a flag, or declares it anew for another binary.

  Args:
    name: of the flag.
    kind: absl's function for it, such as flags.DEFINE_string.
    default: of the flag.
    text: its help.
    **options: of `kind`.
  """
  if name in _holders:
    flags.declare_key_flag(name)
  else:
    _holders[name] = kind(name, default, text, **options)
  return _holders[name]


def _is_address(address: str | None) -> bool:
  if address is None:
    return True
  host, _, port = address.rpartition(':')
  return bool(host) and port.isdecimal() and 0 < int(port) < 65536
