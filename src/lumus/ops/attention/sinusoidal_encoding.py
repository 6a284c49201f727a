"""sinusoidal_encoding: a table of sines and cosines of places."""

from __future__ import annotations

from lumus.core.broadcast import integer
from lumus.core.device import Device, device_named
from lumus.core.dtypes import DType, checked_dtype, float32
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.attention.angles import angles_of_places
from lumus.ops.shape.stack import stack


def sinusoidal_encoding(
    length: int,
    width: int,
    *,
    base: float = 10000.0,
    dtype: DType[Float] = float32,
    device: str | Device | None = None,
) -> Tensor[Float]:
    """A table of sines and cosines of places, to add to the rows of a sequence.

    Of row p, element 2 i is ``sin(p / base**(2 * i / width))``, element 2 i + 1 its cosine.

    **Shapes.** (length, width), with an even width.
    **Kinds.** Float, float32 by default; angles are worked out in float64.
    **Gradient.** None: it has no input.
    **Raises.** ArgumentError for a negative length, a width that is not even, or a base that is not
    positive; KindError for a dtype that is not Float.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017.

    >>> import lumus as lm
    >>> lm.nn.functional.sinusoidal_encoding(1, 4).tolist()
    [[0.0, 1.0, 0.0, 1.0]]
    """
    op = "sinusoidal_encoding"
    rows, columns = integer(op, "length", length), integer(op, "width", width)
    if rows < 0 or columns < 0 or columns % 2:
        raise ArgumentError(
            f"{op}: length cannot be negative and width must be even, got {rows} and {columns}"
        )
    if checked_dtype(dtype, op).kind != "float":
        raise kind_error(op, dtype, ("float",), what="a dtype")
    angles = angles_of_places(op, 0, rows, columns, base, device_named(device))
    table = stack([angles.sin(), angles.cos()], axis=-1).reshape(rows, columns)
    return table.astype(dtype)
