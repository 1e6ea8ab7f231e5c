"""Leaves out the checks that take many minutes, unless `-m full` asks."""

import pytest


def pytest_configure(config):
  config.addinivalue_line(
      'markers', 'full: all episodes of all shipped policies; run by -m full'
  )


def pytest_collection_modifyitems(config, items):
  if 'full' in config.getoption('-m'):
    return
  skip = pytest.mark.skip(reason='takes many minutes; run with -m full')
  for item in items:
    if 'full' in item.keywords:
      item.add_marker(skip)
