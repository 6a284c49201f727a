"""convolution_transpose: a convolution from its output's side to its input's.

The gradient of convolution by its input, and the op behind conv_transpose1d, 2d and 3d.
"""

from __future__ import annotations

from typing import Any

from lumus.core.kernels.convolution import ConvolutionTranspose as ConvolutionTransposeKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.ops.conv.convolution import bias_gradient, result_dtype, run
from lumus.ops.conv.geometry import ConvolutionAttrs


@record
class ConvolutionTransposeRecord(Record):
    """d convolution_transpose(y, weight) = (the convolution of grad, the windows of grad by y)."""

    y: Saved[Float] | None
    weight: Saved[Float] | None
    specs: Specs
    attrs: ConvolutionAttrs
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        y, weight = self.specs[:2]
        grad_y = grad_weight = None
        if self.weight is not None:
            grad_y = run("convolution", self.attrs, y.shape[2:], grad, self.weight.tensor())
            grad_y = grad_y.astype(y.dtype)
        if self.y is not None:
            grad_weight = run(
                "convolution_weight", self.attrs, weight.shape[2:], grad, self.y.tensor()
            )
            grad_weight = grad_weight.astype(weight.dtype)
        return (grad_y, grad_weight, *bias_gradient(grad, self.specs, self.needs))


@register
class ConvolutionTranspose(Op):
    """Of (y, weight[, bias])."""

    name = "convolution_transpose"
    attrs = ConvolutionAttrs

    def infer(self, specs: Specs, attrs: ConvolutionAttrs) -> Spec:
        y, weight = specs[:2]
        shape = (y.shape[0], weight.shape[1] * attrs.groups, *attrs.size)
        return spec_of(shape, result_dtype("convolution_transpose", specs), y.device)

    def kernel(self, specs: Specs, attrs: ConvolutionAttrs) -> Kernel:
        return ConvolutionTransposeKernel(attrs.stride, attrs.padding, attrs.dilation, attrs.groups)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: ConvolutionAttrs,
        needs: Needs,
    ) -> Record:
        return ConvolutionTransposeRecord(
            Saved(inputs[0]) if needs[1] else None,
            Saved(inputs[1]) if needs[0] else None,
            tuple(one.spec for one in inputs),
            attrs,
            needs,
        )
