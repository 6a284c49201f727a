"""What all reductions share: their attrs, their output's shape, and the way back to the input's."""

from __future__ import annotations

from typing import Any, ClassVar

from lumus.core.broadcast import Shape, reduced_shape
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import Reduce, ReduceKind
from lumus.core.kinds import KindName
from lumus.core.op import Op, Specs, kind_error
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError


@frozen
class ReduceAttrs:
    """The axes, counted from the front and sorted, and whether they stay with length 1."""

    axes: tuple[int, ...]
    keepdims: bool


class ReduceOp(Op):
    """A reduction over axes. `empty` says whether a reduction of nothing has a value."""

    attrs = ReduceAttrs
    reduction: ClassVar[ReduceKind]
    kinds: ClassVar[tuple[KindName, ...]] = ("float", "int")
    empty: ClassVar[bool] = True
    kind_hint: ClassVar[str | None] = None

    def infer(self, specs: Specs, attrs: ReduceAttrs) -> Spec:
        (spec,) = specs
        if spec.dtype.kind not in self.kinds:
            raise kind_error(self.name, spec.dtype, self.kinds, self.kind_hint)
        shape = reduced_shape(spec.shape, attrs.axes, attrs.keepdims)
        if not self.empty:
            check_not_empty(self.name, spec.shape, attrs.axes)
        return self.output(spec, shape)

    def output(self, spec: Spec, shape: Shape) -> Spec:
        """The output's spec, given its shape."""
        return spec.with_shape(shape)

    def kernel(self, specs: Specs, attrs: ReduceAttrs) -> Kernel:
        return Reduce(self.reduction, attrs.axes, attrs.keepdims)


def check_not_empty(op: str, shape: Shape, axes: tuple[int, ...]) -> None:
    """Raises ShapeError when `op` would reduce over nothing and has no value for that.

    Whether there are results at all does not matter: the rule looks at the reduced axes alone.
    """
    empty = [axis for axis in axes if shape[axis] == 0]
    if empty:
        raise ShapeError(
            f"{op}: axis {empty[0]} of shape {shape} has no elements, and {op} of nothing has "
            "no value",
            op=op,
            shape=shape,
            axis=empty[0],
        )


def spread(value: Tensor[Any], shape: Shape, axes: tuple[int, ...]) -> Tensor[Any]:
    """A reduced tensor repeated back to the shape before the reduction."""
    kept = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return value.reshape(kept).broadcast_to(shape)


def count_of(shape: Shape, axes: tuple[int, ...]) -> int:
    """How many elements are reduced into one."""
    count = 1
    for axis in axes:
        count *= shape[axis]
    return count
