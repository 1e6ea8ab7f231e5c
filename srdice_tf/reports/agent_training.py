"""The summary of a policy's training, and a row of the shipped policies."""

from srdice_tf import commands
from srdice_tf.reports import figures

_LEVELS = ('weak', 'medium', 'good')


def finish(config, files) -> str:
  """Draws the learning curve into the run's directory; returns its summary.

  Args:
    config: agents.configs.TrainConfig.
    files: agents.run_files.RunFiles, with a curve of one point or more.
  """
  curve, picture = files.curve(), files.path('curve.png')
  figures.plot_returns(picture, curve, f'{config.env_id}, {config.agent}')
  last = curve[-1]
  best = max(curve, key=lambda point: point['mean_return'])
  command = commands.line(
      'run_ope', env=config.env_id, policy=files.path('policy')
  )
  return f"""
environment   {config.env_id}, {config.agent}, seed {config.seed}
steps         {last['step']:,.0f} with {last['updates']:,.0f} updates in\
 {last['seconds'] / 60.0:.1f} minutes
return        {_return(last)}, {config.eval_episodes} deterministic episodes
best          {_return(best)}, at step {best['step']:,.0f}
policy        {files.path('policy')} (SavedModel, last)
              {files.snapshot(best['step'])} (weights, best)
curve         {picture}, tensorboard --logdir={files.path('events')}
next          {command}"""


def _return(point: dict[str, float]) -> str:
  return f'{point["mean_return"]:.1f} +- {point["std_return"]:.1f} (std)'


def row(card: dict) -> str:
  """Returns the line of a policy in the README's table.

  Args:
    card: of the policy, as agents.shipping writes it.
  """
  name = card['environment']['id']
  if card['agent'] != 'td3':
    name += f' ({card["agent"]})'
  levels = [
      _digits(card['checkpoints'][level]['return_mean'])
      for level in _LEVELS
      if level in card['checkpoints']
  ]
  cells = (
      name,
      f'{card["steps"]:,} of {card["steps_trained"]:,}',
      f'{_digits(card["return_mean"])} +- {_digits(card["return_std"])}',
      f'{card["value"]:.4f} +- {card["value_standard_error"]:.4f}',
      ' / '.join(levels),
  )
  return f'| {" | ".join(cells)} |'


def _digits(value: float) -> str:
  return f'{value:.0f}' if abs(value) >= 100 else f'{value:.1f}'
