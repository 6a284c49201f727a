"""fftfreq and rfftfreq: the frequencies of a transform's terms."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import finite
from lumus.core.broadcast import check_shape, integer
from lumus.core.device import Device
from lumus.core.dtypes import DType, checked_dtype, float32, float64
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, KindError
from lumus.ops.create.arange import arange
from lumus.ops.elementwise.where import where


def fftfreq(
    n: int,
    *,
    d: float = 1.0,
    dtype: DType[Float] = float32,
    device: str | Device | None = None,
) -> Tensor[Float]:
    """The frequency of each of `fft`'s n terms, for samples that are `d` apart.

    **Shapes.** (n,): 0, 1, ... (n - 1) // 2, then -(n // 2), ... -1, all divided by ``n * d``.
    **Kinds.** Float, float32 by default; computed in float64 and rounded once.
    **Gradient.** None.
    **Raises.** ArgumentError for n below 1 or a distance that is 0 or not finite, KindError for a
    dtype that is not Float.

    >>> import lumus as lm
    >>> lm.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    count, distance = _checked("fftfreq", n, d, dtype)
    order = arange(count, device=device)
    return _spread(where(order > (count - 1) // 2, order - count, order), count, distance, dtype)


def rfftfreq(
    n: int,
    *,
    d: float = 1.0,
    dtype: DType[Float] = float32,
    device: str | Device | None = None,
) -> Tensor[Float]:
    """The frequency of each of `rfft`'s terms, for n samples that are `d` apart.

    **Shapes.** (n // 2 + 1,): 0, 1, ... n // 2, all divided by ``n * d``.
    **Kinds.** Float, float32 by default; computed in float64 and rounded once.
    **Gradient.** None.
    **Raises.** ArgumentError for n below 1 or a distance that is 0 or not finite, KindError for a
    dtype that is not Float.

    >>> import lumus as lm
    >>> lm.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    count, distance = _checked("rfftfreq", n, d, dtype)
    return _spread(arange(count // 2 + 1, device=device), count, distance, dtype)


def _checked(op: str, n: Any, d: Any, dtype: Any) -> tuple[int, float]:
    count, distance = integer(op, "n", n), finite(op, "d", d)
    if checked_dtype(dtype, op).kind != "float":
        raise KindError(f"{op}: needs a Float dtype, got {dtype.name}", op=op)
    if count < 1:
        raise ArgumentError(f"{op}: n must be at least 1, got {count}", op=op)
    check_shape(op, (count,))
    if count * distance == 0:
        raise ArgumentError(f"{op}: d cannot be 0", op=op)
    return count, distance


def _spread(turns: Tensor[Int], count: int, distance: float, dtype: DType[Float]) -> Tensor[Float]:
    return (turns.astype(float64) / (count * distance)).astype(dtype)
