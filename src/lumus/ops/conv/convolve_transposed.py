"""What conv_transpose1d, 2d and 3d share: arguments checked, sizes computed, batches of one."""

from __future__ import annotations

from functools import lru_cache

from lumus.core.argument import check_tensors
from lumus.core.broadcast import Shape
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.conv.convolution import run
from lumus.ops.conv.geometry import (
    ConvolutionAttrs,
    Sizes,
    check_channels,
    check_reach,
    extents,
    numbers,
    positive,
)


def convolve_transposed(
    op: str,
    rank: int,
    x: Tensor[Float],
    weight: Tensor[Float],
    bias: Tensor[Float] | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Tensor[Float]:
    """The transposed convolution over `rank` spatial axes; x may lack the batch axis."""
    check_tensors(op, x, weight, *(() if bias is None else (bias,)))
    batched = x if x.ndim != rank + 1 else x.expand_dims(0)
    attrs = geometry(
        op,
        rank,
        batched.shape,
        weight.shape,
        None if bias is None else bias.shape,
        numbers(op, "stride", stride, rank, 1),
        numbers(op, "padding", padding, rank, 0),
        numbers(op, "output_padding", output_padding, rank, 0),
        numbers(op, "dilation", dilation, rank, 1),
        positive(op, "groups", groups),
    )
    others = (weight,) if bias is None else (weight, bias)
    y = run("convolution_transpose", attrs, attrs.size, batched, *others)
    return y if batched is x else y.squeeze(0)


@lru_cache(maxsize=4096)
def geometry(
    op: str,
    rank: int,
    x: Shape,
    weight: Shape,
    bias: Shape | None,
    stride: Shape,
    padding: Shape,
    output_padding: Shape,
    dilation: Shape,
    groups: int,
) -> ConvolutionAttrs:
    """The static arguments for these shapes; raises when they do not fit."""
    check_channels(op, x, weight, bias, rank, groups, transposed=True)
    for more, step, spread in zip(output_padding, stride, dilation, strict=True):
        if more >= max(step, spread):
            raise ArgumentError(
                f"{op}: output_padding must be less than stride or dilation, got {output_padding} "
                f"with stride {stride} and dilation {dilation}",
                op=op,
            )
    spread_over = tuple(
        (size - 1) * step + reach if size else 0
        for size, step, reach in zip(x[2:], stride, extents(weight[2:], dilation), strict=True)
    )
    check_reach(op, spread_over)
    size = tuple(
        reach - 2 * cut + more
        for reach, cut, more in zip(spread_over, padding, output_padding, strict=True)
    )
    if any(one < 1 for one in size):
        raise ShapeError(
            f"{op}: the result would have {size} positions: x of shape {x} and a weight of shape "
            f"{weight} spread over {spread_over}, of which padding {padding} is taken off at both "
            "ends",
            op=op,
            shapes=(x, weight),
        )
    return ConvolutionAttrs(stride, padding, dilation, groups, size)
