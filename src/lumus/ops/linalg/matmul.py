"""matmul: the matrix product, by NumPy's rules."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.product import MatMul
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.broadcasting import sum_to


@record
class MatmulRecord(Record):
    """d (x @ y) = (grad @ y.mT, x.mT @ grad), each summed over the batch axes of its broadcast."""

    x: Saved[Float] | None
    y: Saved[Float] | None
    x_spec: Spec
    y_spec: Spec

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        # Vectors are products of matrices with one row (x) or one column (y).
        x_rank, y_rank = self.x_spec.ndim, self.y_spec.ndim
        if x_rank == 1:
            grad = grad.expand_dims(-1 if y_rank == 1 else -2)
        if y_rank == 1:
            grad = grad.expand_dims(-1)
        grad_x = grad_y = None
        if self.y is not None:
            y = self.y.tensor()
            grad_x = _summed(grad @ _rows(y, y_rank), self.x_spec, row=True)
        if self.x is not None:
            x = self.x.tensor()
            column = x.expand_dims(1) if x_rank == 1 else x.mT
            grad_y = _summed(column @ grad, self.y_spec, row=False)
        return (grad_x, grad_y)


def _rows(y: Tensor[Float], rank: int) -> Tensor[Float]:
    """The transpose of y as a matrix."""
    return y.expand_dims(0) if rank == 1 else y.mT


def _summed(grad: Tensor[Float], spec: Spec, *, row: bool) -> Tensor[Float]:
    """A gradient of rank 2 or more brought to the shape that the operand had."""
    if spec.ndim > 1:
        return sum_to(grad, spec)
    vector = spec.shape[0]
    matrix = spec.with_shape((1, vector) if row else (vector, 1))
    return sum_to(grad, matrix).reshape(spec.shape)


@register
class Matmul(Op):
    name = "matmul"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        x, y = specs
        dtype = promote(x.dtype, y.dtype, "matmul")
        if dtype.kind == "bool":
            raise kind_error("matmul", dtype, ("float", "int"))
        return spec_of(_product_shape(x.shape, y.shape), dtype, x.device)

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return MatMul()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        return MatmulRecord(
            Saved(x) if needs[1] else None, Saved(y) if needs[0] else None, x.spec, y.spec
        )


def _product_shape(x: Shape, y: Shape) -> Shape:
    if not x or not y:
        raise ShapeError(
            f"matmul: needs at least one axis, got shapes {x} and {y}",
            hint="multiply by a scalar with *",
            op="matmul",
            shapes=(x, y),
        )
    inner = y[0] if len(y) == 1 else y[-2]
    if x[-1] != inner:
        place = "-1" if len(y) == 1 else "-2"
        raise ShapeError(
            f"matmul: shapes {x} and {y} do not fit: axis -1 of the first is {x[-1]}, "
            f"axis {place} of the second is {inner}",
            op="matmul",
            shapes=(x, y),
        )
    try:
        batch = broadcast_shapes("matmul", x[:-2], y[:-2])
    except ShapeError:
        raise ShapeError(
            f"matmul: shapes {x} and {y} do not fit: the axes before the last two, {x[:-2]} and "
            f"{y[:-2]}, do not broadcast",
            op="matmul",
            shapes=(x, y),
        ) from None
    return (*batch, *x[-2:-1], *(y[-1:] if len(y) > 1 else ()))


@overload
def matmul(x: Tensor[Float], y: Tensor[Float]) -> Tensor[Float]: ...
@overload
def matmul(x: Tensor[Int], y: Tensor[Int]) -> Tensor[Int]: ...
def matmul(x: Any, y: Any) -> Any:
    """The matrix product ``x @ y``: ``sum over k of x[..., i, k] * y[..., k, j]``.

    **Shapes.** (..., n, k) and (..., k, m) give (..., n, m); leading axes broadcast. A vector on
    the left is a row, on the right a column, and that axis is gone from the result; two vectors
    give a 0-d tensor. With k = 0 the result is zeros.
    **Kinds.** Float or Int, both the same; dtypes promote. Half types add up in float32 and round
    once; ints wrap.
    **Gradient.** ``grad @ y.mT`` for x, ``x.mT @ grad`` for y, summed over broadcast axes.
    **Raises.** ShapeError for shapes that do not fit, KindError for Bool or mixed kinds.

    >>> import lumus as lm
    >>> lm.matmul(lm.tensor([[1.0, 2.0]]), lm.tensor([3.0, 4.0])).tolist()
    [11.0]
    """
    return apply("matmul", x, y)
