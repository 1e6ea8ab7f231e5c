"""Collects logged data: environments + policy -> TF-Agents driver -> Reverb.

What is collected depends only on the seed and the number of environments, not
on interruptions: episode k of environment i has its own seed, call k of the
policy has its own seed, and the stored rows show how far an interrupted
collection got.
"""

from srdice_tf.collection.claims import claim
from srdice_tf.collection.collect_config import CollectConfig
from srdice_tf.collection.collect_config import default_num_envs
from srdice_tf.collection.driver import collect
from srdice_tf.replay.row_codec import codec_of

__all__ = [
    'CollectConfig', 'claim', 'codec_of', 'collect', 'default_num_envs',
]
