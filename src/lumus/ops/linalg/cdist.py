"""cdist: the distances between the rows of two matrices."""

from __future__ import annotations

import math
from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.broadcast import broadcast_shapes
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import Distances
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.broadcasting import zeros
from lumus.ops.elementwise.map import fused
from lumus.ops.reduce.norm import power, slope


@frozen
class CdistAttrs:
    """The power of the norm."""

    p: float


@record
class CdistRecord(Record):
    """d |x_i - y_j| = the gradient of the norm at x_i - y_j, summed over j; over i with -1."""

    x: Saved[Float]
    y: Saved[Float]
    distances: Saved[Float]
    p: float
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, y = self.x.tensor(), self.y.tensor()
        if self.p == 0:
            return tuple(
                zeros(one.spec) if need else None
                for one, need in zip((x, y), self.needs, strict=True)
            )
        by_difference = self._by_difference(grad, x, y)
        return (
            by_difference.sum(axis=-2) if self.needs[0] else None,
            -by_difference.sum(axis=-3) if self.needs[1] else None,
        )

    def _by_difference(
        self, grad: Tensor[Float], x: Tensor[Float], y: Tensor[Float]
    ) -> Tensor[Float]:
        """The gradients of all differences, (..., rows of x, rows of y, columns)."""
        difference = x.expand_dims(-2) - y.expand_dims(-3)
        distances = self.distances.tensor().expand_dims(-1)
        if not math.isinf(self.p):
            return fused(slope(self.p), grad.expand_dims(-1), difference, distances)
        chosen = difference.abs() == distances
        ties = chosen.sum(axis=-1, keepdims=True).maximum(1).astype(x.dtype)
        share = (grad.expand_dims(-1) / ties) * difference.sign()
        return apply("where", chosen, share, zeros(difference.spec))


@register
class Cdist(Op):
    name = "cdist"
    attrs = CdistAttrs

    def infer(self, specs: Specs, attrs: CdistAttrs) -> Spec:
        x, y = specs
        return x.with_shape((*x.shape[:-1], y.shape[-2]))

    def kernel(self, specs: Specs, attrs: CdistAttrs) -> Kernel:
        return Distances(attrs.p)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: CdistAttrs, needs: Needs
    ) -> Record:
        x, y = inputs
        return CdistRecord(Saved(x), Saved(y), saved_output(output), attrs.p, needs)


def cdist(x: Tensor[Float], y: Tensor[Float], p: float = 2.0) -> Tensor[Float]:
    """The p-norm of the difference of each row of `x` to each row of `y`.

    Found from the differences themselves, never from products of rows, so that near points keep
    their distance. Its derivative needs memory for all differences.

    **Shapes.** `x` (..., n, columns) and `y` (..., m, columns), the axes before broadcast together;
    the result is (..., n, m).
    **Kinds.** Float; dtypes promote.
    **Gradient.** That of `norm` at the difference: 0 between equal rows, never NaN.
    **Raises.** ShapeError for fewer than two axes, columns that differ, axes that do not broadcast,
    or a negative `p` over no columns; KindError for Int and Bool, ArgumentError for ``p=nan``.

    >>> import lumus as lm
    >>> lm.cdist(lm.tensor([[0.0, 0.0]]), lm.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[5.0, 0.0]]
    """
    check_tensors("cdist", x, y)
    p = power("cdist", p)
    dtype = promote(x.dtype, y.dtype, "cdist")
    if dtype.kind != "float":
        raise kind_error("cdist", dtype, ("float",))
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1] or (p < 0 and not x.shape[-1]):
        raise ShapeError(
            f"cdist: rows of shapes {x.shape} and {y.shape}; it wants (..., n, columns) and "
            "(..., m, columns)" + (", and columns for a negative p" if p < 0 else ""),
            op="cdist",
            shapes=(x.shape, y.shape),
        )
    before = broadcast_shapes("cdist", x.shape[:-2], y.shape[:-2])
    x = x.astype(dtype).broadcast_to(*before, *x.shape[-2:])
    y = y.astype(dtype).broadcast_to(*before, *y.shape[-2:])
    return apply("cdist", x, y, p=p)
