"""broadcast_to: a tensor repeated to a larger shape, without copying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumus.core.broadcast import Shape, broadcasts_to, normalize_shape
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import BroadcastTo as BroadcastToKernel
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.broadcasting import sum_to


@frozen
class BroadcastToAttrs:
    """The larger shape."""

    shape: Shape


@record
class BroadcastToRecord(Record):
    """d broadcast_to(x) / dx = grad, summed over the axes along which x was repeated."""

    by_signature = True

    spec: Spec

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (sum_to(grad, self.spec),)


@register
class BroadcastTo(Op):
    name = "broadcast_to"
    attrs = BroadcastToAttrs

    def infer(self, specs: Specs, attrs: BroadcastToAttrs) -> Spec:
        old, new = specs[0].shape, attrs.shape
        if not broadcasts_to(old, new):
            raise ShapeError(
                f"broadcast_to: shape {old} does not broadcast to {new}",
                op="broadcast_to",
                specs=specs,
            )
        return specs[0].with_shape(new)

    def kernel(self, specs: Specs, attrs: BroadcastToAttrs) -> Kernel:
        return BroadcastToKernel(attrs.shape)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: BroadcastToAttrs,
        needs: Needs,
    ) -> Record:
        return BroadcastToRecord(inputs[0].spec)


def broadcast_to(x: Tensor[K], shape: int | Sequence[int]) -> Tensor[K]:
    """A view of `x` repeated to `shape` by the broadcasting rules. It cannot be written in place.

    **Shapes.** Each length of `x`, from the last axis on, is that of `shape` or 1.
    **Kinds.** Any.
    **Gradient.** `grad`, summed over the axes along which `x` was repeated.
    **Raises.** ShapeError when `x` does not broadcast to `shape`.

    >>> import lumus as lm
    >>> lm.broadcast_to(lm.tensor([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    lengths = normalize_shape("broadcast_to", shape)
    return apply("broadcast_to", x, shape=lengths)
