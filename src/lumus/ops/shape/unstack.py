"""unstack: a tensor taken apart along an axis."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axis_of
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Pieces
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.shape.stack import stack


@frozen
class UnstackAttrs:
    """The axis, counted from the front, at least 2 long."""

    axis: int


@record
class UnstackRecord(Record):
    """d unstack(x) / dx = the gradients of the slices, stacked; 0 for those unused."""

    by_signature = True

    axis: int
    spec: Spec

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        return (stack([zeros(self.spec) if one is None else one for one in grads], self.axis),)


@register
class Unstack(Op):
    name = "unstack"
    attrs = UnstackAttrs

    def infer(self, specs: Specs, attrs: UnstackAttrs) -> Specs:
        (x,) = specs
        one = x.with_shape(x.shape[: attrs.axis] + x.shape[attrs.axis + 1 :])
        return (one,) * x.shape[attrs.axis]

    def kernel(self, specs: Specs, attrs: UnstackAttrs) -> Kernel:
        return Pieces(attrs.axis, (1,) * specs[0].shape[attrs.axis], keepdims=False)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: UnstackAttrs, needs: Needs
    ) -> Record:
        return UnstackRecord(attrs.axis, output[0].spec)


@composite("unstack")
def unstack(x: Tensor[K], axis: int = 0) -> tuple[Tensor[K], ...]:
    """Views of `x` at each index of an axis, which they do not have: `stack` undone.

    **Shapes.** As many tensors as the axis is long.
    **Kinds.** Any.
    **Gradient.** Those of the slices, stacked.
    **Raises.** ArgumentError for an axis out of range.

    >>> import lumus as lm
    >>> [row.tolist() for row in lm.unstack(lm.tensor([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    axis = axis_of("unstack", x, axis)
    if x.shape[axis] < 2:
        return tuple([x.squeeze(axis) for _ in range(x.shape[axis])])
    return apply("unstack", x, axis=axis)
