"""Tests that a problem is the one way to the data."""

import ast

import pytest
import tensorflow as tf

from tests import source_tree
from tests import walk

_FILES = [
    path
    for path in source_tree.files()
    if path.startswith('srdice_tf/estimators/')
]


@pytest.mark.parametrize('path', _FILES)
def test_estimators_have_no_data_set(path):
  for node in ast.walk(source_tree.tree(path)):
    if isinstance(node, ast.Attribute):
      where = f'{path}:{node.lineno}: {ast.unparse(node)}'
      assert node.attr != 'dataset', where
      assert node.attr != '_dataset' or path.endswith('/problems.py'), where


def test_what_is_logged_is_that_of_the_data():
  dataset = walk.dataset(seed=0, num_episodes=3)
  problem = walk.problem(dataset)
  index = tf.constant([0, 5])
  for found, expected in (
      (problem.rewards, dataset.rewards),
      (problem.not_done, dataset.not_done),
      (problem.episodes, dataset.episodes),
      (problem.steps, dataset.steps),
      (problem.logged_actions, dataset.actions),
      (problem.states(index), dataset.states(index)),
      (problem.next_states(index), dataset.next_states(index)),
      (problem.start_states(index[:1]), dataset.initial_states(index[:1])),
  ):
    tf.debugging.assert_equal(found, expected)
  assert problem.has_vectors
