"""Tests that training spends its time on learning."""

from srdice_tf.agents import speed


def test_most_of_the_time_is_spent_in_the_compiled_updates():
  measured = speed.measure_td3('HalfCheetah-v4', num_blocks=5)
  assert measured.share_outside < 0.3
  assert measured.update_milliseconds > 0.0
  # Both figures describe the same time.
  learning = measured.steps_per_second * measured.update_milliseconds / 1e3
  assert abs(learning + measured.share_outside - 1.0) < 0.02
