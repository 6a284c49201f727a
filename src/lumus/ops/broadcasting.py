"""Gradients of broadcasting: summed back to the shape and dtype an operand had; and zeros."""

from __future__ import annotations

from lumus.core.broadcast import reduced_axes
from lumus.core.constant import constant
from lumus.core.kinds import Float
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor


def sum_to(grad: Tensor[Float], spec: Spec) -> Tensor[Float]:
    """`grad` summed over the axes along which a tensor of `spec` was repeated, in its dtype."""
    if grad.spec is spec:
        return grad
    if grad.shape != spec.shape:
        grad = grad.sum(axis=reduced_axes(spec.shape, grad.shape)).reshape(spec.shape)
    return grad.astype(spec.dtype)


def zeros(spec: Spec) -> Tensor[Float]:
    """A gradient of zero: one shared element, repeated."""
    zero: Tensor[Float] = constant(0.0, spec.dtype, spec.device, "zeros")
    return zero.broadcast_to(spec.shape)
