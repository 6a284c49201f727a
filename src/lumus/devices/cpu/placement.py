"""Kernels that bring elements elsewhere along axes, as copies and sums of blocks.

A block is a slice of the result and the slice of the input that it comes from, with the axes of the
latter in the order of the former. The blocks together pass over memory once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from lumus import _native
from lumus.core import kernels as k
from lumus.core.broadcast import Shape
from lumus.core.dtypes import float32, is_half
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.devices.cpu.eager import Builder, Specs, StepMaker, eager
from lumus.devices.cpu.program import native_program
from lumus.devices.pieces import pieces_of

Slice = tuple[Shape, Shape, Shape]
Block = tuple[Slice, Slice, Shape]

_ADD = expression(lambda x, y: x + y)


@frozen
class Segment:
    """`size` elements of a result's axis, and where they come from: `source`, and on by `step`.

    With step 0 all of them come from that one.
    """

    target: int
    source: int
    size: int
    step: int = 1


def _blocks(axes: Sequence[Sequence[Segment]]) -> list[Block]:
    """The arguments of `slice` for the result and for the input, for each block."""
    found: list[Block] = []
    for block in product(*axes):
        target = (
            tuple(one.target for one in block),
            tuple(one.size for one in block),
            (1,) * len(block),
        )
        source = (
            tuple(one.source for one in block),
            tuple(one.size if one.step else 1 for one in block),
            tuple(one.step or 1 for one in block),
        )
        found.append((target, source, tuple(range(len(block)))))
    return found


def _roll(kernel: k.Roll, inputs: Specs, outputs: Specs) -> _native.Step:
    axes = []
    for shift, length in zip(kernel.shifts, inputs[0].shape, strict=True):
        parts = (Segment(0, length - shift, shift), Segment(shift, 0, length - shift))
        axes.append([part for part in parts if part.size] or [Segment(0, 0, 0)])
    return _native.copy_blocks_step(_blocks(axes))


_BEYOND: dict[k.Continuation, Callable[[int, int, int], tuple[Segment, Segment]]] = {
    "edge": lambda n, low, high: (Segment(0, 0, low, 0), Segment(low + n, n - 1, high, 0)),
    "reflect": lambda n, low, high: (Segment(0, low, low, -1), Segment(low + n, n - 2, high, -1)),
    "symmetric": lambda n, low, high: (
        Segment(0, low - 1, low, -1),
        Segment(low + n, n - 1, high, -1),
    ),
    "wrap": lambda n, low, high: (Segment(0, n - low, low), Segment(low + n, 0, high)),
}


def _continued(kernel: k.Pad | k.PadGrad, shape: Shape) -> Iterator[list[Segment]]:
    """For each axis the tensor itself, then what continues it before and after."""
    for length, low, high in zip(shape, kernel.before, kernel.after, strict=True):
        beyond = _BEYOND[kernel.mode](length, low, high)
        yield [Segment(low, 0, length), *(one for one in beyond if one.size)]


def _pad(kernel: k.Pad, inputs: Specs, outputs: Specs) -> _native.Step:
    return _native.copy_blocks_step(_blocks(list(_continued(kernel, inputs[0].shape))))


def _adding(spec: Spec) -> _native.Program:
    """Addition in the dtype that sums are kept in: float32 for half types."""
    wide = spec.with_dtype(float32) if is_half(spec.dtype) else spec
    return native_program(_ADD, (wide, wide), (wide,))


def _pad_grad(kernel: k.PadGrad, inputs: Specs, outputs: Specs) -> _native.Step:
    blocks = _blocks(list(_continued(kernel, outputs[0].shape)))
    turned = [(source, target, axes) for target, source, axes in blocks]
    return _native.add_blocks_step(_adding(outputs[0]), turned, True)


def _windows_grad(kernel: k.WindowsGrad, inputs: Specs, outputs: Specs) -> _native.Step:
    """Adds up place by place, or window by window, whichever are fewer."""
    shape, axis, rank = outputs[0].shape, kernel.axis, outputs[0].ndim
    count, size = inputs[0].shape[axis], inputs[0].shape[-1]
    by_place = size <= count
    # Place by place the windows stay where they are; window by window the last axis takes over.
    taken = rank if by_place else axis
    order = tuple(range(rank))
    if not by_place:
        order = (*range(axis), rank, *range(axis + 1, rank))
    blocks: list[Block] = []
    for index in range(size if by_place else count):
        starts, sizes, steps = [0] * rank, list(shape), [1] * rank
        starts[axis] = index if by_place else index * kernel.step
        sizes[axis] = count if by_place else size
        steps[axis] = kernel.step if by_place and count > 1 else 1
        place, lengths = [0] * (rank + 1), list(inputs[0].shape)
        place[taken], lengths[taken] = index, 1
        part = (tuple(place), tuple(lengths), (1,) * (rank + 1))
        blocks.append(((tuple(starts), tuple(sizes), tuple(steps)), part, order))
    return _native.add_blocks_step(_adding(outputs[0]), blocks, False)


STEPS: dict[type[Kernel], StepMaker] = {
    k.Pad: _pad,
    k.PadGrad: _pad_grad,
    k.Pieces: lambda kernel, i, o: _native.pieces_step(kernel.axis, kernel.sizes, kernel.keepdims),
    k.Roll: _roll,
    k.WindowsGrad: _windows_grad,
}

TABLE: dict[type[Kernel], Builder] = {
    **{kernel: eager(maker) for kernel, maker in STEPS.items()},
    k.Pieces: lambda kernel, inputs, outputs: pieces_of(kernel, inputs[0].shape),
    k.Windows: lambda kernel, i, o: lambda x: x.windows(kernel.axis, kernel.size, kernel.step),
}
