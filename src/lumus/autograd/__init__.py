"""Backward passes, gradients as values, and when operations are recorded."""
