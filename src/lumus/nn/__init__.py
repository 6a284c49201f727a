"""Layers and what they are made of."""

from lumus.nn import functional, init
from lumus.nn.layers.dropout import Dropout
from lumus.nn.layers.flatten import Flatten
from lumus.nn.layers.gelu import GELU
from lumus.nn.layers.identity import Identity
from lumus.nn.layers.linear import Linear
from lumus.nn.layers.module_dict import ModuleDict
from lumus.nn.layers.module_list import ModuleList
from lumus.nn.layers.parameter_dict import ParameterDict
from lumus.nn.layers.parameter_list import ParameterList
from lumus.nn.layers.relu import ReLU
from lumus.nn.layers.sequential import Sequential
from lumus.nn.layers.sigmoid import Sigmoid
from lumus.nn.layers.silu import SiLU
from lumus.nn.layers.tanh import Tanh
from lumus.nn.layers.unflatten import Unflatten
from lumus.nn.module import Module, Parameter

__all__ = [
    "GELU",
    "Dropout",
    "Flatten",
    "Identity",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Tanh",
    "Unflatten",
    "functional",
    "init",
]
