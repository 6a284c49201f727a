"""convolution: windows of the input times weights; the op behind conv1d, conv2d and conv3d.

Its derivatives are convolution_transpose and convolution_weight, and theirs are these three again.
"""

from __future__ import annotations

from typing import Any

from lumus.core.broadcast import Shape
from lumus.core.dispatch import apply
from lumus.core.dtypes import DType, promote
from lumus.core.kernels.convolution import Convolution as ConvolutionKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.ops.conv.geometry import ConvolutionAttrs


@record
class ConvolutionRecord(Record):
    """d convolution(x, weight) = (the transposed convolution of grad, the windows of x by grad)."""

    x: Saved[Float] | None
    weight: Saved[Float] | None
    specs: Specs
    attrs: ConvolutionAttrs
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, weight = self.specs[:2]
        grad_x = grad_weight = None
        if self.weight is not None:
            grad_x = run(
                "convolution_transpose", self.attrs, x.shape[2:], grad, self.weight.tensor()
            )
            grad_x = grad_x.astype(x.dtype)
        if self.x is not None:
            grad_weight = run(
                "convolution_weight", self.attrs, weight.shape[2:], self.x.tensor(), grad
            )
            grad_weight = grad_weight.astype(weight.dtype)
        return (grad_x, grad_weight, *bias_gradient(grad, self.specs, self.needs))


def run(
    op: str, attrs: ConvolutionAttrs, size: Shape, x: Tensor[Float], *others: Tensor[Float]
) -> Tensor[Float]:
    """One of the three convolution ops: the geometry of `attrs` with a `size` of its own."""
    result: Tensor[Float] = apply(
        op,
        x,
        *others,
        stride=attrs.stride,
        padding=attrs.padding,
        dilation=attrs.dilation,
        groups=attrs.groups,
        size=size,
    )
    return result


def bias_gradient(
    grad: Tensor[Float], specs: Specs, needs: Needs
) -> tuple[Tensor[Float] | None, ...]:
    """The gradient of a third input, if there is one: grad summed over all but the channels."""
    if len(specs) == 2:
        return ()
    if not needs[2]:
        return (None,)
    axes = (0, *range(2, grad.ndim))
    return (grad.sum(axis=axes).astype(specs[2].dtype),)


def result_dtype(op: str, specs: Specs) -> DType[Any]:
    """The dtype that all inputs promote to."""
    dtype = specs[0].dtype
    for spec in specs[1:]:
        dtype = promote(dtype, spec.dtype, op)
    if dtype.kind != "float":
        raise kind_error(op, dtype, ("float",))
    return dtype


@register
class Convolution(Op):
    """Of (x, weight[, bias])."""

    name = "convolution"
    attrs = ConvolutionAttrs

    def infer(self, specs: Specs, attrs: ConvolutionAttrs) -> Spec:
        x, weight = specs[:2]
        shape = (x.shape[0], weight.shape[0], *attrs.size)
        return spec_of(shape, result_dtype("convolution", specs), x.device)

    def kernel(self, specs: Specs, attrs: ConvolutionAttrs) -> Kernel:
        return ConvolutionKernel(attrs.stride, attrs.padding, attrs.dilation, attrs.groups)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: ConvolutionAttrs,
        needs: Needs,
    ) -> Record:
        return ConvolutionRecord(
            Saved(inputs[0]) if needs[1] else None,
            Saved(inputs[1]) if needs[0] else None,
            tuple(one.spec for one in inputs),
            attrs,
            needs,
        )
