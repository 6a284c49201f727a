"""The op that draws numbers from a key, and what the distributions share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumus.core import kernels
from lumus.core.broadcast import Shape, broadcast_shapes, normalize_shape
from lumus.core.device import Device, device_named
from lumus.core.dispatch import apply
from lumus.core.dtypes import LARGEST, DType, checked_dtype, float64
from lumus.core.frozen import frozen
from lumus.core.kernels.create import Distribution
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import TITLE, Bool, Float
from lumus.core.mode import MODE
from lumus.core.op import Op, Specs, kind_error, register
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, DTypeError, KindError, ShapeError
from lumus.ops.random.generator import Generator, chosen_generator


@frozen
class RandomAttrs:
    """The distribution with its parameters, and what to fill."""

    distribution: Distribution
    shape: Shape
    dtype: DType[Any]
    low: float | int
    high: float | int


@register
class Random(Op):
    """Of a key [seed, counter]: the numbers that belong to it. A second input has a `low` each."""

    name = "random"
    attrs = RandomAttrs
    differentiable = False
    reason = "what is drawn has no derivative"

    def infer(self, specs: Specs, attrs: RandomAttrs) -> Spec:
        return specs[0].with_shape(attrs.shape).with_dtype(attrs.dtype)

    def kernel(self, specs: Specs, attrs: RandomAttrs) -> Kernel:
        return kernels.Random(attrs.distribution, attrs.shape, attrs.dtype, attrs.low, attrs.high)


def drawn(
    distribution: Distribution,
    shape: int | Sequence[int],
    dtype: DType[Any],
    device: str | Device | None,
    generator: Generator | None,
    low: float = 0,
    high: float = 1,
) -> Tensor[Any]:
    """The next numbers of a stream."""
    lengths = normalize_shape(distribution, shape)
    key = chosen_generator(distribution, generator).next_key(
        _needed(distribution, lengths), device_named(device)
    )
    return apply(
        "random",
        key,
        distribution=distribution,
        shape=lengths,
        dtype=dtype,
        low=low,
        high=high,
    )


def drawn_each(
    distribution: Distribution,
    shape: int | Sequence[int],
    dtype: DType[Any],
    device: str | Device | None,
    generator: Generator | None,
    parameter: Tensor[Float],
) -> Tensor[Any]:
    """The next numbers of a stream, with a parameter for each, which is broadcast to `shape`."""
    lengths = normalize_shape(distribution, shape)
    if parameter.dtype.kind != "float":
        raise kind_error(distribution, parameter.dtype, ("float",), what="a parameter")
    if broadcast_shapes(distribution, lengths, parameter.shape) != lengths:
        raise ShapeError(
            f"{distribution}: parameters of shape {parameter.shape} for numbers of shape {lengths}",
            op=distribution,
        )
    key = chosen_generator(distribution, generator).next_key(
        _needed(distribution, lengths), parameter.device if device is None else device_named(device)
    )
    return apply(
        "random",
        key,
        parameter.astype(float64).broadcast_to(lengths),
        distribution=distribution,
        shape=lengths,
        dtype=dtype,
        low=0,
        high=1,
    )


def _needed(distribution: Distribution, shape: Shape) -> int:
    count = 1
    for length in shape:
        count *= length
    return 2 * count if distribution == "gamma" else count


def check_float(op: str, dtype: DType[Any]) -> None:
    """Raises KindError for a dtype that is not Float."""
    if checked_dtype(dtype, op).kind != "float":
        raise KindError(f"{op}: needs a Float dtype, got {TITLE[dtype.kind]} ({dtype.name})", op=op)


def check_fits(op: str, dtype: DType[Float], **numbers: float) -> None:
    """Raises DTypeError for a number that the dtype does not hold."""
    for name, value in numbers.items():
        if abs(value) > LARGEST[dtype.name]:
            raise DTypeError(
                f"{op}: {name} is {value}, the largest {dtype.name} {LARGEST[dtype.name]}",
                hint="give a wider dtype",
                op=op,
            )


def check_elements(op: str, told: str, *holds: Tensor[Bool]) -> None:
    """Raises ArgumentError unless all are True; what is being traced has no values to look at."""
    if MODE.get().has_values and not all(one.all().item() for one in holds):
        raise ArgumentError(f"{op}: {told}", op=op)
