"""where: elements of one tensor or of another, by a mask."""

from __future__ import annotations

from typing import Any

from lumus.core.broadcast import broadcast_shapes
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.kinds import Bool, Float, K
from lumus.core.op import ElementwiseOp, Needs, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to, zeros


@record
class WhereRecord(Record):
    """d where(c, x, y) = (none, grad where c else 0, 0 where c else grad).

    A selection, no product.
    """

    condition: Saved[Bool]
    x_spec: Spec | None
    y_spec: Spec | None

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        condition, zero = self.condition.tensor(), zeros(grad.spec)
        grad_x = grad_y = None
        if self.x_spec is not None:
            grad_x = sum_to(apply("where", condition, grad, zero), self.x_spec)
        if self.y_spec is not None:
            grad_y = sum_to(apply("where", condition, zero, grad), self.y_spec)
        return (None, grad_x, grad_y)


@register
class Where(ElementwiseOp):
    name = "where"
    scalar = expression(lambda condition, x, y: scalar.where(condition, x, y))

    def infer(self, specs: Specs, attrs: None) -> Spec:
        condition, x, y = specs
        if condition.dtype.kind != "bool":
            raise kind_error(
                "where",
                condition.dtype,
                ("bool",),
                "compare first, for example with condition != 0",
                "a condition",
            )
        shape = broadcast_shapes("where", *(spec.shape for spec in specs))
        return spec_of(shape, promote(x.dtype, y.dtype, "where"), x.device)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        condition, x, y = inputs
        return WhereRecord(
            Saved(condition), x.spec if needs[1] else None, y.spec if needs[2] else None
        )


def where(condition: Tensor[Bool], x: Tensor[K] | float, y: Tensor[K] | float) -> Tensor[K]:
    """`x` where `condition` is True, `y` elsewhere.

    **Shapes.** All three broadcast together.
    **Kinds.** `condition` is Bool; `x` and `y` are of one kind; one of them may be a number.
    **Gradient.** `grad` to the one that was selected, exactly 0 to the other, whatever its value.
    So ``where(x > 0, sqrt(x), x)`` is right at 0, too: root, log, exp, division and power pass
    a gradient of exactly 0 on as 0, also where their own derivative is infinite or NaN. A product
    with an infinite operand does not (``0 * inf`` is NaN): select the argument as well, as in
    ``where(x > 0, y * log(where(x > 0, x, 1)), 0)``.
    **Raises.** KindError for a condition that is not Bool or for mixed kinds, ShapeError for shapes
    that do not broadcast.

    >>> import lumus as lm
    >>> x = lm.tensor([1.0, -2.0])
    >>> lm.where(x > 0, x, 0.0).tolist()
    [1.0, 0.0]
    """
    return apply("where", condition, *operands("where", x, y))
