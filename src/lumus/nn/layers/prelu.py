"""PReLU: relu with a learned slope on the negative side."""

from __future__ import annotations

from lumus.core.argument import check_tensors, finite
from lumus.core.broadcast import integer
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.nn.module import Module, Parameter
from lumus.ops.create.full import full
from lumus.ops.elementwise.prelu import prelu


class PReLU(Module):
    """`lumus.prelu` with a weight of its own: ``weight * x`` where x is not positive.

    **Shapes.** Any with one weight; (batch, num_parameters, ...) with one for each channel.
    **Parameters.** `weight` (num_parameters,), all `init` at first.
    **Raises.** ArgumentError unless `num_parameters` is positive and `init` finite, ShapeError for
    another number of channels.

    >>> import lumus as lm
    >>> lm.nn.PReLU()(lm.tensor([-2.0, 3.0])).tolist()
    [-0.5, 3.0]
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, *, dtype: DType[Float] = float32
    ) -> None:
        count = integer("PReLU", "num_parameters", num_parameters)
        if count <= 0:
            raise ArgumentError(f"PReLU: num_parameters must be positive, got {count}")
        self.weight = Parameter(full((count,), finite("PReLU", "init", init), dtype=dtype))

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        check_tensors("PReLU", x)
        count = self.weight.size
        if count == 1:
            return prelu(x, self.weight.reshape(()))
        if x.ndim < 2 or x.shape[1] != count:
            raise ShapeError(f"PReLU: axis 1 must have {count} channels, got shape {x.shape}")
        return prelu(x, self.weight.reshape((count, *(1,) * (x.ndim - 2))))

    def extra_repr(self) -> str:
        return f"{self.weight.size}"
