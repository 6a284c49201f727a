"""std: the standard deviation of elements over axes."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axes_of
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Axes, Tensor
from lumus.ops.elementwise.map import fused
from lumus.ops.reduce.var import var

# At 0 the derivative of a root is infinite; that of a deviation has the subgradient 0.
_GRAD = expression(lambda grad, y: scalar.where(scalar.equal(y, 0), 0.0, grad / (2 * y)))


@record
class RootRecord(Record):
    """d sqrt(x) / dx = grad / (2 * y), and 0 at 0: the square root that ends a norm."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Root(ElementwiseOp):
    name = "root"
    scalar = expression(lambda x: scalar.sqrt(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return RootRecord(saved_output(output))


@composite("std")
def std(
    x: Tensor[Float], axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False
) -> Tensor[Float]:
    """The standard deviation of elements over `axis`: the square root of `var`.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Float.
    **Gradient.** ``grad * (x - mean(x)) / ((n - correction) * std)``; 0 for equal elements, where
    the deviation has a kink.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.std(lm.tensor([1.0, 2.0, 3.0]), correction=1).tolist()
    1.0
    """
    axes = axes_of("std", x, axis)
    if is_half(x.dtype):
        wide = std(x.astype(float32), axes, correction=correction, keepdims=keepdims)
        return wide.astype(x.dtype)
    spread_out = var(x, axes, correction=correction, keepdims=keepdims)
    return apply("root", spread_out)
