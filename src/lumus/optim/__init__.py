"""Optimisers: they take a store of gradients and update parameters in place."""

from lumus.optim.adam import Adam
from lumus.optim.adamw import AdamW
from lumus.optim.optimizer import Optimizer
from lumus.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
