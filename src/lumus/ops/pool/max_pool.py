"""max_pool: the maximum of each window; the places of the maxima, and what is at places."""

from __future__ import annotations

import math
from typing import Any

from lumus.core.dispatch import apply
from lumus.core.dtypes import DType, int32, int64, uint8
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.pool import MaxPool as MaxPoolKernel
from lumus.core.kernels.pool import MaxPoolGrad as MaxPoolGradKernel
from lumus.core.kernels.pool import MaxPoolTake as MaxPoolTakeKernel
from lumus.core.kernels.pool import PoolAxis
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.create.tensor import tensor
from lumus.ops.pool.windows import pooled, unpooled


@frozen
class MaxPoolAttrs:
    """The windows along each of the last axes."""

    axes: tuple[PoolAxis, ...]


def _place_dtype(axes: tuple[PoolAxis, ...]) -> DType[Any]:
    """A place is a number below the taps of the largest window."""
    return uint8 if math.prod([axis.window for axis in axes]) <= 256 else int32


@record
class MaxPoolRecord(Record):
    """d max_pool(x) / dx = grad, added where the maxima are."""

    places: Saved[Int]
    axes: tuple[PoolAxis, ...]

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        return (apply("max_pool_grad", grads[0], self.places.tensor(), axes=self.axes),)


@register
class MaxPool(Op):
    """(the maxima, their places in the windows)."""

    name = "max_pool"
    attrs = MaxPoolAttrs

    def infer(self, specs: Specs, attrs: MaxPoolAttrs) -> Specs:
        (x,) = specs
        if x.dtype.kind != "float":
            raise kind_error("max_pool", x.dtype, ("float",))
        y = pooled(x, attrs.axes)
        return (y, y.with_dtype(_place_dtype(attrs.axes)))

    def kernel(self, specs: Specs, attrs: MaxPoolAttrs) -> Kernel:
        return MaxPoolKernel(attrs.axes)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: MaxPoolAttrs, needs: Needs
    ) -> Record:
        # Places are Int, and so off the graph: saving them makes no cycle.
        return MaxPoolRecord(Saved(output[1]), attrs.axes)


@record
class MaxPoolGradRecord(Record):
    """d max_pool_grad(g, places) / dg = grad, read where the maxima are."""

    places: Saved[Int]
    axes: tuple[PoolAxis, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("max_pool_take", grad, self.places.tensor(), axes=self.axes), None)


@register
class MaxPoolGrad(Op):
    """Of (grad, places): zeros with each element of grad added at its place."""

    name = "max_pool_grad"
    attrs = MaxPoolAttrs

    def infer(self, specs: Specs, attrs: MaxPoolAttrs) -> Spec:
        return unpooled(specs[0], attrs.axes)

    def kernel(self, specs: Specs, attrs: MaxPoolAttrs) -> Kernel:
        return MaxPoolGradKernel(attrs.axes)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: MaxPoolAttrs,
        needs: Needs,
    ) -> Record:
        return MaxPoolGradRecord(Saved(inputs[1]), attrs.axes)


@record
class MaxPoolTakeRecord(Record):
    """d max_pool_take(x, places) / dx = grad, added at the places."""

    places: Saved[Int]
    axes: tuple[PoolAxis, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("max_pool_grad", grad, self.places.tensor(), axes=self.axes), None)


@register
class MaxPoolTake(Op):
    """Of (x, places): the element of x at the place in each window."""

    name = "max_pool_take"
    attrs = MaxPoolAttrs

    def infer(self, specs: Specs, attrs: MaxPoolAttrs) -> Spec:
        return pooled(specs[0], attrs.axes)

    def kernel(self, specs: Specs, attrs: MaxPoolAttrs) -> Kernel:
        return MaxPoolTakeKernel(attrs.axes)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: MaxPoolAttrs,
        needs: Needs,
    ) -> Record:
        return MaxPoolTakeRecord(Saved(inputs[1]), attrs.axes)


def positions(places: Tensor[Int], axes: tuple[PoolAxis, ...]) -> Tensor[Int]:
    """The number of the element at each place, in row-major order over the last axes, as int64."""
    result: Tensor[Int] = places.astype(int64) * 0
    left: Tensor[Int] = places.astype(int64)
    stride = 1
    for number, axis in reversed(list(enumerate(axes))):
        first = [axis.first(window) for window in range(axis.count)]
        shape = (axis.count, *(1,) * (len(axes) - 1 - number))
        begins: Tensor[Int] = tensor(first, dtype=int64, device=places.device).reshape(shape)
        result = result + (begins + left % axis.window * axis.dilation) * stride
        left = left // axis.window
        stride *= axis.length
    return result


def pooled_maxima(x: Tensor[Float], axes: tuple[PoolAxis, ...], return_indices: bool) -> Any:
    """The maxima of the windows, and where they are if asked."""
    y, places = apply("max_pool", x, axes=axes)
    return (y, positions(places, axes)) if return_indices else y
