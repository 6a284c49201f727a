"""norm: the p-norm over axes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from lumus.core.argument import axes_of, real
from lumus.core.broadcast import reduced_shape
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import Norm as NormKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.nodes import Scalar
from lumus.core.spec import Spec
from lumus.core.tensor import Axes, Tensor
from lumus.errors import ArgumentError
from lumus.ops.broadcasting import zeros
from lumus.ops.elementwise.map import fused
from lumus.ops.reduce.axes import check_not_empty, spread


@frozen
class NormAttrs:
    """The power; the axes, counted from the front and sorted; whether they stay with length 1."""

    p: float
    axes: tuple[int, ...]
    keepdims: bool


@lru_cache(maxsize=64)
def slope(p: float) -> Expression:
    """Grad * d |x|_p / dx for finite p, from (grad, x, the norm y).

    At the zero vector the norm has a kink, whose subgradient 0 is taken; for p < 1 it has one at
    each zero element.
    """

    def rule(grad: Scalar, x: Scalar, y: Scalar) -> Scalar:
        if p == 1:
            return grad * scalar.sign(x)
        if p == 2:
            return scalar.where(scalar.equal(y, 0), 0.0, grad * (x / y))
        share = scalar.sign(x) * (scalar.absolute(x) / y) ** (p - 1)
        return scalar.where(scalar.equal(y, 0) | scalar.equal(x, 0), 0.0, grad * share)

    return expression(rule)


@record
class NormRecord(Record):
    """d y / dx = grad * sign(x) * (|x| / y)**(p-1), and 0 at the zero vector."""

    x: Saved[Float]
    y: Saved[Float]
    p: float
    axes: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x = self.x.tensor()
        y = spread(self.y.tensor(), x.shape, self.axes)
        if self.p == 0:
            return (zeros(x.spec),)
        if math.isinf(self.p):
            # The extreme magnitudes share the gradient evenly; their number is an integer.
            chosen = x.abs() == y
            ties = chosen.sum(axis=self.axes).maximum(1).astype(x.dtype).reshape(grad.shape)
            share = spread(grad / ties, x.shape, self.axes) * x.sign()
            return (apply("where", chosen, share, zeros(x.spec)),)
        return (fused(slope(self.p), spread(grad, x.shape, self.axes), x, y),)


@register
class Norm(Op):
    name = "norm"
    attrs = NormAttrs

    def infer(self, specs: Specs, attrs: NormAttrs) -> Spec:
        (spec,) = specs
        if spec.dtype.kind != "float":
            raise kind_error("norm", spec.dtype, ("float",))
        if attrs.p < 0:
            check_not_empty("norm", spec.shape, attrs.axes)
        return spec.with_shape(reduced_shape(spec.shape, attrs.axes, attrs.keepdims))

    def kernel(self, specs: Specs, attrs: NormAttrs) -> Kernel:
        return NormKernel(attrs.p, attrs.axes, attrs.keepdims)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: NormAttrs, needs: Needs
    ) -> Record:
        return NormRecord(Saved(inputs[0]), saved_output(output), attrs.p, attrs.axes)


def power(op: str, p: Any) -> float:
    """The p of a norm; raises ArgumentError for what is none."""
    value = real(op, "p", p)
    if math.isnan(value):
        raise ArgumentError(f"{op}: p cannot be NaN", op=op)
    return value


@composite("norm")
def norm(
    x: Tensor[Float], p: float = 2.0, axis: Axes = None, *, keepdims: bool = False
) -> Tensor[Float]:
    """The p-norm of the elements over `axis`: ``sum(|x|**p)**(1/p)``.

    For ``p=inf`` the largest magnitude, for ``-inf`` the smallest, for 0 how many elements are not
    0; any other `p` is used as it is, negative and fractional ones too. The norm is finite and
    exact wherever it can be: squares of large or small elements neither overflow nor vanish.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`. Over no elements the norm is 0.
    **Kinds.** Float; half types compute in float32 or wider.
    **Gradient.** ``grad * sign(x) * (|x| / y)**(p-1)``; 0 at the zero vector, never NaN. For an
    infinite `p` it is split evenly among the extreme elements, for 0 it is 0.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range or named twice
    and for ``p=nan``, ShapeError for a negative `p` over no elements.

    >>> import lumus as lm
    >>> lm.norm(lm.tensor([[3.0, -4.0], [0.0, 5.0]]), axis=1).tolist()
    [5.0, 5.0]
    """
    return apply("norm", x, p=power("norm", p), axes=axes_of("norm", x, axis), keepdims=keepdims)
