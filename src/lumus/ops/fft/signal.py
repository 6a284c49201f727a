"""What the Fourier transforms share: their arguments, and lengths cut or filled up with zeros.

A complex tensor is a Float tensor with a last axis of length 2, of which index 0 is the real part,
index 1 the imaginary one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from lumus.core.argument import axis_of, check_tensors, choice
from lumus.core.broadcast import integer, listed
from lumus.core.kernels.fourier import Scaling
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.linalg.matrices import check_precision

Norm = Literal["backward", "ortho", "forward"]


def scaling_of(op: str, norm: Any, *, inverse: bool) -> Scaling:
    """What a transform's sums are divided by."""
    choice(op, "norm", norm, ("backward", "ortho", "forward"))
    if norm == "ortho":
        return "ortho"
    return "full" if (norm == "backward") is inverse else "none"


def check_real(op: str, x: Any) -> None:
    """Raises for what is no tensor of float32 or float64 with an axis."""
    check_tensors(op, x)
    check_precision(op, x.dtype)
    if not x.ndim:
        raise ShapeError(f"{op}: needs at least one axis, got shape ()", op=op)


def check_complex(op: str, x: Any) -> None:
    """Raises for what is no complex tensor of float32 or float64 with an axis."""
    check_tensors(op, x)
    check_precision(op, x.dtype)
    if x.ndim < 2 or x.shape[-1] != 2:
        raise ShapeError(
            f"{op}: needs a complex tensor, with a last axis of length 2 for the real and the "
            f"imaginary part, got shape {x.shape}",
            hint="of real numbers take lumus.fft.rfft, or put zeros beside them: "
            "lumus.stack([x, lumus.zeros_like(x)], axis=-1)",
            op=op,
        )


def transform_axis(op: str, x: Tensor[Any], axis: int, *, is_complex: bool) -> int:
    """An axis counted from the front, which is not that of the parts."""
    place = axis_of(op, x, axis)
    if is_complex and place == x.ndim - 1:
        raise ArgumentError(
            f"{op}: axis {axis} holds the real and the imaginary part",
            hint="the last axis before it is -2",
            op=op,
        )
    return place


def transform_axes(
    op: str, x: Tensor[Any], s: Any, axes: Any, *, is_complex: bool
) -> tuple[list[int], list[int | None]]:
    """Axes counted from the front, and the length that is asked for on each."""
    lengths = None if s is None else [integer(op, "each length in s", one) for one in listed(s)]
    count = x.ndim - is_complex
    if axes is None:
        first = 0 if lengths is None else count - len(lengths)
        if first < 0:
            raise ArgumentError(f"{op}: {len(lengths or ())} lengths for {count} axes", op=op)
        places = list(range(first, count))
    else:
        places = [transform_axis(op, x, one, is_complex=is_complex) for one in listed(axes)]
    if len(set(places)) != len(places):
        raise ArgumentError(f"{op}: axes={axes} names an axis more than once", op=op)
    if not places:
        raise ArgumentError(f"{op}: needs at least one axis, got none", op=op)
    if lengths is None:
        return places, [None] * len(places)
    if len(lengths) != len(places):
        raise ArgumentError(f"{op}: {len(lengths)} lengths for {len(places)} axes", op=op)
    return places, [None if length == -1 else length for length in lengths]


def with_length(op: str, x: Tensor[Float], axis: int, length: int | None) -> Tensor[Float]:
    """`x` cut to a length along an axis, or filled up with zeros at the end."""
    now = x.shape[axis]
    wanted = now if length is None else length
    if wanted < 1:
        raise ShapeError(
            f"{op}: a transform needs at least one element, got length {wanted} of axis {axis}",
            op=op,
            axis=axis,
        )
    if wanted == now:
        return x
    return x.narrow(axis, 0, wanted) if wanted < now else x.pad({axis: (0, wanted - now)})


def optional_length(op: str, n: Any) -> int | None:
    """The argument n."""
    return None if n is None else integer(op, "n", n)


Lengths = Sequence[int] | None
Axes = int | Sequence[int] | None
