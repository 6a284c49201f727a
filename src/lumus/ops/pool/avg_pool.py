"""avg_pool: the mean of each window."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import flag
from lumus.core.broadcast import integer
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.pool import MeanPool, MeanPoolGrad, PoolAxis
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.pool.windows import PerAxis, pool_axes, pooled, unpooled


@frozen
class AvgPoolAttrs:
    """The windows along each of the last axes; what their sums are divided by."""

    axes: tuple[PoolAxis, ...]
    counts_padding: bool
    divisor: int | None


@record
class AvgPoolRecord(Record):
    """d avg_pool(x) / dx = grad over the divisor, added to all elements of the window."""

    by_signature = True

    attrs: AvgPoolAttrs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (applied("avg_pool_grad", grad, self.attrs),)


@register
class AvgPool(Op):
    name = "avg_pool"
    attrs = AvgPoolAttrs

    def infer(self, specs: Specs, attrs: AvgPoolAttrs) -> Spec:
        if specs[0].dtype.kind != "float":
            raise kind_error("avg_pool", specs[0].dtype, ("float",))
        return pooled(specs[0], attrs.axes)

    def kernel(self, specs: Specs, attrs: AvgPoolAttrs) -> Kernel:
        return MeanPool(attrs.axes, attrs.counts_padding, attrs.divisor)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: AvgPoolAttrs,
        needs: Needs,
    ) -> Record:
        return AvgPoolRecord(attrs)


@record
class AvgPoolGradRecord(Record):
    """d avg_pool_grad(g) / dg = avg_pool(grad)."""

    by_signature = True

    attrs: AvgPoolAttrs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (applied("avg_pool", grad, self.attrs),)


@register
class AvgPoolGrad(Op):
    """Each element over the divisor of its window, added to all elements of the window."""

    name = "avg_pool_grad"
    attrs = AvgPoolAttrs

    def infer(self, specs: Specs, attrs: AvgPoolAttrs) -> Spec:
        return unpooled(specs[0], attrs.axes)

    def kernel(self, specs: Specs, attrs: AvgPoolAttrs) -> Kernel:
        return MeanPoolGrad(attrs.axes, attrs.counts_padding, attrs.divisor)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: AvgPoolAttrs,
        needs: Needs,
    ) -> Record:
        return AvgPoolGradRecord(attrs)


def applied(op: str, x: Tensor[Float], attrs: AvgPoolAttrs) -> Tensor[Float]:
    """The op of that name with these attrs."""
    return apply(op, x, axes=attrs.axes, counts_padding=attrs.counts_padding, divisor=attrs.divisor)


def pooled_means(
    op: str,
    x: Tensor[Float],
    num_axes: int,
    kernel_size: PerAxis,
    stride: PerAxis | None,
    padding: PerAxis,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor[Float]:
    """The means of the windows, for the function named `op`."""
    axes = pool_axes(op, x, num_axes, kernel_size, stride, padding, 1, ceil_mode)
    counts_padding = flag(op, "count_include_pad", count_include_pad)
    if divisor is not None:
        divisor = integer(op, "divisor_override", divisor)
        if divisor == 0:
            raise ArgumentError(f"{op}: divisor_override must not be 0", op=op)
    return applied("avg_pool", x, AvgPoolAttrs(axes, counts_padding, divisor))
