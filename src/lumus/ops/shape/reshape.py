"""reshape: the same elements under another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lumus.core.argument import not_a_tensor
from lumus.core.broadcast import Shape, are_ints, lengths_of, normalize_shape
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Reshape as ReshapeKernel
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError


@frozen
class ReshapeAttrs:
    """The new shape, without -1."""

    shape: Shape


@record
class ReshapeRecord(Record):
    """d reshape(x) / dx = grad, reshaped back."""

    by_signature = True

    shape: Shape

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("reshape", grad, shape=self.shape),)


@register
class Reshape(Op):
    name = "reshape"
    attrs = ReshapeAttrs

    def infer(self, specs: Specs, attrs: ReshapeAttrs) -> Spec:
        if math.prod(attrs.shape) != specs[0].size:
            raise ShapeError(
                f"reshape: {specs[0].shape} cannot become {attrs.shape}: it has {specs[0].size} "
                f"elements, that would have {math.prod(attrs.shape)}",
                op="reshape",
                specs=specs,
            )
        return specs[0].with_shape(attrs.shape)

    def kernel(self, specs: Specs, attrs: ReshapeAttrs) -> Kernel:
        return ReshapeKernel(attrs.shape)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: ReshapeAttrs,
        needs: Needs,
    ) -> Record:
        return ReshapeRecord(inputs[0].shape)


@composite("reshape")
def reshape(x: Tensor[K], shape: int | Sequence[int]) -> Tensor[K]:
    """The same elements, in row-major order, under another shape.

    **Shapes.** One length may be -1: it follows from the others. A view of the same memory where
    the strides allow it, otherwise a copy.
    **Kinds.** Any.
    **Gradient.** `grad`, reshaped back.
    **Raises.** ShapeError when the number of elements differs, or -1 is ambiguous.

    >>> import lumus as lm
    >>> lm.reshape(lm.tensor([1, 2, 3, 4]), (2, -1)).tolist()
    [[1, 2], [3, 4]]
    """
    try:
        old = x.spec.shape
    except AttributeError:
        raise not_a_tensor("reshape", x) from None
    if are_ints(shape):
        return x if shape == old else apply("reshape", x, shape=_kept(old, shape))
    return apply("reshape", x, shape=_resolved(old, shape))


def _resolved(old: Shape, shape: int | Sequence[int]) -> Shape:
    """The shape with its -1, if any, replaced by what it stands for."""
    lengths = list(lengths_of("reshape", shape))
    if -1 not in lengths:
        return normalize_shape("reshape", lengths)
    position = lengths.index(-1)
    known = math.prod(lengths[:position] + lengths[position + 1 :])
    size = math.prod(old)
    if lengths.count(-1) > 1 or known == 0 or size % known:
        what = f"{size} elements do not divide into it"
        if lengths.count(-1) > 1:
            what = "it has more than one -1"
        elif known == 0:
            what = "a -1 beside a 0 is ambiguous"
        raise ShapeError(
            f"reshape: {old} cannot become {tuple(lengths)}: {what}",
            op="reshape",
        )
    lengths[position] = size // known
    return normalize_shape("reshape", lengths)


_kept = lru_cache(maxsize=4096)(_resolved)
