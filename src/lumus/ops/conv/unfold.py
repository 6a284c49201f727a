"""unfold: what each window of a picture sees, as columns of a matrix (im2col)."""

from __future__ import annotations

import math
from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.broadcast import Shape
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.convolution import Im2col as Im2colKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.conv.geometry import Sizes, numbers, positions


@frozen
class ColumnAttrs:
    """The windows, and the spatial size of the picture that they lie on."""

    taps: Shape
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    positions: Shape
    size: Shape


@record
class Im2colRecord(Record):
    """d unfold(x) = fold(grad)."""

    attrs: ColumnAttrs
    by_signature = True

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (run("col2im", self.attrs, grad),)


def run(op: str, attrs: ColumnAttrs, x: Tensor[Float]) -> Tensor[Float]:
    """im2col or col2im with these windows."""
    result: Tensor[Float] = apply(
        op,
        x,
        taps=attrs.taps,
        stride=attrs.stride,
        padding=attrs.padding,
        dilation=attrs.dilation,
        positions=attrs.positions,
        size=attrs.size,
    )
    return result


@register
class Im2col(Op):
    """Of (n, c, height, width): (n, c * taps, positions)."""

    name = "im2col"
    attrs = ColumnAttrs

    def infer(self, specs: Specs, attrs: ColumnAttrs) -> Spec:
        if specs[0].dtype.kind != "float":
            raise kind_error("unfold", specs[0].dtype, ("float",))
        batch, channels = specs[0].shape[:2]
        rows, columns = channels * math.prod(attrs.taps), math.prod(attrs.positions)
        return specs[0].with_shape((batch, rows, columns))

    def kernel(self, specs: Specs, attrs: ColumnAttrs) -> Kernel:
        return Im2colKernel(
            attrs.taps, attrs.stride, attrs.padding, attrs.dilation, attrs.positions
        )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ColumnAttrs, needs: Needs
    ) -> Record:
        return Im2colRecord(attrs)


def windows(
    op: str,
    size: Shape,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> ColumnAttrs:
    """The windows that fit on a picture of this size; raises ShapeError when none does."""
    taps = numbers(op, "kernel_size", kernel_size, 2, 1)
    steps = numbers(op, "stride", stride, 2, 1)
    zeros = numbers(op, "padding", padding, 2, 0)
    spread = numbers(op, "dilation", dilation, 2, 1)
    places = positions(op, size, taps, (steps, zeros, zeros, spread))
    return ColumnAttrs(taps, steps, zeros, spread, places, size)


def unfold(
    x: Tensor[Float],
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor[Float]:
    """What each window of x sees as a column: a convolution is a matrix product with it.

    Row ``(c * kernel_height + i) * kernel_width + j`` of the result holds channel c at tap (i, j);
    columns are windows in row-major order. Outside of x there are zeros.

    **Shapes.** `x` ([batch,] channels, height, width) gives ([batch,] channels * kernel_height *
    kernel_width, windows).
    **Kinds.** Float.
    **Gradient.** `fold` of grad.
    **Raises.** ShapeError for an x of another rank or too small for a window, ArgumentError for
    numbers out of range, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x = lm.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    >>> lm.nn.functional.unfold(x, (2, 2)).tolist()
    [[1.0, 2.0], [2.0, 3.0], [4.0, 5.0], [5.0, 6.0]]
    """
    check_tensors("unfold", x)
    if x.ndim not in (3, 4):
        raise ShapeError(
            f"unfold: needs x of 3 or 4 axes ([batch,] channels, height, width), got {x.shape}",
            op="unfold",
        )
    batched = x if x.ndim == 4 else x.expand_dims(0)
    attrs = windows("unfold", batched.shape[2:], kernel_size, dilation, padding, stride)
    y = run("im2col", attrs, batched)
    return y if batched is x else y.squeeze(0)
