"""pixel_shuffle, pixel_unshuffle: channels laid out as blocks of pixels, and back."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer
from lumus.core.kinds import K
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError


def pixel_shuffle(x: Tensor[K], upscale_factor: int) -> Tensor[K]:
    """Each group of r * r channels laid out as blocks of r by r pixels.

    ``y[c, h * r + i, w * r + j] = x[c * r * r + i * r + j, h, w]`` with r the factor (Shi et al.
    2016).

    **Shapes.** (..., C * r * r, H, W) gives (..., C, H * r, W * r).
    **Kinds.** Any.
    **Gradient.** `grad`, brought back.
    **Raises.** ShapeError for channels that do not divide, ArgumentError for a factor below 1.

    >>> import lumus as lm
    >>> lm.nn.functional.pixel_shuffle(lm.arange(4).reshape(4, 1, 1), 2).tolist()
    [[[0, 1], [2, 3]]]
    """
    r = _factor("pixel_shuffle", "upscale_factor", x, upscale_factor)
    *leading, channels, height, width = x.shape
    if channels % (r * r):
        raise ShapeError(
            f"pixel_shuffle: {channels} channels do not divide into groups of {r} * {r}, shape "
            f"{x.shape}",
            op="pixel_shuffle",
        )
    blocks = x.reshape((*leading, channels // (r * r), r, r, height, width))
    return _permuted(blocks, (0, 3, 1, 4, 2)).reshape(
        (*leading, channels // (r * r), height * r, width * r)
    )


def pixel_unshuffle(x: Tensor[K], downscale_factor: int) -> Tensor[K]:
    """Blocks of r by r pixels laid out as r * r channels: what undoes `pixel_shuffle`.

    ``y[c * r * r + i * r + j, h, w] = x[c, h * r + i, w * r + j]`` with r the factor.

    **Shapes.** (..., C, H * r, W * r) gives (..., C * r * r, H, W).
    **Kinds.** Any.
    **Gradient.** `grad`, brought back.
    **Raises.** ShapeError for lengths that do not divide, ArgumentError for a factor below 1.

    >>> import lumus as lm
    >>> lm.nn.functional.pixel_unshuffle(lm.arange(4).reshape(1, 2, 2), 2).tolist()
    [[[0]], [[1]], [[2]], [[3]]]
    """
    r = _factor("pixel_unshuffle", "downscale_factor", x, downscale_factor)
    *leading, channels, height, width = x.shape
    if height % r or width % r:
        raise ShapeError(
            f"pixel_unshuffle: {height} by {width} pixels do not divide into blocks of {r} by {r}, "
            f"shape {x.shape}",
            op="pixel_unshuffle",
        )
    blocks = x.reshape((*leading, channels, height // r, r, width // r, r))
    return _permuted(blocks, (0, 2, 4, 1, 3)).reshape(
        (*leading, channels * r * r, height // r, width // r)
    )


def _factor(op: str, name: str, x: Any, factor: Any) -> int:
    check_tensors(op, x)
    if x.ndim < 3:
        raise ShapeError(f"{op}: needs a tensor (..., C, H, W), got shape {x.shape}", op=op)
    number = integer(op, name, factor)
    if number < 1:
        raise ArgumentError(f"{op}: {name} must be at least 1, got {number}", op=op)
    return number


def _permuted(x: Tensor[K], order: tuple[int, ...]) -> Tensor[K]:
    """The last axes in another order."""
    leading = x.ndim - len(order)
    return x.permute_dims((*range(leading), *(leading + axis for axis in order)))
