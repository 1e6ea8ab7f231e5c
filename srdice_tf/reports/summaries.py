"""The last words of the binaries that collect data and measure values."""

import textwrap

from srdice_tf import commands
from srdice_tf.evaluation import log_error


def of_collection(description: dict, place: str, seconds: float) -> str:
  """Returns the summary of a collected data set.

  Args:
    description: of the data set, as in its dataset.json.
    place: where it is.
    seconds: that this run took.
  """
  counts = description['counts']
  env_id, policy = description['environment']['id'], description['policy']
  returns = 'no episode ended'
  if counts['ended_episodes']:
    returns = f'{counts["mean_return"]:.2f} +- {counts["std_return"]:.2f} (std)'
  return f"""
environment   {env_id}, {description['setting']}, seed {description['seed']}
transitions   {counts['transitions']:,} in {place}
episodes      {counts['episodes']:,} begun, {counts['ended_episodes']:,} ended
mean reward   {counts['mean_reward']:.4f} a step
returns       {returns}
time          {seconds:.1f} s
next          {commands.line('evaluate_policy', env=env_id, policy=policy)}"""


def of_value(
    value, env_id: str, policy: str, noise: str, seconds: float
) -> str:
  """Returns the summary of a policy's true value.

  Args:
    value: results.PolicyValue.
    env_id: the environment.
    policy: name of the base policy.
    noise: what surrounds it.
    seconds: that the roll-outs took.
  """
  place = f'data/{env_id.replace("/", "_")}'
  command = commands.line(
      'collect_dataset', env=env_id, policy=policy, dataset_dir=place
  )
  return f"""
environment   {env_id}, policy {policy}, noise {noise}
value         {_with_error(value)}, (1-gamma)-normalised, gamma {value.gamma}
return        {value.mean_return:.2f} +- {value.std_return:.2f} (std),\
 undiscounted
roll-outs     {value.num_episodes:,}{_cap(value)} of at most\
 {value.horizon} steps, mean length {value.mean_length:.1f} within the time\
 limit
time          {seconds:.1f} s
next          {command}"""


def of_truth(value) -> str:
  """Returns a line or two on the truth that estimates are compared with.

  Args:
    value: results.PolicyValue.
  """
  line = f'truth         {_with_error(value)}'
  if value.exact or value.is_given:
    return line
  line += f', {value.num_episodes:,} roll-outs{_cap(value)}'
  allowed = log_error.allowed(value.standard_error)
  if allowed is not None:
    line += f'; allows a log error of about {allowed:.1f}, less is chance'
  return textwrap.fill(line, width=80, subsequent_indent=' ' * 14)


def _with_error(value) -> str:
  if value.exact:
    return f'{value.value:.5f} (exact)'
  if value.is_given:
    return f'{value.value:.5f} (as given)'
  return f'{value.value:.5f} +- {value.standard_error:.5f} (standard error)'


def _cap(value) -> str:
  """Returns what is said where roll-outs ended before the error was small."""
  if not value.is_capped:
    return ''
  return f' (the cap: +- {value.wanted_error:.5f} was not reached)'
