"""Layers and what they are made of."""

from lumus.nn import functional

__all__ = ["functional"]
