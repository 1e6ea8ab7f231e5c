"""Memory of whole programs: of collecting and of an evaluation."""

import os
import subprocess
import sys
import tempfile

from srdice_tf import commands
from srdice_tf import environments
from srdice_tf import errors
from srdice_tf.benchmarks import measure

_FLOAT_BYTES = 4
_MILLION = 1_000_000
# A little of each phase: memory does not grow with the number of steps.
_FEW_STEPS = {'encoder_steps': 20, 'successor_steps': 20, 'updates': 20}


def ope_memory(
    env_id: str, num_transitions: int
) -> list[measure.Measurement]:
  """Peak memory of run_ope against the size of its data set."""
  collecting, peak = _peaks(env_id, num_transitions)
  env = environments.load(env_id)
  values = env.observation_spec().shape[0] + env.action_spec().shape[0]
  # An observation, an action, a reward and a discount each.
  size = num_transitions * (values + 2) * _FLOAT_BYTES
  return [
      measure.at_most(
          f'peak memory of run_ope on {env_id} / its data in float32',
          peak / size,
          3.0,
          f'{peak / 2**30:.2f} GiB (collecting: {collecting / 2**30:.2f} GiB),'
          f' {num_transitions:,} transitions of {size / 2**30:.2f} GiB',
      )
  ]


def frames_memory(
    env_id: str, num_transitions: int
) -> list[measure.Measurement]:
  """Peak memory for a million transitions, from two smaller runs.

  The policy is untrained: its data take as much room as any.
  """
  sizes = num_transitions // 10, num_transitions
  small, large = (_peaks(env_id, size, policy='untrained') for size in sizes)
  results = []
  for job, first, second in zip(('collecting', 'run_ope'), small, large):
    growth = (second - first) / (sizes[1] - sizes[0])  # Bytes a transition.
    results.append(
        measure.at_most(
            f'GiB at the peak of {job}, {env_id}, {_MILLION:,} transitions',
            (second + growth * (_MILLION - sizes[1])) / 2**30,
            9.0,
            f'{first / 2**30:.2f} GiB of {sizes[0]:,} and'
            f' {second / 2**30:.2f} GiB of {sizes[1]:,},'
            f' {growth:,.0f} bytes each beyond',
        )
    )
  return results


def _peaks(env_id: str, num_transitions: int, **flags) -> tuple[int, int]:
  """Returns the peak memory of collecting a data set and of run_ope on it."""
  flags |= {'env': env_id, 'num_transitions': num_transitions}
  with tempfile.TemporaryDirectory() as directory:
    flags['dataset_dir'] = os.path.join(directory, 'data')
    return _peak_bytes('collect_dataset', **flags), _peak_bytes(
        'run_ope', truth_episodes=2,
        output_dir=os.path.join(directory, 'run'), **_FEW_STEPS, **flags,
    )


def _peak_bytes(binary: str, **flags) -> int:
  """Runs a binary; returns the peak of its resident memory."""
  arguments = [f'--{name}={value}' for name, value in flags.items()]
  path = os.path.join(commands.directory(), f'{binary}.py')
  process = subprocess.Popen(
      [sys.executable, path, *arguments],
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
  )
  _, status, usage = os.wait4(process.pid, 0)
  if status:
    code = os.waitstatus_to_exitcode(status)
    raise errors.at(
        f'{binary} {" ".join(arguments)}',
        f'failed with the code {code}',
        'run it alone to see why',
    )
  return 1024 * usage.ru_maxrss
