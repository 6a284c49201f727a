"""concat: tensors one after the other along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lumus.core.broadcast import normalize_axis
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Concat as ConcatKernel
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError


@frozen
class ConcatAttrs:
    """The axis, counted from the front."""

    axis: int


@record
class ConcatRecord(Record):
    """d concat(x_0, x_1, ...) / dx_i = the part of grad where x_i stands."""

    by_signature = True

    axis: int
    lengths: tuple[int, ...]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        grads: list[Tensor[Float] | None] = []
        start = 0
        for length, needed in zip(self.lengths, self.needs, strict=True):
            grads.append(grad.narrow(self.axis, start, length) if needed else None)
            start += length
        return tuple(grads)


def _check_fits(first: Spec, other: Spec, axis: int) -> None:
    if other.ndim != first.ndim:
        what = f"differ in their number of axes, {first.ndim} and {other.ndim}"
    else:
        differing = [
            place
            for place, (one, two) in enumerate(zip(first.shape, other.shape, strict=True))
            if one != two and place != axis
        ]
        if not differing:
            return
        what = f"differ on axis {differing[0]}; only axis {axis} may differ"
    raise ShapeError(
        f"concat: shapes {first.shape} and {other.shape} {what}",
        op="concat",
        specs=(first, other),
        axis=axis,
    )


@register
class Concat(Op):
    name = "concat"
    attrs = ConcatAttrs

    def infer(self, specs: Specs, attrs: ConcatAttrs) -> Spec:
        first, axis = specs[0], attrs.axis
        for spec in specs[1:]:
            promote(first.dtype, spec.dtype, "concat")
            _check_fits(first, spec, axis)
        shape = list(first.shape)
        shape[axis] = sum(spec.shape[axis] for spec in specs)
        return first.with_shape(tuple(shape))

    def kernel(self, specs: Specs, attrs: ConcatAttrs) -> Kernel:
        return ConcatKernel(attrs.axis)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ConcatAttrs, needs: Needs
    ) -> Record:
        return ConcatRecord(attrs.axis, tuple(one.shape[attrs.axis] for one in inputs), needs)


def several_tensors(op: str, tensors: Iterable[Tensor[K]]) -> list[Tensor[K]]:
    """A list, from any iterable but a tensor itself.

    Raises ArgumentError for no tensors, or something else among them.
    """
    if not isinstance(tensors, Iterable) or isinstance(tensors, Tensor):
        raise ArgumentError(
            f"{op}: expected a list of tensors, got {type(tensors).__name__}", op=op
        )
    listed = list(tensors)
    if not listed:
        raise ArgumentError(f"{op}: needs at least one tensor, got none", op=op)
    for place, one in enumerate(listed):
        if not isinstance(one, Tensor):
            raise ArgumentError(
                f"{op}: operand {place} is {type(one).__name__}, not a tensor",
                hint="make it one with lumus.tensor(...)",
                op=op,
            )
    return listed


def concat(tensors: Sequence[Tensor[K]], axis: int = 0) -> Tensor[K]:
    """The tensors one after the other along an axis that they have.

    **Shapes.** The same rank and, but for `axis`, the same lengths; a length of 0 is fine.
    **Kinds.** All of one kind; dtypes promote within it.
    **Gradient.** For each tensor the part of `grad` where it stands.
    **Raises.** ArgumentError for no tensors or an axis out of range, ShapeError for shapes that do
    not fit, KindError for mixed kinds.

    >>> import lumus as lm
    >>> lm.concat([lm.tensor([1, 2]), lm.tensor([3])]).tolist()
    [1, 2, 3]
    """
    parts = several_tensors("concat", tensors)
    axis = normalize_axis("concat", axis, parts[0].ndim)
    dtype = parts[0].dtype
    for one in parts[1:]:
        dtype = promote(dtype, one.dtype, "concat")
    return apply("concat", *[one.astype(dtype) for one in parts], axis=axis)
