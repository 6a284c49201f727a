"""RMSNorm: the trailing axes of each example at a mean square of 1."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.argument import flag
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.layer_norm import checked_normalized
from lumus.nn.module import Module, Parameter
from lumus.ops.create.full import ones
from lumus.ops.norm.normalization import checked_eps
from lumus.ops.norm.rms_norm import rms_norm


class RMSNorm(Module):
    """`lumus.nn.functional.rms_norm` over the trailing axes of shape `normalized_shape`.

    Without `eps` it is the distance from 1 to the next number of the input's dtype.

    **Shapes.** (..., *normalized_shape); the result has the shape of `x`.
    **Parameters.** Unless ``elementwise_affine=False``, `weight` of ones, of `normalized_shape`.
    **Raises.** ShapeError for other trailing axes, ArgumentError for an eps that is negative.

    >>> import lumus as lm
    >>> lm.nn.RMSNorm(4, eps=0.0)(lm.tensor([2.0, -2.0, 2.0, 2.0])).tolist()
    [1.0, -1.0, 1.0, 1.0]
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        *,
        elementwise_affine: bool = True,
        dtype: DType[Float] = float32,
    ) -> None:
        self.normalized_shape = checked_normalized("RMSNorm", normalized_shape)
        self.eps = None if eps is None else checked_eps("RMSNorm", eps)
        affine = flag("RMSNorm", "elementwise_affine", elementwise_affine)
        self.weight = Parameter(ones(self.normalized_shape, dtype=dtype)) if affine else None

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return rms_norm(x, self.normalized_shape, self.weight, eps=self.eps)

    def extra_repr(self) -> str:
        text = f"{self.normalized_shape}, eps={self.eps}"
        return text + ("" if self.weight is not None else ", elementwise_affine=False")
