"""interpolate: pictures (or lines, or volumes) brought to another size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from lumus.core.argument import check_tensors, finite, flag
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.resampling import ResampleAxis, ResampleMode
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.pool.resample import resampled
from lumus.ops.pool.windows import per_axis

InterpolateMode = Literal[
    "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"
]

# The kernel of each mode, and how many axes it is for; 0: any of one to three.
_MODES: dict[str, tuple[ResampleMode, int]] = {
    "nearest": ("nearest", 0),
    "nearest-exact": ("nearest-exact", 0),
    "area": ("mean", 0),
    "linear": ("linear", 1),
    "bilinear": ("linear", 2),
    "trilinear": ("linear", 3),
    "bicubic": ("cubic", 2),
}


def interpolate(
    x: Tensor[Float],
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: InterpolateMode = "nearest",
    align_corners: bool | None = None,
    antialias: bool = False,
) -> Tensor[Float]:
    """`x` brought to another size along all axes but the first two.

    Either to `size`, or to ``floor(length * scale_factor)``. An output lies between elements at
    ``(o + 1/2) * step - 1/2``, where the step is ``length / size``, or ``1 / scale_factor`` if that
    was given; with ``align_corners`` the outermost elements are at the outermost outputs. Beyond
    the ends the outermost elements continue.

    ``nearest`` takes element ``floor(o * step)``, ``nearest-exact`` the one nearest to the output;
    ``linear``, ``bilinear`` and ``trilinear`` (for one, two and three axes) weigh neighbours by
    their distance; ``bicubic`` fits cubics (Keys 1981, with the slope -0.75); ``area`` averages, as
    `adaptive_avg_pool2d` does. Where pictures shrink, ``antialias`` makes ``bilinear`` and
    ``bicubic`` (then with the slope -0.5) weigh all elements between outputs.

    **Shapes.** (N, C, ...) with one to three further axes, which alone change.
    **Kinds.** Float; half types add up in float32.
    **Gradient.** `grad`, added with its weights to the elements that each output is made of.
    **Raises.** ArgumentError for sizes below 1, both or none of the two ways to give them, a mode
    that is not for as many axes, and `align_corners` or `antialias` where they have no meaning;
    ShapeError; KindError for Int and Bool.

    >>> import lumus as lm
    >>> x = lm.tensor([[[0.0, 2.0]]])
    >>> lm.nn.functional.interpolate(x, scale_factor=2, mode="linear").tolist()
    [[[0.0, 0.5, 1.5, 2.0]]]
    """
    kernel, num_axes = _checked(x, mode)
    aligned = _aligned(mode, kernel, align_corners)
    antialias = flag("interpolate", "antialias", antialias)
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(f"interpolate: antialias has no meaning for {mode!r}")
    lengths = x.shape[2:]
    sizes, scales = _sizes(lengths, size, scale_factor, num_axes)
    axes = tuple(
        _axis(length, count, kernel, scale, aligned, antialias)
        for length, count, scale in zip(lengths, sizes, scales, strict=True)
    )
    return resampled(x, axes)


def _checked(x: Any, mode: str) -> tuple[ResampleMode, int]:
    """The kernel of the mode, and how many axes of `x` it is for."""
    check_tensors("interpolate", x)
    if x.dtype.kind != "float":
        raise kind_error("interpolate", x.dtype, ("float",))
    if not isinstance(mode, str) or mode not in _MODES:
        raise ArgumentError(
            f"interpolate: mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}"
        )
    kernel, wanted = _MODES[mode]
    num_axes = x.ndim - 2
    if not 1 <= num_axes <= 3:
        raise ShapeError(
            f"interpolate: needs a tensor (N, C, ...) with one to three further axes, got shape "
            f"{x.shape}",
            hint="an input without a batch: x.expand_dims(0)",
        )
    if wanted not in (0, num_axes):
        fitting = [name for name, (_, axes) in _MODES.items() if axes in (0, num_axes)]
        raise ArgumentError(
            f"interpolate: {mode!r} is for {wanted + 2} axes, got shape {x.shape}",
            hint=f"modes for it: {', '.join(map(repr, fitting))}",
        )
    if 0 in x.shape[2:]:
        raise ShapeError(f"interpolate: there is nothing to interpolate in shape {x.shape}")
    return kernel, num_axes


def _aligned(mode: str, kernel: ResampleMode, align_corners: bool | None) -> bool:
    if align_corners is None:
        return False
    if kernel not in ("linear", "cubic"):
        raise ArgumentError(f"interpolate: align_corners has no meaning for {mode!r}")
    return flag("interpolate", "align_corners", align_corners)


def _sizes(
    lengths: tuple[int, ...], size: Any, scale_factor: Any, num_axes: int
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The new lengths, and the scales if they were given."""
    if (size is None) == (scale_factor is None):
        what = "both" if size is not None else "none"
        raise ArgumentError(f"interpolate: give either size or scale_factor, got {what}")
    if size is not None:
        return per_axis("interpolate", "size", size, num_axes, 1), (None,) * num_axes
    is_list = isinstance(scale_factor, Sequence) and not isinstance(scale_factor, str)
    given = tuple(scale_factor) if is_list else (scale_factor,) * num_axes
    if len(given) != num_axes:
        raise ArgumentError(
            f"interpolate: scale_factor must be one number or {num_axes}, got {given}"
        )
    scales = tuple(finite("interpolate", "scale_factor", one) for one in given)
    sizes = tuple(
        math.floor(length * scale) if scale > 0 else 0
        for length, scale in zip(lengths, scales, strict=True)
    )
    if min(sizes) < 1:
        raise ArgumentError(f"interpolate: scale_factor {scale_factor} leaves nothing of {lengths}")
    return sizes, scales


@lru_cache(1 << 12)
def _axis(
    length: int,
    count: int,
    kernel: ResampleMode,
    scale: float | None,
    aligned: bool,
    antialias: bool,
) -> ResampleAxis:
    if kernel == "mean" or scale is None:
        step = Fraction(length, count)
    else:
        step = 1 / Fraction(scale)
    if aligned:
        step = Fraction(length - 1, count - 1) if count > 1 else Fraction(0)
    parts = (step.numerator, step.denominator)
    return ResampleAxis(length, count, kernel, parts, aligned, antialias)
