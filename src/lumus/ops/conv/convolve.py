"""What conv1d, conv2d and conv3d share: arguments checked, sizes computed, batches of one."""

from __future__ import annotations

from functools import lru_cache

from lumus.core.argument import check_tensors
from lumus.core.broadcast import Shape
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.ops.conv.convolution import run
from lumus.ops.conv.geometry import (
    ConvolutionAttrs,
    Padding,
    Sizes,
    check_channels,
    numbers,
    paddings,
    positions,
    positive,
)


def convolve(
    op: str,
    rank: int,
    x: Tensor[Float],
    weight: Tensor[Float],
    bias: Tensor[Float] | None,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: int,
) -> Tensor[Float]:
    """The convolution over `rank` spatial axes; an x without a batch axis is a batch of one."""
    check_tensors(op, x, weight, *(() if bias is None else (bias,)))
    batched = x if x.ndim != rank + 1 else x.expand_dims(0)
    attrs = geometry(
        op,
        rank,
        batched.shape,
        weight.shape,
        None if bias is None else bias.shape,
        numbers(op, "stride", stride, rank, 1),
        padding if isinstance(padding, str) else numbers(op, "padding", padding, rank, 0),
        numbers(op, "dilation", dilation, rank, 1),
        positive(op, "groups", groups),
    )
    others = (weight,) if bias is None else (weight, bias)
    y = run("convolution", attrs, attrs.size, batched, *others)
    return y if batched is x else y.squeeze(0)


@lru_cache(maxsize=4096)
def geometry(
    op: str,
    rank: int,
    x: Shape,
    weight: Shape,
    bias: Shape | None,
    stride: Shape,
    padding: str | Shape,
    dilation: Shape,
    groups: int,
) -> ConvolutionAttrs:
    """The static arguments for these shapes; raises ShapeError when they do not fit."""
    check_channels(op, x, weight, bias, rank, groups, transposed=False)
    taps = weight[2:]
    front, behind = paddings(op, padding, taps, stride, dilation)
    size = positions(op, x[2:], taps, (stride, front, behind, dilation))
    return ConvolutionAttrs(stride, front, dilation, groups, size)
