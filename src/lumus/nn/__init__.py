"""Layers and what they are made of."""

from lumus.nn import functional, init
from lumus.nn.layers.dropout import Dropout
from lumus.nn.layers.flatten import Flatten
from lumus.nn.layers.gelu import GELU
from lumus.nn.layers.linear import Linear
from lumus.nn.layers.relu import ReLU
from lumus.nn.layers.sequential import Sequential
from lumus.nn.layers.sigmoid import Sigmoid
from lumus.nn.layers.silu import SiLU
from lumus.nn.layers.tanh import Tanh
from lumus.nn.module import Module, Parameter

__all__ = [
    "GELU",
    "Dropout",
    "Flatten",
    "Linear",
    "Module",
    "Parameter",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Tanh",
    "functional",
    "init",
]
