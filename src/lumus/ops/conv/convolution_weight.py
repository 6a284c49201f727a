"""convolution_weight: the gradient of a convolution by its weight."""

from __future__ import annotations

from typing import Any

from lumus.core.kernels.convolution import ConvolutionWeight as ConvolutionWeightKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.ops.conv.convolution import result_dtype, run
from lumus.ops.conv.geometry import ConvolutionAttrs


@record
class ConvolutionWeightRecord(Record):
    """d convolution_weight(x, y): with grad as the weight, y's transposed convolution and x's."""

    x: Saved[Float] | None
    y: Saved[Float] | None
    specs: Specs
    attrs: ConvolutionAttrs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, y = self.specs
        grad_x = grad_y = None
        if self.y is not None:
            grad_x = run("convolution_transpose", self.attrs, x.shape[2:], self.y.tensor(), grad)
            grad_x = grad_x.astype(x.dtype)
        if self.x is not None:
            grad_y = run("convolution", self.attrs, y.shape[2:], self.x.tensor(), grad)
            grad_y = grad_y.astype(y.dtype)
        return (grad_x, grad_y)


@register
class ConvolutionWeight(Op):
    """Of (x, y): x an input and y an output of the convolution, or a gradient of one."""

    name = "convolution_weight"
    attrs = ConvolutionAttrs

    def infer(self, specs: Specs, attrs: ConvolutionAttrs) -> Spec:
        x, y = specs
        shape = (y.shape[1], x.shape[1] // attrs.groups, *attrs.size)
        return spec_of(shape, result_dtype("convolution_weight", specs), x.device)

    def kernel(self, specs: Specs, attrs: ConvolutionAttrs) -> Kernel:
        return ConvolutionWeightKernel(attrs.stride, attrs.padding, attrs.dilation, attrs.groups)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: ConvolutionAttrs,
        needs: Needs,
    ) -> Record:
        x, y = inputs
        return ConvolutionWeightRecord(
            Saved(x) if needs[1] else None,
            Saved(y) if needs[0] else None,
            (x.spec, y.spec),
            attrs,
        )
