"""rms_norm: the trailing axes of each example at a mean square of 1."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.dispatch import apply
from lumus.core.dtypes import DType
from lumus.core.frozen import frozen
from lumus.core.kinds import Float
from lumus.core.op import register
from lumus.core.tensor import Tensor
from lumus.ops.norm.layer_norm import TrailingNorm, trailing_axes
from lumus.ops.norm.normalization import NormalizationOp, affine_of, checked_eps

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@frozen
class RMSNormAttrs(TrailingNorm):
    """How many trailing axes are normalised together."""

    eps: float
    num_axes: int

    op = "rms_norm"
    is_centered = False


@register
class RMSNorm(NormalizationOp):
    name = "rms_norm"
    attrs = RMSNormAttrs


def epsilon_of(dtype: DType[Float]) -> float:
    """The distance from 1 to the next number of the dtype."""
    return EPSILON.get(dtype.name, 0.0)


def rms_norm(
    x: Tensor[Float],
    normalized_shape: int | Sequence[int],
    weight: Tensor[Float] | None = None,
    *,
    eps: float | None = None,
) -> Tensor[Float]:
    """``x / sqrt(mean(x**2) + eps) * weight``, over the trailing axes.

    The mean is that of the axes that `normalized_shape` spells out, for each position of the
    others. Without `eps` it is the distance from 1 to the next number of x's dtype.

    **Shapes.** `x` (..., *normalized_shape); `weight` has `normalized_shape`. The result has the
    shape of `x`.
    **Kinds.** Float; dtypes promote, half types compute in float32.
    **Gradient.** With ``h = grad * weight`` and a the normalised elements,
    ``(h - a * mean(h * a)) / sqrt(mean(x**2) + eps)``; ``grad * a``, summed over the other axes,
    for weight.
    **Raises.** ShapeError for shapes that do not fit, KindError for Int and Bool, ArgumentError for
    an eps that is negative.

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.

    >>> import lumus as lm
    >>> lm.nn.functional.rms_norm(lm.tensor([2.0, -2.0, 2.0, 2.0]), 4, eps=0.0).tolist()
    [1.0, -1.0, 1.0, 1.0]
    """
    num_axes = trailing_axes("rms_norm", x, normalized_shape)
    eps = epsilon_of(x.dtype) if eps is None else checked_eps("rms_norm", eps)
    inputs = affine_of("rms_norm", x, weight, None)
    y: Tensor[Float] = apply("rms_norm", *inputs, eps=eps, num_axes=num_axes)[0]
    return y
