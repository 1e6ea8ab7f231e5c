"""Flags that several binaries share, each defined where it is asked for.

A binary calls the functions for the flags that it takes; they count as its
own, so that `--help` lists them, and no others.
"""

from collections.abc import Callable
import dataclasses

from absl import flags

# The caller's module, not this one, owns the flags defined here.
flags.disclaim_key_flags()

# Two binaries in one process, as in tests, share a flag.
_holders: dict[str, flags.FlagHolder] = {}


def define_env() -> flags.FlagHolder[str]:
  """Defines --env, which must be given."""
  return _define(
      'env',
      flags.DEFINE_string,
      None,
      'Environment: a gymnasium id, such as HalfCheetah-v4 or ALE/Pong-v5, '
      'FiveStateChain, GridWalk, or RandomMDP-20-3-5-0 (states, actions, '
      'branching, seed).',
      required=True,
  )


def define_policy() -> flags.FlagHolder[str]:
  """Defines --policy, by default the one shipped for the environment."""
  return _define(
      'policy',
      flags.DEFINE_string,
      'pretrained',
      'Base policy: pretrained (shipped for the environment; also '
      'pretrained:weak, :medium, :good), untrained, random, the directory of a '
      'TF-Agents SavedModel, a file of weights (.npz), or of a table of '
      'probabilities (.npy).',
  )


def define_setting() -> flags.FlagHolder[str]:
  """Defines --setting, how the base policy becomes the behaviour policy."""
  return _define(
      'setting',
      flags.DEFINE_string,
      None,
      'Behaviour policy. Continuous actions: hard (default; noise 0.2, a fifth '
      'of the actions uniform) or easy (noise 0.133). Discrete actions: main '
      '(default; epsilon 0.1), noise (epsilon 0.2, a fifth of the episodes '
      'greedy) or separate (epsilon 0.1 around another agent, by default the '
      'shipped one). '
      'Finite MDPs: alpha0 (default), alpha0.33 or alpha0.66, a uniform action '
      'with probability 2/3 (1 - alpha).',
  )


def define_num_transitions() -> flags.FlagHolder[int]:
  return _define(
      'num_transitions',
      flags.DEFINE_integer,
      None,
      'Transitions to collect; default as in the paper: hard 50,000, easy '
      '500,000, discrete actions 1,000,000, finite MDPs 80,000.',
      lower_bound=1,
  )


def define_seed() -> flags.FlagHolder[int]:
  return _define(
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
  holder = _define(
      'gamma', flags.DEFINE_float, 0.99, 'Discount factor, between 0 and 1.'
  )
  if is_new:
    flags.register_validator(
        'gamma',
        lambda gamma: 0 < gamma < 1,
        message='must lie strictly between 0 and 1',
    )
  return holder


def define_truth(max_episodes: int = 1000) -> Callable[[], dict]:
  """Defines how true values are measured.

  Args:
    max_episodes: the default of --truth_max_episodes.

  Returns:
    A function that gives the fields of a task.
  """
  episodes = _define(
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
  return lambda: {
      'truth_episodes': episodes.value,
      'truth_max_episodes': most.value,
      'keep_time_limit': keep_time_limit.value,
  }


def define_truth_max_episodes(default: int = 1000) -> flags.FlagHolder[int]:
  return _define(
      'truth_max_episodes',
      flags.DEFINE_integer,
      default,
      'The most roll-outs for a true value if their number is not given.',
      lower_bound=2,
  )


def define_keep_time_limit() -> flags.FlagHolder[bool]:
  return _define(
      'keep_time_limit',
      flags.DEFINE_boolean,
      False,
      "Cut roll-outs for true values at the environment's time limit, as the "
      'paper does; by default they go on until gamma^t is negligible.',
  )


def define_holdout_fraction() -> flags.FlagHolder[float]:
  return _define(
      'holdout_fraction',
      flags.DEFINE_float,
      0.0,
      'Share of the episodes that is not fitted but scored: flow residuals are '
      'measured on it. 0: trained methods are scored on what they fitted.',
      lower_bound=0.0,
      upper_bound=0.9,
  )


def define_reverb_address() -> flags.FlagHolder[str]:
  """Defines --reverb_address; None means a server in this process."""
  is_new = 'reverb_address' not in _holders
  holder = _define(
      'reverb_address',
      flags.DEFINE_string,
      None,
      'host:port of a replay server that runs elsewhere, as started by '
      'replay_server.py; default: one in this process.',
  )
  if is_new:
    flags.register_validator(
        'reverb_address', _is_address, message='expected host:port'
    )
  return holder


def define_server_timeout() -> flags.FlagHolder[float]:
  return _define(
      'server_timeout',
      flags.DEFINE_float,
      30.0,
      'Seconds after which a replay server that does not answer is given up.',
      lower_bound=0.1,
  )


def define_fields(*config_classes) -> Callable[[], dict]:
  """Defines a flag for each field of dataclasses, which may share fields.

  Args:
    *config_classes: with their fields described under Attributes.

  Returns:
    A function that gives the fields whose flags were set.
  """
  kinds = {
      int: flags.DEFINE_integer,
      float: flags.DEFINE_float,
      bool: flags.DEFINE_boolean,
      str: flags.DEFINE_string,
  }
  texts, types, defaults, holders = {}, {}, {}, {}
  for config_class in config_classes:
    texts |= _attribute_texts(config_class.__doc__)
    for field in dataclasses.fields(config_class):
      types[field.name] = field.type
      defaults.setdefault(field.name, []).append(str(field.default))
  for name in types:
    values = ' or '.join(dict.fromkeys(defaults[name]))
    text = f'{texts[name]} Paper preset: {values}.'
    holders[name] = _define(name, kinds[types[name]], None, text)
  return lambda: {
      name: holder.value
      for name, holder in holders.items()
      if holder.value is not None
  }


def _attribute_texts(doc: str) -> dict[str, str]:
  """Returns the lines of a docstring's Attributes section by name."""
  section = doc.partition('Attributes:')[2]
  pairs = (line.strip().partition(': ') for line in section.splitlines())
  return {name: text for name, _, text in pairs if text}


def _define(name: str, define, default, text: str, **options):
  if name in _holders:
    flags.declare_key_flag(name)
  else:
    _holders[name] = define(name, default, text, **options)
  return _holders[name]


def _is_address(address: str | None) -> bool:
  if address is None:
    return True
  host, _, port = address.rpartition(':')
  return bool(host) and port.isdecimal() and 0 < int(port) < 65536
