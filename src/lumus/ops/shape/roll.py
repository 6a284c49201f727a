"""roll: elements moved along axes; what leaves one end comes back at the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lumus.core.argument import axis_of, check_tensors
from lumus.core.broadcast import Shape, integer, listed
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Roll as RollKernel
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Axes, Tensor
from lumus.errors import ArgumentError


@frozen
class RollAttrs:
    """How far along each axis: at least 0 and below its length (0 along an axis of none)."""

    shifts: tuple[int, ...]


def _within(shifts: Sequence[int], shape: Shape) -> tuple[int, ...]:
    return tuple([shift % (length or 1) for shift, length in zip(shifts, shape, strict=True)])


@record
class RollRecord(Record):
    """d roll(x) / dx = grad, rolled back."""

    by_signature = True

    shifts: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        back = _within([-shift for shift in self.shifts], grad.shape)
        return (apply("roll", grad, shifts=back),)


@register
class Roll(Op):
    name = "roll"
    attrs = RollAttrs

    def infer(self, specs: Specs, attrs: RollAttrs) -> Spec:
        return specs[0]

    def kernel(self, specs: Specs, attrs: RollAttrs) -> Kernel:
        return RollKernel(attrs.shifts)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: RollAttrs, needs: Needs
    ) -> Record:
        return RollRecord(attrs.shifts)


@composite("roll")
def roll(x: Tensor[K], shift: int | Sequence[int], axis: Axes = None) -> Tensor[K]:
    """The elements moved by `shift` along `axis`; what leaves one end comes back at the other.

    Without an axis the elements move in row-major order.

    **Shapes.** Any; the result has the shape of `x`. `shift` is one number for all axes, or one for
    each; it may be negative, or exceed the length.
    **Kinds.** Any.
    **Gradient.** `grad`, rolled back.
    **Raises.** ArgumentError for an axis out of range, or as many shifts as there are not axes.

    >>> import lumus as lm
    >>> lm.roll(lm.tensor([1, 2, 3, 4]), -1).tolist()
    [2, 3, 4, 1]
    """
    check_tensors("roll", x)
    given = [integer("roll", "shift", one) for one in listed(shift)]
    if axis is None:
        if len(given) != 1:
            raise ArgumentError(
                f"roll: {len(given)} shifts without an axis",
                hint="name an axis for each",
                op="roll",
            )
        flat = x.reshape(-1)
        moved = apply("roll", flat, shifts=_within(given, flat.shape))
        return cast("Tensor[K]", moved.reshape(x.shape))
    axes = [axis_of("roll", x, one) for one in listed(axis)]
    if len(given) == 1:
        given *= len(axes)
    if len(given) != len(axes):
        raise ArgumentError(f"roll: {len(given)} shifts for {len(axes)} axes", op="roll")
    shifts = [0] * x.ndim
    for place, one in zip(axes, given, strict=True):
        shifts[place] += one
    return apply("roll", x, shifts=_within(shifts, x.shape))
