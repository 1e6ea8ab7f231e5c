# What `__init__.py` imports when it is asked for, for those who check types.

from srdice_tf.api import evaluate as evaluate
from srdice_tf.api import load as load
from srdice_tf.api import load_policy as load_policy
from srdice_tf.api import save as save
from srdice_tf.data.datasets import Dataset as Dataset
from srdice_tf.data.episode_rows import Episode as Episode
from srdice_tf.errors import UserError as UserError
from srdice_tf.results import Evaluation as Evaluation
from srdice_tf.results import MethodResult as MethodResult

__version__: str
