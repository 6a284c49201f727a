"""permute_dims: the axes in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumus.core.argument import axis_of
from lumus.core.broadcast import inverse_order, listed
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels import Kernel, Permute
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError


@frozen
class PermuteDimsAttrs:
    """For each new axis the old one, counted from the front."""

    axes: tuple[int, ...]


@record
class PermuteDimsRecord(Record):
    """d permute_dims(x) / dx = grad, with its axes put back."""

    by_signature = True

    axes: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("permute_dims", grad, axes=inverse_order(self.axes)),)


@register
class PermuteDims(Op):
    name = "permute_dims"
    attrs = PermuteDimsAttrs

    def infer(self, specs: Specs, attrs: PermuteDimsAttrs) -> Spec:
        shape = specs[0].shape
        if sorted(attrs.axes) != list(range(len(shape))):
            raise ArgumentError(
                f"permute_dims: axes {attrs.axes} are no order of the {len(shape)} axes of "
                f"shape {shape}",
                op="permute_dims",
                axes=attrs.axes,
            )
        return specs[0].with_shape(tuple(shape[axis] for axis in attrs.axes))

    def kernel(self, specs: Specs, attrs: PermuteDimsAttrs) -> Kernel:
        return Permute(attrs.axes)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: PermuteDimsAttrs,
        needs: Needs,
    ) -> Record:
        return PermuteDimsRecord(attrs.axes)


@composite("permute_dims")
def permute_dims(x: Tensor[K], axes: int | Sequence[int]) -> Tensor[K]:
    """A view with the axes in another order: axis i of the result is axis ``axes[i]`` of `x`.

    **Shapes.** `axes` names each axis once; negative ones count from the end.
    **Kinds.** Any.
    **Gradient.** `grad`, with its axes put back.
    **Raises.** ArgumentError when `axes` is not an order of all axes.

    >>> import lumus as lm
    >>> lm.permute_dims(lm.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    normalized = tuple([axis_of("permute_dims", x, axis) for axis in listed(axes)])
    return apply("permute_dims", x, axes=normalized)
