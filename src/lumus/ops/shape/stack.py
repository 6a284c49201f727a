"""stack: tensors of one shape along a new axis."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.broadcast import normalize_axis
from lumus.core.kinds import K
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.shape.concat import concat, several_tensors


def stack(tensors: Sequence[Tensor[K]], axis: int = 0) -> Tensor[K]:
    """The tensors, which have one shape, along a new axis at position `axis` of the result.

    **Shapes.** All the same; the rank grows by one.
    **Kinds.** All of one kind; dtypes promote within it.
    **Gradient.** For each tensor its slice of `grad`.
    **Raises.** ArgumentError for no tensors or an axis out of range, ShapeError for shapes that
    differ, KindError for mixed kinds.

    >>> import lumus as lm
    >>> lm.stack([lm.tensor([1, 2]), lm.tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    parts = several_tensors("stack", tensors)
    for position, one in enumerate(parts):
        if one.shape != parts[0].shape:
            raise ShapeError(
                f"stack: tensor {position} has shape {one.shape}, tensor 0 has {parts[0].shape}",
                op="stack",
            )
    axis = normalize_axis("stack", axis, parts[0].ndim + 1)
    return concat([one.expand_dims(axis) for one in parts], axis)
