"""elementwise_loss: an expression of predictions and targets, summed or averaged in one pass."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lumus.core.broadcast import broadcast_shapes
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.frozen import frozen
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import Reduce
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar.expressions import Expression, expression, substitute
from lumus.core.scalar.nodes import Input, Scalar
from lumus.core.scalar.tangent import vjp
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused
from lumus.ops.loss.reduction import Reduction


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A loss of single elements, and its gradient by each input: (grad, inputs...).

    Compared by identity: it is made once, where it is used, or once for each of its parameters.
    """

    value: Expression
    gradients: tuple[Expression, ...]


def formula(value: Callable[..., Scalar], *gradients: Callable[..., Scalar]) -> Formula:
    """A formula; gradients that are not given are the derivatives of `value` as it stands."""
    made = expression(value)
    given = tuple([expression(one) for one in gradients])
    rest = range(len(given), made.num_inputs)
    return Formula(made, (*given, *[vjp(made, index) for index in rest]))


@functools.lru_cache(maxsize=1024)
def _scaled(gradient: Expression, scale: float) -> Expression:
    """The gradient for an incoming one that is scaled: that of a mean, in one pass."""
    inputs = [Input(index) for index in range(gradient.num_inputs)]
    outputs = substitute(gradient.outputs, [inputs[0] * scale, *inputs[1:]])
    return Expression(gradient.parameters, outputs)


@frozen
class ElementwiseLossAttrs:
    """The formula, and what is returned of its elements."""

    formula: Formula
    reduction: Reduction


@record
class ElementwiseLossRecord(Record):
    """d mean(f(x_0, x_1, ...)) / d x_i = grad / n * (the derivative of f by x_i)."""

    formula: Formula
    inputs: tuple[Saved[Any], ...]
    count: int
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        tensors = [saved.tensor() for saved in self.inputs]
        gradients = self.formula.gradients
        if self.count > 1:
            gradients = tuple([_scaled(one, 1 / self.count) for one in gradients])
        return tuple(
            [
                sum_to(fused(gradient, grad, *tensors), tensor.spec) if needed else None
                for gradient, tensor, needed in zip(gradients, tensors, self.needs, strict=True)
            ]
        )


@register
class ElementwiseLoss(Op):
    name = "elementwise_loss"
    attrs = ElementwiseLossAttrs

    def infer(self, specs: Specs, attrs: ElementwiseLossAttrs) -> Spec:
        dtype = specs[0].dtype
        for spec in specs[1:]:
            dtype = promote(dtype, spec.dtype, self.name)
        if dtype.kind != "float":
            raise kind_error(self.name, dtype, ("float",))
        shape = broadcast_shapes(self.name, *[spec.shape for spec in specs])
        return spec_of(shape if attrs.reduction == "none" else (), dtype, specs[0].device)

    def kernel(self, specs: Specs, attrs: ElementwiseLossAttrs) -> Kernel:
        value = attrs.formula.value
        if attrs.reduction == "none":
            return Elementwise(value)
        rank = max(spec.ndim for spec in specs)
        return Reduce(attrs.reduction, tuple(range(rank)), keepdims=False, prologue=value)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: ElementwiseLossAttrs,
        needs: Needs,
    ) -> Record:
        count = 1
        if attrs.reduction == "mean":
            count = math.prod(broadcast_shapes(self.name, *[one.shape for one in inputs]))
        saved = tuple([Saved(one) for one in inputs])
        return ElementwiseLossRecord(attrs.formula, saved, count, needs)


def elementwise_loss(made: Formula, reduction: Reduction, *inputs: Tensor[Float]) -> Tensor[Float]:
    """The formula of Float tensors that broadcast together, reduced; differentiable to any order.

    >>> import lumus as lm
    >>> difference = formula(lambda x, y: abs(x - y))
    >>> elementwise_loss(difference, "sum", lm.tensor([1.0, 2.0]), lm.tensor([3.0, 2.5])).item()
    2.5
    """
    return apply("elementwise_loss", *inputs, formula=made, reduction=reduction)
