"""pad: a tensor made larger at the ends of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import le, sub
from typing import Any

from lumus.core.argument import check_tensors, choice, number
from lumus.core.broadcast import Shape
from lumus.core.composite import composite
from lumus.core.constant import constant
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Continuation
from lumus.core.kernels.shape import Pad as PadKernel
from lumus.core.kernels.shape import PadGrad as PadGradKernel
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import PadMode, PadWidth, Tensor
from lumus.errors import ShapeError
from lumus.ops.shape.pad_width import ends_of
from lumus.ops.shape.tile import tiled

Ends = tuple[int, ...]

_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")
_OTHER_NAMES = {"replicate": "edge", "circular": "wrap"}


@frozen
class PadAttrs:
    """How the tensor goes on beyond its ends, and how far along each axis: within its reach."""

    mode: Continuation
    before: Ends
    after: Ends


@record
class PadRecord(Record):
    """d pad(x) / dx = grad, each element added where it was taken from."""

    by_signature = True

    mode: Continuation
    before: Ends
    after: Ends

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("pad_grad", grad, mode=self.mode, before=self.before, after=self.after),)


@register
class Pad(Op):
    name = "pad"
    attrs = PadAttrs

    def infer(self, specs: Specs, attrs: PadAttrs) -> Spec:
        return specs[0].with_shape(_padded(specs[0].shape, attrs.before, attrs.after))

    def kernel(self, specs: Specs, attrs: PadAttrs) -> Kernel:
        return PadKernel(attrs.mode, attrs.before, attrs.after)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: PadAttrs, needs: Needs
    ) -> Record:
        return PadRecord(attrs.mode, attrs.before, attrs.after)


@record
class PadGradRecord(Record):
    """d pad_grad(x) / dx = grad, padded."""

    by_signature = True

    mode: Continuation
    before: Ends
    after: Ends

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("pad", grad, mode=self.mode, before=self.before, after=self.after),)


@register
class PadGrad(Op):
    """Each element of a padded tensor added to the one it was taken from: pad's transpose."""

    name = "pad_grad"
    attrs = PadAttrs

    def infer(self, specs: Specs, attrs: PadAttrs) -> Spec:
        ends = zip(specs[0].shape, attrs.before, attrs.after, strict=True)
        return specs[0].with_shape(tuple([length - low - high for length, low, high in ends]))

    def kernel(self, specs: Specs, attrs: PadAttrs) -> Kernel:
        return PadGradKernel(attrs.mode, attrs.before, attrs.after)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: PadAttrs, needs: Needs
    ) -> Record:
        return PadGradRecord(attrs.mode, attrs.before, attrs.after)


@composite("pad")
def pad(
    x: Tensor[K],
    pad_width: PadWidth,
    mode: PadMode = "constant",
    *,
    constant_values: float | int | bool = 0,
) -> Tensor[K]:
    """`x` made larger at the ends of its axes.

    Beyond an end stands, by `mode`: the number `constant_values`; the outermost element (edge); the
    mirror image with the outermost element once (reflect: 3 2 | 1 2 3 | 2 1) or twice (symmetric:
    2 1 | 1 2 3 | 3 2); what is at the other end (wrap). All of these go on as far as is asked.

    **Shapes.** `pad_width` is one number for all ends, (before, after) for all axes, a pair for
    each axis, or a dict from an axis to its number or pair, which leaves the other axes alone.
    **Kinds.** Any.
    **Gradient.** `grad` at each element, and at its images added up.
    **Raises.** ArgumentError for a negative width, an unknown mode, or an axis out of range;
    ShapeError for pairs that do not fit the axes, or an axis of none that would be continued.

    >>> import lumus as lm
    >>> lm.pad(lm.tensor([1, 2, 3]), (2, 1), mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """
    check_tensors("pad", x)
    before, after = ends_of(x, pad_width)
    meant = _OTHER_NAMES.get(mode) if isinstance(mode, str) else None
    choice("pad", "mode", mode, _MODES, f"use {meant!r}" if meant else None)
    if mode == "constant":
        return _filled(x, before, after, constant_values)
    for axis, length in enumerate(x.shape):
        if not length and (before[axis] or after[axis]):
            raise ShapeError(
                f"pad: axis {axis} of shape {x.shape} has nothing that could be continued",
                hint="use mode='constant'",
                op="pad",
                axis=axis,
            )
    _padded(x.shape, before, after)
    return _continued(x, before, after, mode)


def _padded(shape: Shape, before: Ends, after: Ends) -> Shape:
    return tuple([low + n + high for n, low, high in zip(shape, before, after, strict=True)])


def _filled(x: Tensor[K], before: Ends, after: Ends, value: Any) -> Tensor[K]:
    value = number("pad", "constant_values", value)
    if x.dtype.kind == "bool" and value == 0:
        value = False
    fill: Tensor[K] = constant(value, x.dtype, x.device, "pad")
    base = fill.broadcast_to(_padded(x.shape, before, after))
    return apply("slice_put", base, x, starts=before, sizes=x.shape, steps=(1,) * x.ndim)


def _continued(x: Tensor[K], before: Ends, after: Ends, mode: Continuation) -> Tensor[K]:
    """Padded in as many steps as it takes: each continues `x` no further than it reaches itself."""
    if not any(before) and not any(after):
        return x.copy()
    if mode == "reflect" and 1 in x.shape:
        # What has one element is mirrored into itself.
        lone = [length == 1 for length in x.shape]
        x = _step(x, _where(lone, before), _where(lone, after), "edge")
        more = [not one for one in lone]
        before, after = _where(more, before), _where(more, after)
    if mode == "wrap":
        for axis, length in enumerate(x.shape):
            if max(before[axis], after[axis]) > length:
                x = _around(x, axis, before[axis], after[axis])
                others = [place != axis for place in range(x.ndim)]
                before, after = _where(others, before), _where(others, after)
    shared = mode == "reflect"  # the outermost element stands once
    units = [length - shared for length in x.shape]
    nothing = (0,) * x.ndim
    if mode == "edge" or all(map(le, (*before, *after), (*units, *units))):
        return _step(x, before, after, mode) if any(before) or any(after) else x
    # Each step mirrors whole units, so that the new end is again one that a mirror may stand at.
    while any(after):
        high = tuple(map(min, after, _whole_units(x, units, shared)))
        x, after = _step(x, nothing, high, mode), tuple(map(sub, after, high))
    while any(before):
        low = tuple(map(min, before, _whole_units(x, units, shared)))
        x, before = _step(x, low, nothing, mode), tuple(map(sub, before, low))
    return x


def _whole_units(x: Tensor[Any], units: Sequence[int], shared: bool) -> list[int]:
    """How far each axis of `x` reaches in units of what was mirrored first."""
    return [
        (length - shared) // unit * unit if unit > 0 else 0
        for length, unit in zip(x.shape, units, strict=True)
    ]


def _step(x: Tensor[K], before: Ends, after: Ends, mode: Continuation) -> Tensor[K]:
    return apply("pad", x, mode=mode, before=before, after=after)


def _where(chosen: Sequence[bool], widths: Ends) -> Ends:
    return tuple([width if one else 0 for one, width in zip(chosen, widths, strict=True)])


def _around(x: Tensor[K], axis: int, low: int, high: int) -> Tensor[K]:
    """Wrapped around an axis more than once."""
    length = x.shape[axis]
    turns, more_turns = -(-low // length), -(-high // length)
    many = tiled(x, axis, turns + 1 + more_turns)
    return many.narrow(axis, turns * length - low, low + length + high)
