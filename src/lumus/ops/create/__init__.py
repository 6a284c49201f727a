"""Tensors from data or from nothing."""
