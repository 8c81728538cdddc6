"""Batches: a model is asked about each record of an input, once, and each gets one row of the output."""
