"""Keras models of the estimators."""
