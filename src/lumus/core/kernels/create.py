"""Kernels that make values of nothing, or of a key."""

from __future__ import annotations

from typing import Literal

from lumus.core.broadcast import Shape
from lumus.core.dtypes import DType
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Kind


@frozen
class Arange(Kernel):
    """start + i * step for i < count; no inputs."""

    start: float | int
    step: float | int
    count: int
    dtype: DType[Kind]


@frozen
class Linspace(Kernel):
    """`count` numbers evenly from `start` to `stop`, both included; no inputs."""

    start: float
    stop: float
    count: int
    dtype: DType[Kind]


Distribution = Literal["uniform", "normal", "exponential", "bernoulli", "gamma", "integers"]


@frozen
class Random(Kernel):
    """Of a key [seed, counter]: Philox numbers; element i depends on the key and i alone.

    uniform on [0, 1), normal with mean 0 and deviation 1, exponential with mean 1, bernoulli (True
    with probability `low`), gamma of concentration `low`, integers on [low, high). A second input,
    float64 and of `shape`, has a `low` for each element.
    """

    distribution: Distribution
    shape: Shape
    dtype: DType[Kind]
    low: float | int = 0
    high: float | int = 1
