"""Random tensors: uniform, normal, bernoulli, integers, permutation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lumus.core.argument import finite, real
from lumus.core.broadcast import integer
from lumus.core.device import Device
from lumus.core.dispatch import apply
from lumus.core.dtypes import INT_RANGE, LARGEST, DType, bool_, checked_dtype, float32, int64
from lumus.core.kinds import Bool, Float, Int
from lumus.core.tensor import Tensor, leaf
from lumus.errors import ArgumentError, KindError
from lumus.ops.random.draw import check_elements, check_fits, check_float, drawn, drawn_each
from lumus.ops.random.generator import Generator


def uniform(
    shape: int | Sequence[int],
    low: float = 0.0,
    high: float = 1.0,
    *,
    dtype: DType[Float] = float32,
    device: str | Device | None = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]:
    """Numbers evenly spread over ``[low, high)``.

    **Shapes.** `shape`.
    **Kinds.** Float, float32 by default; a number of [0, 1) has as many random bits as the dtype
    holds, so that 1 is never reached.
    **Gradient.** `requires_grad=True` makes the result a leaf.
    **Raises.** KindError for a dtype that is not Float, ArgumentError unless ``low <= high``,
    DTypeError for bounds beyond the dtype.

    >>> import lumus as lm
    >>> lm.random.uniform((2, 3), generator=lm.random.Generator(0)).shape
    (2, 3)
    """
    check_float("uniform", dtype)
    low, high = finite("uniform", "low", low), finite("uniform", "high", high)
    if not low <= high:
        raise ArgumentError(f"uniform: low must not exceed high, got {low} and {high}")
    check_fits("uniform", dtype, low=low, high=high)
    numbers = drawn("uniform", shape, dtype, device, generator)
    if (low, high) != (0.0, 1.0):
        if high - low <= LARGEST[dtype.name]:
            spread = numbers * (high - low) + low
        else:
            spread = numbers * high + (1.0 - numbers) * low
        # A product may round up to `high` itself, which the interval leaves out.
        numbers = spread.minimum(_below(high, dtype) if high > low else high)
    return leaf(numbers, requires_grad)


# For each Float dtype: the bits of its mantissa, and the exponent of its smallest number.
_GRIDS = {
    "float64": (53, -1074),
    "float32": (24, -149),
    "float16": (11, -24),
    "bfloat16": (8, -133),
}


def _below(value: float, dtype: DType[Float]) -> float:
    """A number of `dtype` below `value`, with at most one between them."""
    bits, smallest = _GRIDS[dtype.name]
    step = 2.0 ** max(math.frexp(value)[1] - bits, smallest)
    return (math.ceil(value / step) - 1) * step


def normal(
    shape: int | Sequence[int],
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: DType[Float] = float32,
    device: str | Device | None = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]:
    """Numbers from the normal distribution.

    **Shapes.** `shape`.
    **Kinds.** Float, float32 by default.
    **Gradient.** `requires_grad=True` makes the result a leaf.
    **Raises.** KindError for a dtype that is not Float, ArgumentError for a negative deviation,
    DTypeError for parameters beyond the dtype.

    >>> import lumus as lm
    >>> lm.random.normal((2, 3), generator=lm.random.Generator(0)).shape
    (2, 3)
    """
    check_float("normal", dtype)
    mean, std = finite("normal", "mean", mean), finite("normal", "std", std)
    check_fits("normal", dtype, mean=mean, std=std)
    if not std >= 0:
        raise ArgumentError(f"normal: std must be at least 0, got {std}")
    numbers = drawn("normal", shape, dtype, device, generator)
    if std != 1.0:
        numbers = numbers * std
    if mean != 0.0:
        numbers = numbers + mean
    return leaf(numbers, requires_grad)


def bernoulli(
    shape: int | Sequence[int],
    probability: Tensor[Float] | float = 0.5,
    *,
    device: str | Device | None = None,
    generator: Generator | None = None,
) -> Tensor[Bool]:
    """True with the given probability, each element independently.

    **Shapes.** `shape`; a tensor of probabilities is broadcast to it.
    **Kinds.** Bool; a tensor of probabilities is Float.
    **Gradient.** None: the result is Bool.
    **Raises.** ArgumentError for a probability outside [0, 1], ShapeError for probabilities that
    do not broadcast to `shape`, KindError for ones that are not Float.

    >>> import lumus as lm
    >>> lm.random.bernoulli((3,), 1.0).tolist()
    [True, True, True]
    """
    if isinstance(probability, Tensor):
        within = (probability >= 0.0) & (probability <= 1.0)
        check_elements("bernoulli", "the probabilities must be in [0, 1]", within)
        return drawn_each("bernoulli", shape, bool_, device, generator, probability.detach())
    chance = real("bernoulli", "the probability", probability)
    if not 0 <= chance <= 1:
        raise ArgumentError(f"bernoulli: the probability must be in [0, 1], got {chance}")
    return drawn("bernoulli", shape, bool_, device, generator, low=chance)


def integers(
    shape: int | Sequence[int],
    low: int,
    high: int,
    *,
    dtype: DType[Int] = int64,
    device: str | Device | None = None,
    generator: Generator | None = None,
) -> Tensor[Int]:
    """Integers evenly spread over ``[low, high)``.

    **Shapes.** `shape`.
    **Kinds.** Int, int64 by default.
    **Gradient.** None: the result is Int.
    **Raises.** KindError for a dtype that is not Int, ArgumentError unless ``low < high`` and both
    fit into the dtype.

    >>> import lumus as lm
    >>> lm.random.integers((2,), 5, 6).tolist()
    [5, 5]
    """
    low, high = integer("integers", "low", low), integer("integers", "high", high)
    if checked_dtype(dtype, "integers").kind != "int":
        raise KindError(f"integers: needs an Int dtype, got {dtype.name}", op="integers")
    least, most = INT_RANGE[dtype.name]
    if not least <= low < high <= most + 1:
        raise ArgumentError(
            f"integers: needs low < high within {dtype.name}, got {low} and {high}", op="integers"
        )
    return drawn("integers", shape, dtype, device, generator, low=low, high=high)


def permutation(
    count: int, *, device: str | Device | None = None, generator: Generator | None = None
) -> Tensor[Int]:
    """The integers below `count` in random order.

    **Shapes.** One axis of length `count`.
    **Kinds.** int64.
    **Gradient.** None: the result is Int.
    **Raises.** ArgumentError for a negative count.

    >>> import lumus as lm
    >>> sorted(lm.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    count = integer("permutation", "count", count)
    if count < 0:
        raise ArgumentError(f"permutation: count cannot be negative, got {count}")
    # Sorting 62-bit keys: ties, which a stable sort keeps in order, do not occur in practice.
    keys = integers((count,), 0, 2**62, device=device, generator=generator)
    return apply("argsort", keys, axis=0, descending=False)
