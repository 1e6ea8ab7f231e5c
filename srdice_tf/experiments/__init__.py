"""Whole experiments: data, truth, training, results."""
