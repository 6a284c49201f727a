"""Initial values of parameters. Each function returns a new tensor; all take a generator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from lumus.core.argument import finite
from lumus.core.broadcast import normalize_shape
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.random.generator import Generator
from lumus.ops.random.sample import normal as _normal
from lumus.ops.random.sample import uniform as _uniform

Shape = Sequence[int]
Nonlinearity = Literal["linear", "relu", "leaky_relu", "tanh", "sigmoid"]


def gain(nonlinearity: Nonlinearity, slope: float = 0.01) -> float:
    """The factor by which a nonlinearity needs its inputs' weights larger to keep the variance.

    linear and sigmoid 1, tanh 5/3, relu sqrt(2), leaky_relu sqrt(2 / (1 + slope**2)).

    >>> import lumus as lm
    >>> lm.nn.init.gain("tanh")
    1.6666666666666667
    """
    slope = finite("gain", "slope", slope)
    gains = {
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5.0 / 3.0,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1.0 + slope * slope)),
    }
    if not isinstance(nonlinearity, str) or nonlinearity not in gains:
        raise ArgumentError(f"gain: no gain for {nonlinearity!r}; there is {', '.join(gains)}")
    return gains[nonlinearity]


def fans(shape: Shape) -> tuple[int, int]:
    """(inputs, outputs) of a weight of shape (outputs, inputs, *kernel).

    >>> import lumus as lm
    >>> lm.nn.init.fans((16, 3, 5, 5))
    (75, 400)
    """
    shape = normalize_shape("init", shape)
    if len(shape) < 2:
        raise ShapeError(f"init: a weight needs at least two axes, got shape {tuple(shape)}")
    kernel = math.prod(shape[2:])
    # At least one: a weight without elements has no scale, and needs none.
    return max(1, shape[1] * kernel), max(1, shape[0] * kernel)


def uniform(
    shape: Shape,
    bound: float,
    *,
    dtype: DType[Float] = float32,
    generator: Generator | None = None,
) -> Tensor[Float]:
    """Evenly spread over ``[-bound, bound)``."""
    return _uniform(shape, -bound, bound, dtype=dtype, generator=generator)


def normal(
    shape: Shape,
    std: float,
    *,
    dtype: DType[Float] = float32,
    generator: Generator | None = None,
) -> Tensor[Float]:
    """Normal with mean 0 and the given standard deviation."""
    return _normal(shape, 0.0, std, dtype=dtype, generator=generator)


def xavier_uniform(
    shape: Shape,
    *,
    nonlinearity: Nonlinearity = "linear",
    dtype: DType[Float] = float32,
    generator: Generator | None = None,
) -> Tensor[Float]:
    """Evenly spread over ``+-gain * sqrt(6 / (inputs + outputs))``.

    Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010.
    """
    bound = gain(nonlinearity) * math.sqrt(6.0 / sum(fans(shape)))
    return uniform(shape, bound, dtype=dtype, generator=generator)


def xavier_normal(
    shape: Shape,
    *,
    nonlinearity: Nonlinearity = "linear",
    dtype: DType[Float] = float32,
    generator: Generator | None = None,
) -> Tensor[Float]:
    """Normal with deviation ``gain * sqrt(2 / (inputs + outputs))``; source as `xavier_uniform`."""
    std = gain(nonlinearity) * math.sqrt(2.0 / sum(fans(shape)))
    return normal(shape, std, dtype=dtype, generator=generator)


def kaiming_uniform(
    shape: Shape,
    *,
    nonlinearity: Nonlinearity = "relu",
    slope: float = 0.01,
    dtype: DType[Float] = float32,
    generator: Generator | None = None,
) -> Tensor[Float]:
    """Evenly spread over ``+-gain * sqrt(3 / inputs)``.

    Source: He et al., "Delving Deep into Rectifiers", ICCV 2015.
    """
    bound = gain(nonlinearity, slope) * math.sqrt(3.0 / fans(shape)[0])
    return uniform(shape, bound, dtype=dtype, generator=generator)


def kaiming_normal(
    shape: Shape,
    *,
    nonlinearity: Nonlinearity = "relu",
    slope: float = 0.01,
    dtype: DType[Float] = float32,
    generator: Generator | None = None,
) -> Tensor[Float]:
    """Normal with deviation ``gain / sqrt(inputs)``; source as `kaiming_uniform`."""
    std = gain(nonlinearity, slope) / math.sqrt(fans(shape)[0])
    return normal(shape, std, dtype=dtype, generator=generator)
