"""Kernels that bring elements elsewhere along axes, as copies and sums of blocks.

A block is a slice of the result and the slice of the input that it comes from. Each is one native
copy (or addition), so the blocks together pass over memory once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from lumus import _native
from lumus.core import kernels_shape as k
from lumus.core.broadcast import Shape
from lumus.core.device import Run
from lumus.core.dtypes import float32, is_half
from lumus.core.frozen import frozen
from lumus.core.kernels import Kernel
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.devices.cpu.program import native_program
from lumus.devices.pieces import pieces_of

Specs = tuple[Spec, ...]

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


def _blocks(axes: Sequence[Sequence[Segment]]) -> list[tuple[Any, Any]]:
    """The arguments of `slice` for the result and for the input, for each block."""
    found = []
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
        found.append((target, source))
    return found


def _copied(shape: Shape, code: int, axes: Sequence[Sequence[Segment]]) -> Run:
    """Copies each block of the input to its place in the result, which they fill."""
    blocks = _blocks(axes)

    def run(x: Any) -> Any:
        result = _native.empty(code, shape)
        for target, source in blocks:
            _native.copy_into(result.slice(*target), x.slice(*source))
        return result

    return run


def _roll(kernel: k.Roll, inputs: Specs, outputs: Specs) -> Run:
    axes = []
    for shift, length in zip(kernel.shifts, inputs[0].shape, strict=True):
        parts = (Segment(0, length - shift, shift), Segment(shift, 0, length - shift))
        axes.append([part for part in parts if part.size] or [Segment(0, 0, 0)])
    return _copied(outputs[0].shape, outputs[0].dtype.code, axes)


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


def _pad(kernel: k.Pad, inputs: Specs, outputs: Specs) -> Run:
    return _copied(
        outputs[0].shape, outputs[0].dtype.code, list(_continued(kernel, inputs[0].shape))
    )


def _summing(inputs: Specs, outputs: Specs, run: Callable[[Any, Any], Any]) -> Run:
    """`run(grad, add_into)` in the dtype that sums are kept in: float32 for half types."""
    spec = outputs[0]
    wide = spec.with_dtype(float32) if is_half(spec.dtype) else spec
    add = native_program(_ADD, (wide, wide), (wide,)).run_into

    def add_into(target: Any, part: Any) -> None:
        add([target], [target, part])

    if wide is spec:
        return lambda grad: run(grad, add_into)
    code, wide_code = spec.dtype.code, wide.dtype.code
    return lambda grad: _native.cast(run(_native.cast(grad, wide_code), add_into), code)


def _pad_grad(kernel: k.PadGrad, inputs: Specs, outputs: Specs) -> Run:
    shape, rank = outputs[0].shape, outputs[0].ndim
    dtype = float32 if is_half(outputs[0].dtype) else outputs[0].dtype
    (itself, _), *others = _blocks(list(_continued(kernel, shape)))
    sums = []
    for target, source in others:
        repeated = tuple(axis for axis in range(rank) if source[1][axis] != target[1][axis])
        total = _native.Reduction("sum", None, dtype.code, dtype.code, repeated, rank, True).run1
        sums.append((target, source, total if repeated else None))

    def run(grad: Any, add_into: Any) -> Any:
        result = _native.copy(grad.slice(*itself))
        for target, source, total in sums:
            part = grad.slice(*target)
            add_into(result.slice(*source), part if total is None else total(part))
        return result

    return _summing(inputs, outputs, run)


def _windows_grad(kernel: k.WindowsGrad, inputs: Specs, outputs: Specs) -> Run:
    """Adds up place by place, or window by window, whichever are fewer."""
    shape, axis = outputs[0].shape, kernel.axis
    dtype = float32 if is_half(outputs[0].dtype) else outputs[0].dtype
    count, size = inputs[0].shape[axis], inputs[0].shape[-1]
    by_place = size <= count
    rank = len(shape)
    parts = []
    for index in range(size if by_place else count):
        starts, sizes, steps = [0] * rank, list(shape), [1] * rank
        starts[axis] = index if by_place else index * kernel.step
        sizes[axis] = count if by_place else size
        steps[axis] = kernel.step if by_place and count > 1 else 1
        parts.append((tuple(starts), tuple(sizes), tuple(steps)))
    # Place by place the windows stay where they are; window by window the last axis takes over.
    taken = rank if by_place else axis
    order = (*range(axis), rank - 1, *range(axis, rank - 1))

    def run(grad: Any, add_into: Any) -> Any:
        result = _native.full(dtype.code, shape, 0)
        for index, target in enumerate(parts):
            place = [0] * (rank + 1)
            lengths = list(inputs[0].shape)
            place[taken], lengths[taken] = index, 1
            part = grad.slice(tuple(place), tuple(lengths), (1,) * (rank + 1))
            kept = (*lengths[:taken], *lengths[taken + 1 :])
            part = part.reshape_view(kept)
            add_into(result.slice(*target), part if by_place else part.permute(order))
        return result

    return _summing(inputs, outputs, run)


TABLE: dict[type[Kernel], Callable[[Any, Specs, Specs], Run]] = {
    k.Pieces: lambda kernel, inputs, outputs: pieces_of(kernel, inputs[0].shape),
    k.Pad: _pad,
    k.PadGrad: _pad_grad,
    k.Roll: _roll,
    k.Windows: lambda kernel, i, o: lambda x: x.windows(kernel.axis, kernel.size, kernel.step),
    k.WindowsGrad: _windows_grad,
}
