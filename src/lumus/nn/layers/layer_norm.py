"""LayerNorm: the trailing axes of each example at mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.argument import flag
from lumus.core.broadcast import Shape, normalize_shape
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.nn.module import Module, Parameter
from lumus.ops.create.full import ones, zeros
from lumus.ops.norm.layer_norm import layer_norm
from lumus.ops.norm.normalization import checked_eps


class LayerNorm(Module):
    """`lumus.nn.functional.layer_norm` over the trailing axes of shape `normalized_shape`.

    **Shapes.** (..., *normalized_shape); the result has the shape of `x`.
    **Parameters.** Unless ``elementwise_affine=False``, `weight` of ones and, unless
    ``bias=False``, `bias` of zeros, both of shape `normalized_shape`.
    **Raises.** ShapeError for other trailing axes, ArgumentError for an eps that is negative.

    >>> import lumus as lm
    >>> lm.nn.LayerNorm(2)(lm.tensor([1000.0, 3000.0])).tolist()
    [-1.0, 1.0]
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        *,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DType[Float] = float32,
    ) -> None:
        self.normalized_shape = checked_normalized("LayerNorm", normalized_shape)
        self.eps = checked_eps("LayerNorm", eps)
        affine = flag("LayerNorm", "elementwise_affine", elementwise_affine)
        shape = self.normalized_shape
        self.weight = Parameter(ones(shape, dtype=dtype)) if affine else None
        has_bias = flag("LayerNorm", "bias", bias) and affine
        self.bias = Parameter(zeros(shape, dtype=dtype)) if has_bias else None

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}" + affine_text(self.weight, self.bias)


def checked_normalized(layer: str, normalized_shape: int | Sequence[int]) -> Shape:
    """A shape of at least one axis."""
    shape = normalize_shape(layer, normalized_shape)
    if not shape:
        raise ShapeError(f"{layer}: normalized_shape needs at least one axis")
    return shape


def affine_text(weight: Parameter | None, bias: Parameter | None) -> str:
    """What `repr` tells of weight and bias that are not there."""
    if weight is None:
        return ", elementwise_affine=False"
    return "" if bias is not None else ", bias=False"
