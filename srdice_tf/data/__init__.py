"""Logged data, whatever they come from: `Dataset`, made of `Episode`s.

`open_data` reads data of other programs, `from_arrays` takes arrays; both
return `Logged`, a `Dataset` with what its source says about it.
"""

from srdice_tf.data.datasets import Dataset
from srdice_tf.data.episode_rows import Episode
from srdice_tf.data.logged import Logged
from srdice_tf.data.opening import from_arrays
from srdice_tf.data.opening import open_data

__all__ = ['Dataset', 'Episode', 'Logged', 'from_arrays', 'open_data']
