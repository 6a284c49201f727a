"""divide: the quotient of two tensors, element by element."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused, gradient_rule

_GRAD_X = gradient_rule(lambda grad, y: grad / y)
_GRAD_Y = gradient_rule(lambda grad, x, y: -grad * (x / y) / y)


@record
class DivideRecord(Record):
    """d (x / y) = (grad / y, -grad * x / y**2), each summed over the axes of its broadcast."""

    x: Saved[Float] | None
    y: Saved[Float]
    x_spec: Spec | None

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        y = self.y.tensor()
        return (
            None if self.x_spec is None else sum_to(fused(_GRAD_X, grad, y), self.x_spec),
            None if self.x is None else sum_to(fused(_GRAD_Y, grad, self.x.tensor(), y), y.spec),
        )


@register
class Divide(ElementwiseOp):
    name = "divide"
    scalar = expression(lambda x, y: x / y)
    kind_hint = "for Int use //, or convert with .astype(lumus.float32)"

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        return DivideRecord(Saved(x) if needs[1] else None, Saved(y), x.spec if needs[0] else None)


def divide(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]:
    """The quotient ``x / y`` of each pair of elements, by IEEE 754: ``1 / 0`` is inf, ``0 / 0``
    NaN.

    **Shapes.** Broadcast together.
    **Kinds.** Float; dtypes promote. Int has no ``/``: use ``//``, or convert first.
    **Gradient.** ``grad / y`` for x, ``-grad * x / y**2`` for y, summed over broadcast axes.
    **Raises.** KindError for Int, Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.divide(lm.tensor([1.0, 3.0]), 2.0).tolist()
    [0.5, 1.5]
    """
    return apply("divide", *operands("divide", x, y))
