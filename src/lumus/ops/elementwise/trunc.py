"""trunc: each element without its fraction."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros


@record
class TruncRecord(Record):
    """d trunc(x) / dx = 0."""

    by_signature = True

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (zeros(grad.spec),)


@register
class Trunc(ElementwiseOp):
    name = "trunc"
    scalar = expression(lambda x: scalar.trunc(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return TruncRecord()


def trunc(x: Tensor[Float]) -> Tensor[Float]:
    """The integer next to each element towards zero.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 0 everywhere.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.trunc(lm.tensor([1.5, -1.5])).tolist()
    [1.0, -1.0]
    """
    return apply("trunc", x)
