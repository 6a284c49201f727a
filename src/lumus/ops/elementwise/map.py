"""map: an expression of several tensors, computed in one pass.

The tool for vjps of elementwise ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.nodes import Input, Scalar
from lumus.core.scalar.tangent import vjp
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import sum_to


@frozen
class MapAttrs:
    """The expression, whose inputs are the tensors in order."""

    expression: Expression


@record
class MapRecord(Record):
    """d f(x_0, x_1, ...) / d x_i = grad * (the symbolic derivative of f by x_i)."""

    expression: Expression
    inputs: tuple[Saved[Any], ...]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        tensors = [saved.tensor() for saved in self.inputs]
        return tuple(
            sum_to(fused(vjp(self.expression, index), grad, *tensors), tensor.spec)
            if self.needs[index]
            else None
            for index, tensor in enumerate(tensors)
        )


@register
class Map(ElementwiseOp):
    name = "map"
    attrs = MapAttrs
    kinds = ("float",)

    def kernel(self, specs: Specs, attrs: MapAttrs) -> Kernel:
        return Elementwise(attrs.expression)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: MapAttrs, needs: Needs
    ) -> Record:
        return MapRecord(attrs.expression, tuple([Saved(tensor) for tensor in inputs]), needs)


def fused(
    expression: Expression,
    x: Tensor[Float],
    y: Tensor[Float] | None = None,
    *more: Tensor[Float],
) -> Tensor[Float]:
    """`expression` of Float tensors, broadcast together, in one pass; differentiable to any order.

    The expression is built once, where it is used; that of a vjp by `gradient_rule`.
    """
    if y is None:
        return apply("map", x, expression=expression)
    if not more:  # a call without unpacking is half the cost of one with it
        return apply("map", x, y, expression=expression)
    return apply("map", x, y, *more, expression=expression)


def gradient_rule(function: Callable[..., Scalar]) -> Expression:
    """The expression of a vjp whose local derivative can be infinite at finite elements.

    As in ``_GRAD = gradient_rule(lambda grad, y: grad / (2 * y))`` for the square root. A gradient
    of 0 stays 0 where its product with an infinity or NaN would be NaN: such an element was in the
    branch that `where` did not select, and has no influence at all.
    """
    plain = expression(function)
    (value,) = plain.outputs
    nothing = scalar.equal(Input(0), 0) & scalar.isnan(value)
    return Expression(plain.parameters, (scalar.where(nothing, 0.0, value),))
