"""Errors of users' environments, as one line and a traceback."""

import os
import traceback

import gymnasium

_LIBRARIES = os.path.dirname(gymnasium.__file__), os.path.dirname(__file__)


def summary(error: BaseException) -> str:
  """Returns the error in one line."""
  text = ' '.join(str(error).split())
  return f'{type(error).__name__}: {text}' if text else type(error).__name__


def traceback_of(error: BaseException) -> str:
  """Returns the traceback from the user's own code on."""
  trace = error.__traceback__
  own = trace
  while own is not None and _is_library(own):
    own = own.tb_next
  return ''.join(
      traceback.format_exception(type(error), error, own or trace)
  ).rstrip()


def _is_library(trace) -> bool:
  return trace.tb_frame.f_code.co_filename.startswith(_LIBRARIES)
