"""tril and triu: the lower or upper triangle of matrices, the rest 0."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, Int, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.create.arange import arange


def _kept(zero: float | bool, *, upper: bool) -> Expression:
    """Of (x, columns, rows): x where the column is not beyond the row, or not before it."""
    if upper:
        return expression(lambda x, c, r: scalar.where(scalar.greater_equal(c, r), x, zero))
    return expression(lambda x, c, r: scalar.where(scalar.less_equal(c, r), x, zero))


_LOWER, _UPPER = _kept(0, upper=False), _kept(0, upper=True)
_LOWER_BOOL, _UPPER_BOOL = _kept(False, upper=False), _kept(False, upper=True)


@frozen
class TriangleAttrs:
    """Whether the upper triangle is kept."""

    upper: bool


@record
class TriangleRecord(Record):
    """d triangle(x) / dx = the triangle of grad."""

    columns: Saved[Int]
    rows: Saved[Int]
    upper: bool

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        columns, rows = self.columns.tensor(), self.rows.tensor()
        return (apply("triangle", grad, columns, rows, upper=self.upper), None, None)


@register
class Triangle(Op):
    """Of (x, columns, rows): x where the column, counted in (1, m), is within the row's, (n, 1)."""

    name = "triangle"
    attrs = TriangleAttrs

    def infer(self, specs: Specs, attrs: TriangleAttrs) -> Spec:
        return specs[0]

    def kernel(self, specs: Specs, attrs: TriangleAttrs) -> Kernel:
        if specs[0].dtype.kind == "bool":
            return Elementwise(_UPPER_BOOL if attrs.upper else _LOWER_BOOL)
        return Elementwise(_UPPER if attrs.upper else _LOWER)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: TriangleAttrs,
        needs: Needs,
    ) -> Record:
        return TriangleRecord(Saved(inputs[1]), Saved(inputs[2]), attrs.upper)


def _triangle(op: str, x: Tensor[K], offset: int, *, upper: bool) -> Tensor[K]:
    check_tensors(op, x)
    if x.ndim < 2:
        raise ShapeError(f"{op}: needs at least two axes, got shape {x.shape}", op=op)
    height, width = x.shape[-2:]
    # No further than just outside the matrix, whatever is asked for.
    start = max(-height - width, min(integer(op, "offset", offset), height + width))
    columns = arange(width, device=x.device).reshape(1, width)
    rows = arange(start, start + height, device=x.device).reshape(height, 1)
    return apply("triangle", x, columns, rows, upper=upper)


def tril(x: Tensor[K], offset: int = 0) -> Tensor[K]:
    """The lower triangle of each matrix: elements where ``column - row <= offset``, else 0.

    **Shapes.** (..., n, m), kept.
    **Kinds.** Any.
    **Gradient.** `grad` in the triangle, 0 elsewhere.
    **Raises.** ShapeError for fewer than two axes.

    >>> import lumus as lm
    >>> lm.tril(lm.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return _triangle("tril", x, offset, upper=False)


def triu(x: Tensor[K], offset: int = 0) -> Tensor[K]:
    """The upper triangle of each matrix: elements where ``column - row >= offset``, else 0.

    **Shapes.** (..., n, m), kept.
    **Kinds.** Any.
    **Gradient.** `grad` in the triangle, 0 elsewhere.
    **Raises.** ShapeError for fewer than two axes.

    >>> import lumus as lm
    >>> lm.triu(lm.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return _triangle("triu", x, offset, upper=True)
