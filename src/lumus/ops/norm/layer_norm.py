"""layer_norm: the trailing axes of each example at mean 0 and variance 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lumus.core.argument import check_tensors
from lumus.core.broadcast import Shape, normalize_shape
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.normalization import Extents
from lumus.core.kinds import Float
from lumus.core.op import register
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.norm.normalization import Normalization, NormalizationOp, affine_of, checked_eps


class TrailingNorm(Normalization):
    """The last `num_axes` axes are normalised together; each element has a weight of its own."""

    __slots__ = ()
    num_axes: int

    def extents(self, shape: Shape) -> Extents:
        outer = math.prod(shape[: len(shape) - self.num_axes])
        return (outer, 1, math.prod(shape[len(shape) - self.num_axes :]), 1)

    def weight_shape(self, shape: Shape) -> Shape:
        return shape[len(shape) - self.num_axes :]


@frozen
class LayerNormAttrs(TrailingNorm):
    """How many trailing axes are normalised together."""

    eps: float
    num_axes: int

    op = "layer_norm"


@register
class LayerNorm(NormalizationOp):
    name = "layer_norm"
    attrs = LayerNormAttrs


def trailing_axes(op: str, x: Tensor[Float], normalized_shape: int | Sequence[int]) -> int:
    """The number of axes of `normalized_shape`, which must be the last ones of `x`."""
    check_tensors(op, x)
    if normalized_shape.__class__ is int and x.shape[-1:] == (normalized_shape,):
        return 1
    wanted = normalize_shape(op, normalized_shape)
    if not wanted or x.shape[-len(wanted) :] != wanted:
        raise ShapeError(
            f"{op}: the last axes must be {wanted}, got shape {x.shape}"
            if wanted
            else f"{op}: normalized_shape needs at least one axis",
            op=op,
            specs=(x.spec,),
        )
    return len(wanted)


def layer_norm(
    x: Tensor[Float],
    normalized_shape: int | Sequence[int],
    weight: Tensor[Float] | None = None,
    bias: Tensor[Float] | None = None,
    *,
    eps: float = 1e-5,
) -> Tensor[Float]:
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, over the trailing axes.

    Mean and variance (divided by the count) are those of the axes that `normalized_shape` spells
    out, for each position of the others. Measured in two passes, so a large mean costs no digits;
    elements that are all equal give exactly `bias`.

    **Shapes.** `x` (..., *normalized_shape); `weight` and `bias` have `normalized_shape`. The
    result has the shape of `x`.
    **Kinds.** Float; dtypes promote, half types compute in float32.
    **Gradient.** With ``h = grad * weight`` and a the normalised elements,
    ``(h - mean(h) - a * mean(h * a)) / sqrt(variance + eps)``; ``grad * a`` and `grad`, summed over
    the other axes, for weight and bias.
    **Raises.** ShapeError for shapes that do not fit, KindError for Int and Bool, ArgumentError for
    an eps that is negative.

    Source: Ba et al., "Layer Normalization", 2016.

    >>> import lumus as lm
    >>> lm.nn.functional.layer_norm(lm.tensor([1.0, 3.0]), 2, eps=0.0).tolist()
    [-1.0, 1.0]
    """
    num_axes = trailing_axes("layer_norm", x, normalized_shape)
    eps = checked_eps("layer_norm", eps)
    inputs = affine_of("layer_norm", x, weight, bias)
    y: Tensor[Float] = apply("layer_norm", *inputs, eps=eps, num_axes=num_axes)[0]
    return y
