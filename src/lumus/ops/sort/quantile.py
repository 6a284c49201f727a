"""quantile: the values below which given fractions of the elements lie, over axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from lumus.core.argument import axes_of, finite
from lumus.core.broadcast import listed, reduced_shape
from lumus.core.composite import composite
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Axes, Tensor
from lumus.errors import ArgumentError
from lumus.ops.create.tensor import tensor
from lumus.ops.elementwise.lerp import lerp
from lumus.ops.elementwise.where import where
from lumus.ops.reduce.axes import check_not_empty, count_of

Method = Literal[
    "linear", "lower", "higher", "nearest", "midpoint",
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
]  # fmt: skip


def _place(alpha: float, beta: float) -> Callable[[int, float], float]:
    """Between the places (k - alpha) / (n + 1 - alpha - beta) of the elements k = 1 ... n."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _averaged(n: int, q: float) -> float:
    place = n * q - 1
    return place + 0.5 if place == math.floor(place) else math.ceil(place)


def _closest(n: int, q: float) -> float:
    # As near to two elements it is the one that stands in an even place, counted from 1.
    below = math.floor(n * q - 1.5)
    return below if below == n * q - 1.5 and below % 2 == 1 else below + 1


# Where quantile q stands among n ordered elements, counted from 0; between two of them where it is
# no whole number. The last nine are those of Hyndman and Fan, Sample quantiles in statistical
# packages (1996).
_PLACES: dict[str, Callable[[int, float], float]] = {
    "linear": lambda n, q: (n - 1) * q,
    "lower": lambda n, q: math.floor((n - 1) * q),
    "higher": lambda n, q: math.ceil((n - 1) * q),
    "nearest": lambda n, q: round((n - 1) * q),
    "midpoint": lambda n, q: (math.floor((n - 1) * q) + math.ceil((n - 1) * q)) / 2,
    "inverted_cdf": lambda n, q: math.ceil(n * q - 1),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _place(0, 1),
    "hazen": _place(1 / 2, 1 / 2),
    "weibull": _place(0, 0),
    "median_unbiased": _place(1 / 3, 1 / 3),
    "normal_unbiased": _place(3 / 8, 3 / 8),
}


@composite("quantile")
def quantile(
    x: Tensor[Float],
    q: float | Sequence[float],
    axis: Axes = None,
    *,
    keepdims: bool = False,
    method: Method = "linear",
) -> Tensor[Float]:
    """The value below which the fraction `q` of the elements over `axis` lies.

    Between two elements it is interpolated by `method`: "linear", "lower", "higher", "nearest" (the
    even place of two as near), "midpoint", or one of those of Hyndman and Fan, by NumPy's names.
    NaN if any element is.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`; several `q` stand on an axis in front.
    **Kinds.** Float.
    **Gradient.** `grad`, shared between the two elements by their weights.
    **Raises.** ArgumentError for a `q` outside [0, 1], another method, or an axis out of range or
    named twice; KindError for Int and Bool, ShapeError for a quantile of nothing.

    >>> import lumus as lm
    >>> lm.quantile(lm.tensor([4.0, 1.0, 3.0, 2.0]), [0.0, 0.5, 0.75]).tolist()
    [1.0, 2.5, 3.25]
    """
    return quantile_of("quantile", x, q, axis, keepdims=keepdims, method=method)


def quantile_of(
    op: str,
    x: Tensor[Float],
    q: float | Sequence[float],
    axis: Axes,
    *,
    keepdims: bool,
    method: Method = "linear",
) -> Tensor[Float]:
    """`quantile`, whose errors name `op`."""
    axes = axes_of(op, x, axis)
    if x.dtype.kind != "float":
        raise kind_error(op, x.dtype, ("float",))
    given = listed(q)
    fractions = [_fraction(op, one) for one in given]
    if method not in _PLACES:
        known = ", ".join(map(repr, _PLACES))
        raise ArgumentError(f"{op}: method must be one of {known}, got {method!r}", op=op)
    check_not_empty(op, x.shape, axes)
    count = count_of(x.shape, axes)
    places = [min(max(_PLACES[method](count, one), 0), count - 1) for one in fractions]
    wide = x.astype(float32) if is_half(x.dtype) else x
    values = _at_places(_ordered(wide, axes), places).astype(x.dtype)
    shape = reduced_shape(x.shape, axes, keepdims)
    if given is not q:  # a single one
        return values.reshape(shape)
    last = values.ndim - 1
    return values.permute_dims(last, *range(last)).reshape(len(places), *shape)


def _fraction(op: str, q: float) -> float:
    value = finite(op, "q", q)
    if not 0 <= value <= 1:
        raise ArgumentError(f"{op}: q must be in [0, 1], got {value}", op=op)
    return value


def _ordered(x: Tensor[Float], axes: tuple[int, ...]) -> Tensor[Float]:
    """The elements over the axes in order, along a last axis; all NaN if one is."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    lines = x.permute_dims(*kept, *axes)
    count = count_of(x.shape, axes)
    return lines.reshape(*[x.shape[axis] for axis in kept], count).sort(axis=-1)


def _at_places(ordered: Tensor[Float], places: list[float]) -> Tensor[Float]:
    """The values at the places along the last axis."""
    axis, count = ordered.ndim - 1, ordered.shape[-1]
    below = [math.floor(place) for place in places]
    weights = [place - one for place, one in zip(places, below, strict=True)]
    values = _taken(ordered, below)
    if any(weights):
        above = [one + 1 if weight else one for one, weight in zip(below, weights, strict=True)]
        weight = tensor(weights, dtype=ordered.dtype, device=ordered.device)
        values = lerp(values, _taken(ordered, above), weight)
    greatest = ordered.narrow(axis, count - 1, 1)
    return where(greatest.isnan(), greatest, values)


def _taken(ordered: Tensor[Float], places: list[int]) -> Tensor[Float]:
    if len(places) == 1:
        return ordered.narrow(ordered.ndim - 1, places[0], 1)
    return ordered.take(places, axis=-1)
