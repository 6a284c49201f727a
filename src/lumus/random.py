"""Random tensors and their generators.

`default_generator` is the one that functions use when none is given; its `state` is what to save
and set to resume a program exactly.
"""

from lumus.ops.random.exponential import exponential
from lumus.ops.random.gamma import gamma
from lumus.ops.random.generator import Generator, default_generator, seed
from lumus.ops.random.multinomial import multinomial
from lumus.ops.random.sample import bernoulli, integers, normal, permutation, uniform

__all__ = [
    "Generator",
    "bernoulli",
    "default_generator",
    "exponential",
    "gamma",
    "integers",
    "multinomial",
    "normal",
    "permutation",
    "seed",
    "uniform",
]
