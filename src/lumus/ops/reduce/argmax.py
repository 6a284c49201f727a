"""argmax: the position of the largest element."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axis_of
from lumus.core.broadcast import reduced_shape
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import ArgReduce
from lumus.core.kinds import Int
from lumus.core.op import Op, Specs, kind_error, register
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.reduce.axes import check_not_empty


@frozen
class ArgmaxAttrs:
    """The axis counted from the front, or None for all in row-major order."""

    axis: int | None
    keepdims: bool


@register
class Argmax(Op):
    name = "argmax"
    attrs = ArgmaxAttrs
    differentiable = False
    reason = "its result is Int"

    def infer(self, specs: Specs, attrs: ArgmaxAttrs) -> Spec:
        (spec,) = specs
        if spec.dtype.kind == "bool":
            raise kind_error(
                "argmax", spec.dtype, ("float", "int"), "convert with .astype(lumus.int64)"
            )
        axes = tuple(range(spec.ndim)) if attrs.axis is None else (attrs.axis,)
        check_not_empty("argmax", spec.shape, axes)
        shape = reduced_shape(spec.shape, axes, attrs.keepdims)
        return spec.with_shape(shape).with_dtype(int64)

    def kernel(self, specs: Specs, attrs: ArgmaxAttrs) -> Kernel:
        return ArgReduce("max", attrs.axis, attrs.keepdims)


def argmax(x: Tensor[Any], axis: int | None = None, *, keepdims: bool = False) -> Tensor[Int]:
    """The position of the largest element along `axis`, or in row-major order over all axes.

    The first of several wins; the first NaN counts as the largest.

    **Shapes.** The axis (all by default) is removed, or kept with length 1 by `keepdims`.
    **Kinds.** Float or Int; the result is int64.
    **Gradient.** None: the result is Int.
    **Raises.** KindError for Bool, ShapeError for a reduction of nothing, ArgumentError for an axis
    out of range.

    >>> import lumus as lm
    >>> lm.argmax(lm.tensor([[1.0, 2.0], [4.0, 3.0]]), axis=1).tolist()
    [1, 0]
    """
    if axis is not None:
        axis = axis_of("argmax", x, axis)
    return apply("argmax", x, axis=axis, keepdims=keepdims)
