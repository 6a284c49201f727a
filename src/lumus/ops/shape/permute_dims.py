"""permute_dims: the axes in another order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from lumus.core.argument import not_a_tensor
from lumus.core.broadcast import are_ints, inverse_order, listed, normalize_axis
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Permute
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
    try:
        ndim = x.spec.ndim
    except AttributeError:
        raise not_a_tensor("permute_dims", x) from None
    normalized = _kept(axes, ndim) if are_ints(axes) else _normalized(listed(axes), ndim)
    return apply("permute_dims", x, axes=normalized)


def _normalized(axes: Iterable[Any], ndim: int) -> tuple[int, ...]:
    """The axes counted from the front."""
    return tuple([normalize_axis("permute_dims", axis, ndim) for axis in axes])


_kept = lru_cache(maxsize=1024)(_normalized)
