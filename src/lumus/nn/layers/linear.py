"""Linear: an affine map of the last axis."""

from __future__ import annotations

import math

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer, normalize_shape
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.nn.init import uniform
from lumus.nn.module import Module, Parameter
from lumus.ops.linalg.linear import linear
from lumus.ops.random.generator import Generator


class Linear(Module):
    """``y = x @ weight.T + bias``, along the last axis.

    **Shapes.** (..., in_features) gives (..., out_features).
    **Parameters.** `weight` (out_features, in_features) and, unless ``bias=False``, `bias`
    (out_features,), both evenly spread over ``+-1 / sqrt(in_features)`` at first.
    **Raises.** ArgumentError for sizes that are not positive, ShapeError for another last axis.

    >>> import lumus as lm
    >>> lm.nn.Linear(3, 2)(lm.zeros((4, 3))).shape
    (4, 2)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = True,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        in_features = integer("Linear", "in_features", in_features)
        out_features = integer("Linear", "out_features", out_features)
        if in_features <= 0 or out_features <= 0:
            raise ArgumentError(
                f"Linear: sizes must be positive, got {in_features} and {out_features}"
            )
        shape = normalize_shape("Linear", (out_features, in_features))
        bound = 1 / math.sqrt(in_features)
        self.weight = Parameter(uniform(shape, bound, dtype=dtype, generator=generator))
        self.bias = (
            Parameter(uniform((out_features,), bound, dtype=dtype, generator=generator))
            if bias
            else None
        )

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        check_tensors("Linear", x)
        if x.ndim == 0 or x.shape[-1] != self.weight.shape[1]:
            raise ShapeError(
                f"Linear: the last axis must be {self.weight.shape[1]}, got shape {x.shape}"
            )
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        out_features, in_features = self.weight.shape
        return f"{in_features}, {out_features}" + ("" if self.bias is not None else ", bias=False")
