"""Logged data, whatever they come from: `Dataset`, made of `Episode`s."""

from srdice_tf.data.datasets import Dataset
from srdice_tf.data.episode_rows import Episode

__all__ = ['Dataset', 'Episode']
