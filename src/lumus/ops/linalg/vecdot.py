"""vecdot: products of vectors, along an axis of stacks of them."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import axis_of, check_tensors
from lumus.core.broadcast import broadcast_shapes, integer
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import Reduce
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.broadcasting import sum_to

_PRODUCT = expression(lambda x, y: x * y)


@record
class VecdotRecord(Record):
    """d vecdot(x, y) = (grad * y, grad * x), each summed over the axes of its broadcast."""

    x: Saved[Float] | None
    y: Saved[Float] | None
    x_spec: Spec
    y_spec: Spec

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        grad = grad.expand_dims(-1)
        grad_x = None if self.y is None else sum_to(grad * self.y.tensor(), self.x_spec)
        grad_y = None if self.x is None else sum_to(grad * self.x.tensor(), self.y_spec)
        return (grad_x, grad_y)


@register
class Vecdot(Op):
    """Along the last axis, which both have in one length; products and sum in one pass."""

    name = "vecdot"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        x, y = specs
        dtype = promote(x.dtype, y.dtype, "vecdot")
        if dtype.kind == "bool":
            raise kind_error("vecdot", dtype, ("float", "int"))
        if x.shape[-1] != y.shape[-1]:
            raise ShapeError(
                f"vecdot: shapes {x.shape} and {y.shape} do not fit: vectors of {x.shape[-1]} and "
                f"of {y.shape[-1]}",
                op="vecdot",
                specs=specs,
            )
        return spec_of(broadcast_shapes("vecdot", x.shape, y.shape)[:-1], dtype, x.device)

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        rank = max(spec.ndim for spec in specs)
        return Reduce("sum", (rank - 1,), keepdims=False, prologue=_PRODUCT)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        return VecdotRecord(
            Saved(x) if needs[1] else None, Saved(y) if needs[0] else None, x.spec, y.spec
        )


@overload
def vecdot(x: Tensor[Float], y: Tensor[Float], *, axis: int = -1) -> Tensor[Float]: ...
@overload
def vecdot(x: Tensor[Int], y: Tensor[Int], *, axis: int = -1) -> Tensor[Int]: ...
def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """The sum of ``x * y`` along `axis`, which is gone from the result.

    **Shapes.** Both have the same length along `axis`, which is counted from the end of each; the
    other axes broadcast.
    **Kinds.** Float or Int, both the same; dtypes promote. Half types multiply and add up in
    float32 and round once; ints wrap.
    **Gradient.** ``grad * y`` for x, ``grad * x`` for y.
    **Raises.** ShapeError for lengths that differ or shapes that do not broadcast, ArgumentError
    for an axis out of range or counted from the front, KindError for Bool or mixed kinds.

    >>> import lumus as lm
    >>> lm.vecdot(lm.tensor([[1, 2], [3, 4]]), lm.tensor([1, 10])).tolist()
    [21, 43]
    """
    check_tensors("vecdot", x, y)
    if integer("vecdot", "axis", axis) >= 0:
        raise ArgumentError(
            f"vecdot: axis counts from the end of both, so it must be negative, got {axis}",
            op="vecdot",
        )
    x, y = (one.moveaxis(axis_of("vecdot", one, axis), -1) for one in (x, y))
    return apply("vecdot", x, y)
