"""unfold: a window that slides along an axis."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axis_of
from lumus.core.broadcast import integer
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Windows, WindowsGrad
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError


@frozen
class UnfoldAttrs:
    """The axis, counted from the front, the elements of a window, and the step to the next."""

    axis: int
    size: int
    step: int


@record
class UnfoldRecord(Record):
    """d unfold(x) / dx = grad, its windows added up where they stood."""

    by_signature = True

    axis: int
    length: int
    step: int

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("unfold_grad", grad, axis=self.axis, length=self.length, step=self.step),)


@register
class Unfold(Op):
    name = "unfold"
    attrs = UnfoldAttrs

    def infer(self, specs: Specs, attrs: UnfoldAttrs) -> Spec:
        shape = list(specs[0].shape)
        length = shape[attrs.axis]
        if not 1 <= attrs.size <= length:
            raise ShapeError(
                f"unfold: windows of {attrs.size} on axis {attrs.axis} of length {length}",
                hint="windows have at least one element, and at most as many as the axis",
                op="unfold",
                axis=attrs.axis,
            )
        if attrs.step < 1:
            raise ArgumentError(f"unfold: step must be positive, got {attrs.step}", op="unfold")
        shape[attrs.axis] = (length - attrs.size) // attrs.step + 1
        return specs[0].with_shape((*shape, attrs.size))

    def kernel(self, specs: Specs, attrs: UnfoldAttrs) -> Kernel:
        return Windows(attrs.axis, attrs.size, attrs.step)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: UnfoldAttrs, needs: Needs
    ) -> Record:
        return UnfoldRecord(attrs.axis, inputs[0].shape[attrs.axis], attrs.step)


@frozen
class UnfoldGradAttrs:
    """The axis of the windows, its length before it was cut into them, and their step."""

    axis: int
    length: int
    step: int


@record
class UnfoldGradRecord(Record):
    """d (windows added up) / d windows = grad, cut into the same windows."""

    by_signature = True

    axis: int
    size: int
    step: int

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("unfold", grad, axis=self.axis, size=self.size, step=self.step),)


@register
class UnfoldGrad(Op):
    """Windows added up where they stood: what unfold transposes to."""

    name = "unfold_grad"
    attrs = UnfoldGradAttrs

    def infer(self, specs: Specs, attrs: UnfoldGradAttrs) -> Spec:
        shape = list(specs[0].shape[:-1])
        shape[attrs.axis] = attrs.length
        return specs[0].with_shape(tuple(shape))

    def kernel(self, specs: Specs, attrs: UnfoldGradAttrs) -> Kernel:
        return WindowsGrad(attrs.axis, attrs.length, attrs.step)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: UnfoldGradAttrs,
        needs: Needs,
    ) -> Record:
        return UnfoldGradRecord(attrs.axis, inputs[0].shape[-1], attrs.step)


@composite("unfold")
def unfold(x: Tensor[K], axis: int, size: int, step: int = 1) -> Tensor[K]:
    """A view of the windows of `size` elements that slide along `axis` by `step`.

    Where windows overlap their elements share memory, so the view cannot be written in place.

    **Shapes.** The axis gets length ``(length - size) // step + 1``, and counts the windows; a new
    last axis of length `size` holds their elements. What is left at the end is in no window.
    **Kinds.** Any.
    **Gradient.** `grad`, added up over all windows that an element is in.
    **Raises.** ShapeError unless ``1 <= size <= length``, ArgumentError for a step below 1 or an
    axis out of range.

    >>> import lumus as lm
    >>> lm.unfold(lm.tensor([1, 2, 3, 4]), 0, 2).tolist()
    [[1, 2], [2, 3], [3, 4]]
    """
    axis = axis_of("unfold", x, axis)
    size, step = integer("unfold", "size", size), integer("unfold", "step", step)
    # A step beyond the axis leads to no second window, whatever its size.
    step = min(step, max(1, x.shape[axis]))
    return apply("unfold", x, axis=axis, size=size, step=step)
