"""A directory that collect_dataset.py wrote, which says what it holds."""

from tf_agents.specs import tensor_spec

from srdice_tf import environments
from srdice_tf.data import logged
from srdice_tf.data.sources import collected
from srdice_tf.replay import directories
from srdice_tf.replay import row_codec


def load(path: str) -> logged.Logged:
  """Returns the data of a directory, with the specs of its environment.

  Raises:
    UserError: if they are damaged or unfinished, or if the environment cannot
      be made here, or not as it was.
  """
  description = directories.DatasetDirectory(path).read()
  collected.check_description(path, description, None)
  env_id = description['environment']['id']
  env = environments.load(env_id)
  dataset = collected.load(
      path, row_codec.codec_of(env), environments.description(env_id)
  )
  return logged.Logged(
      dataset=dataset,
      observation_spec=tensor_spec.from_spec(env.observation_spec()),
      action_spec=tensor_spec.from_spec(env.action_spec()),
      bounds_known=True,
      env_id=env_id,
  )
