"""Layers: one a file."""
