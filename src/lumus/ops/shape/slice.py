"""slice: every so-many-th element of a range along each axis, as a view."""

from __future__ import annotations

from typing import Any

from lumus.core.broadcast import Shape
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Slice as SliceKernel
from lumus.core.kernels.shape import Unslice as UnsliceKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor


@frozen
class SliceAttrs:
    """Along each axis: the first index, how many, and the step (negative steps go backwards)."""

    starts: tuple[int, ...]
    sizes: Shape
    steps: tuple[int, ...]


@record
class SliceRecord(Record):
    """d x[slices] / dx = grad at those places, 0 elsewhere."""

    by_signature = True

    shape: Shape
    starts: tuple[int, ...]
    steps: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("unslice", grad, shape=self.shape, starts=self.starts, steps=self.steps),)


@register
class Slice(Op):
    name = "slice"
    attrs = SliceAttrs

    def infer(self, specs: Specs, attrs: SliceAttrs) -> Spec:
        return specs[0].with_shape(attrs.sizes)

    def kernel(self, specs: Specs, attrs: SliceAttrs) -> Kernel:
        return SliceKernel(attrs.starts, attrs.sizes, attrs.steps)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: SliceAttrs, needs: Needs
    ) -> Record:
        return SliceRecord(inputs[0].shape, attrs.starts, attrs.steps)


@frozen
class UnsliceAttrs:
    """The shape to fill with zeros, and where the elements go."""

    shape: Shape
    starts: tuple[int, ...]
    steps: tuple[int, ...]


@record
class UnsliceRecord(Record):
    """d unslice(x) / dx = grad at the places where the elements went."""

    by_signature = True

    sizes: Shape
    starts: tuple[int, ...]
    steps: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("slice", grad, starts=self.starts, sizes=self.sizes, steps=self.steps),)


@register
class Unslice(Op):
    """Zeros with the elements of a tensor at the places of a slice: what slice transposes to."""

    name = "unslice"
    attrs = UnsliceAttrs

    def infer(self, specs: Specs, attrs: UnsliceAttrs) -> Spec:
        return specs[0].with_shape(attrs.shape)

    def kernel(self, specs: Specs, attrs: UnsliceAttrs) -> Kernel:
        return UnsliceKernel(attrs.shape, attrs.starts, attrs.steps)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: UnsliceAttrs,
        needs: Needs,
    ) -> Record:
        return UnsliceRecord(inputs[0].shape, attrs.starts, attrs.steps)


def view(
    x: Tensor[Any], starts: tuple[int, ...], sizes: Shape, steps: tuple[int, ...]
) -> Tensor[Any]:
    """`x` sliced along each axis; arguments are already checked."""
    return apply("slice", x, starts=starts, sizes=sizes, steps=steps)
