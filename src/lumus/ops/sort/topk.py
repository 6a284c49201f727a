"""topk: the largest or smallest elements along an axis, and their positions."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import axis_of, flag
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import TopK
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.broadcasting import zeros


@frozen
class TopkAttrs:
    """How many, the axis, counted from the front, and which end of the order."""

    k: int
    axis: int
    largest: bool


@record
class TopkRecord(Record):
    """d values / dx = grad at the positions, 0 elsewhere."""

    spec: Spec
    positions: Saved[Int]
    axis: int

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        positions = self.positions.tensor()
        return (apply("scatter_add", zeros(self.spec), positions, grads[0], axis=self.axis),)


@register
class Topk(Op):
    name = "topk"
    attrs = TopkAttrs

    def infer(self, specs: Specs, attrs: TopkAttrs) -> Specs:
        (spec,) = specs
        if spec.dtype.kind == "bool":
            hint = "convert with .astype(lumus.int64)"
            raise kind_error("topk", spec.dtype, ("float", "int"), hint)
        length = spec.shape[attrs.axis]
        if not 0 <= attrs.k <= length:
            raise ArgumentError(
                f"topk: k={attrs.k} elements of axis {attrs.axis}, which has {length}",
                op="topk",
                axis=attrs.axis,
            )
        shape = tuple(
            attrs.k if place == attrs.axis else size for place, size in enumerate(spec.shape)
        )
        values = spec.with_shape(shape)
        return (values, values.with_dtype(int64))

    def kernel(self, specs: Specs, attrs: TopkAttrs) -> Kernel:
        return TopK(attrs.k, attrs.axis, attrs.largest)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: TopkAttrs, needs: Needs
    ) -> Record:
        return TopkRecord(inputs[0].spec, saved_output(output[1], 1), attrs.axis)


@overload
def topk(
    x: Tensor[Float], k: int, axis: int = -1, *, largest: bool = True, sorted: bool = True
) -> tuple[Tensor[Float], Tensor[Int]]: ...
@overload
def topk(
    x: Tensor[Int], k: int, axis: int = -1, *, largest: bool = True, sorted: bool = True
) -> tuple[Tensor[Int], Tensor[Int]]: ...
@composite("topk")
def topk(x: Any, k: int, axis: int = -1, *, largest: bool = True, sorted: bool = True) -> Any:
    """(values, indices): the `k` largest (or smallest) elements along `axis`, in order.

    Of equal elements the first come first. NaN counts as greater than every number.
    ``sorted=False`` allows any order; the result is in order all the same.

    **Shapes.** `axis` has length `k` in both results.
    **Kinds.** Float or Int; the values keep the dtype, the indices are int64.
    **Gradient.** `grad` of the values at their indices, 0 elsewhere.
    **Raises.** ArgumentError for a `k` outside [0, length of the axis] or an axis out of range,
    KindError for Bool.

    >>> import lumus as lm
    >>> [one.tolist() for one in lm.topk(lm.tensor([1.0, 5.0, 3.0, 5.0]), 2)]
    [[5.0, 5.0], [1, 3]]
    """
    flag("topk", "sorted", sorted)
    return apply("topk", x, k=k, axis=axis_of("topk", x, axis), largest=largest)
