"""Random tensors and their generators."""

from lumus.ops.random.generator import Generator, seed
from lumus.ops.random.sample import bernoulli, integers, normal, permutation, uniform

__all__ = ["Generator", "bernoulli", "integers", "normal", "permutation", "seed", "uniform"]
