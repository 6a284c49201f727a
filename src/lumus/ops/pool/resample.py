"""resample: axes brought to other lengths, each output a weighted sum of elements."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.pool import Resample as ResampleKernel
from lumus.core.kernels.pool import ResampleGrad as ResampleGradKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, record
from lumus.core.resampling import ResampleAxis
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor


@frozen
class ResampleAttrs:
    """How each of the last axes is resampled."""

    axes: tuple[ResampleAxis, ...]


@record
class ResampleRecord(Record):
    """d resample(x) / dx = grad, each element added with its weights to those it was made of."""

    by_signature = True

    axes: tuple[ResampleAxis, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("resample_grad", grad, axes=self.axes),)


@register
class Resample(Op):
    name = "resample"
    attrs = ResampleAttrs

    def infer(self, specs: Specs, attrs: ResampleAttrs) -> Spec:
        (x,) = specs
        if x.dtype.kind != "float":
            raise kind_error("resample", x.dtype, ("float",))
        kept = x.shape[: x.ndim - len(attrs.axes)]
        return x.with_shape((*kept, *(axis.count for axis in attrs.axes)))

    def kernel(self, specs: Specs, attrs: ResampleAttrs) -> Kernel:
        return ResampleKernel(attrs.axes)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: ResampleAttrs,
        needs: Needs,
    ) -> Record:
        return ResampleRecord(attrs.axes)


@record
class ResampleGradRecord(Record):
    """d resample_grad(g) / dg = resample(grad)."""

    by_signature = True

    axes: tuple[ResampleAxis, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("resample", grad, axes=self.axes),)


@register
class ResampleGrad(Op):
    """What resample transposes to."""

    name = "resample_grad"
    attrs = ResampleAttrs

    def infer(self, specs: Specs, attrs: ResampleAttrs) -> Spec:
        (grad,) = specs
        kept = grad.shape[: grad.ndim - len(attrs.axes)]
        return grad.with_shape((*kept, *(axis.length for axis in attrs.axes)))

    def kernel(self, specs: Specs, attrs: ResampleAttrs) -> Kernel:
        return ResampleGradKernel(attrs.axes)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: ResampleAttrs,
        needs: Needs,
    ) -> Record:
        return ResampleGradRecord(attrs.axes)


def resampled(x: Tensor[Float], axes: tuple[ResampleAxis, ...]) -> Tensor[Float]:
    """`x` with its last axes brought to other lengths."""
    return apply("resample", x, axes=axes)
