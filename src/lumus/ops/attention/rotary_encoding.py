"""rotary_encoding: rows turned by their place."""

from __future__ import annotations

from lumus.core.argument import check_tensors, flag
from lumus.core.broadcast import integer
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.attention.angles import angles_of_places
from lumus.ops.attention.weights import widened
from lumus.ops.shape.concat import concat
from lumus.ops.shape.stack import stack


def rotary_encoding(
    x: Tensor[Float], *, offset: int = 0, base: float = 10000.0, interleaved: bool = True
) -> Tensor[Float]:
    """Pairs of elements of each row turned by an angle that grows with the row's place.

    Pair i of row p turns by ``(p + offset) / base**(2 * i / width)``, so that the product of a
    query with a key depends on how far apart they are. A pair is two neighbours, or without
    `interleaved` the elements i and ``i + width / 2``.

    **Shapes.** (..., rows, width) with an even width gives the same.
    **Kinds.** Float; angles are worked out in float64, half types turn in float32.
    **Gradient.** `grad`, turned back.
    **Raises.** ShapeError for an odd width or fewer than two axes, KindError for Int and Bool,
    ArgumentError for a negative offset or a base that is not positive.

    Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.

    >>> import lumus as lm
    >>> row = lm.tensor([[1.0, 0.0]] * 2)
    >>> [round(one, 4) for one in lm.nn.functional.rotary_encoding(row)[1].tolist()]
    [0.5403, 0.8415]
    """
    check_tensors("rotary_encoding", x)
    if x.dtype.kind != "float":
        raise kind_error("rotary_encoding", x.dtype, ("float",))
    if x.ndim < 2 or x.shape[-1] % 2:
        raise ShapeError(
            f"rotary_encoding: needs (..., rows, width) with an even width, got shape {x.shape}",
            op="rotary_encoding",
        )
    first_place = integer("rotary_encoding", "offset", offset)
    if first_place < 0:
        raise ArgumentError(f"rotary_encoding: offset cannot be negative, got {first_place}")
    rows, width = x.shape[-2:]
    wide = widened(x)
    angles = angles_of_places("rotary_encoding", first_place, rows, width, base, x.device)
    cosine, sine = angles.cos().astype(wide.dtype), angles.sin().astype(wide.dtype)
    if flag("rotary_encoding", "interleaved", interleaved):
        a, b = wide.reshape(*x.shape[:-1], width // 2, 2).unstack(-1)
        turned = stack([a * cosine - b * sine, a * sine + b * cosine], axis=-1).reshape(x.shape)
    else:
        a, b = wide.split([width // 2, width // 2], axis=-1)
        turned = concat([a * cosine - b * sine, a * sine + b * cosine], axis=-1)
    return turned.astype(x.dtype)
