"""Pools and resampling: window by window and output by output, from the definitions."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import lumus as lm
from lumus.nn import functional
from lumus.testing.op_spec import Case, Domain, Edge, OpSpec, Source, rough

INF, NAN = math.inf, math.nan
Cells = list[tuple[int, int]]
"""(tap, element) of a window along one axis, the element outside the axis where it is padding."""


def per_axis(value: Any, num_axes: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,) * num_axes


def spaced(
    length: int, window: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> list[Cells]:
    """The windows of an axis: those that fit into the padded axis, and one that overhangs it."""
    found: list[Cells] = []
    begin = -padding
    while True:
        last = begin + (window - 1) * dilation
        if last >= length + padding:
            overhangs = ceil_mode and last - stride + 1 < length + padding
            # It must begin before the padding at the end.
            if not overhangs or begin >= length:
                return found
        found.append([(tap, begin + tap * dilation) for tap in range(window)])
        begin += stride


def divided(length: int, count: int) -> list[Cells]:
    return [
        [(tap, begin + tap) for tap in range(math.ceil((output + 1) * length / count) - begin)]
        for output in range(count)
        for begin in [math.floor(output * length / count)]
    ]


def pooled(x: Any, axes: Sequence[list[Cells]], value: Callable[[list[Any], Any], float]) -> Any:
    """`value` of the elements of each window and of all its cells, as tuples of elements."""
    num_axes = len(axes)
    leading, lengths = x.shape[: x.ndim - num_axes], x.shape[x.ndim - num_axes :]
    result = np.zeros((*leading, *map(len, axes)))
    for plane in np.ndindex(leading):
        for output in np.ndindex(*map(len, axes)):
            cells = [
                tuple(element for _, element in parts)
                for parts in itertools.product(
                    *(axis[place] for axis, place in zip(axes, output, strict=True))
                )
            ]
            inside = [
                float(x[plane][cell])
                for cell in cells
                if all(0 <= at < length for at, length in zip(cell, lengths, strict=True))
            ]
            result[plane + output] = value(inside, cells)
    return result


def maximum(inside: list[Any], cells: Any) -> float:
    return NAN if any(math.isnan(one) for one in inside) else max(inside)


def spaced_axes(x: Any, num_axes: int, kwargs: dict[str, Any]) -> list[list[Cells]]:
    window = per_axis(kwargs["kernel_size"], num_axes)
    stride = per_axis(kwargs.get("stride") or window, num_axes)
    padding = per_axis(kwargs.get("padding", 0), num_axes)
    dilation = per_axis(kwargs.get("dilation", 1), num_axes)
    return [
        spaced(*parts, kwargs.get("ceil_mode", False))
        for parts in zip(x.shape[-num_axes:], window, stride, padding, dilation, strict=True)
    ]


def max_pool(num_axes: int) -> Callable[..., Any]:
    return lambda x, **kwargs: pooled(x, spaced_axes(x, num_axes, kwargs), maximum)


def avg_pool(num_axes: int) -> Callable[..., Any]:
    def formula(
        x: Any, count_include_pad: bool = True, divisor_override: int | None = None, **kwargs: Any
    ) -> Any:
        padding = per_axis(kwargs.get("padding", 0), num_axes)
        ends = [length + pad for length, pad in zip(x.shape[-num_axes:], padding, strict=True)]

        def mean(inside: list[Any], cells: Any) -> float:
            counted = sum(
                all(at < end for at, end in zip(cell, ends, strict=True)) for cell in cells
            )
            divisor = divisor_override or (counted if count_include_pad else len(inside))
            return sum(inside) / divisor

        return pooled(x, spaced_axes(x, num_axes, kwargs), mean)

    return formula


def lp_pool(num_axes: int) -> Callable[..., Any]:
    def formula(x: Any, norm_type: float, **kwargs: Any) -> Any:
        return pooled(
            x,
            spaced_axes(x, num_axes, kwargs),
            lambda inside, cells: math.fsum(one**norm_type for one in inside) ** (1 / norm_type),
        )

    return formula


def adaptive(num_axes: int, value: Callable[[list[Any], Any], float]) -> Callable[..., Any]:
    def formula(x: Any, output_size: Any) -> Any:
        lengths = x.shape[-num_axes:]
        sizes = per_axis(output_size, num_axes)
        axes = [
            divided(length, length if size is None else size)
            for length, size in zip(lengths, sizes, strict=True)
        ]
        return pooled(x, axes, value)

    return formula


def mean_of(inside: list[Any], cells: Any) -> float:
    return sum(inside) / len(inside)


def calls(*listed: tuple[tuple[int, ...], dict[str, Any]]) -> Callable[[Source], Iterable[Case]]:
    """One case for each shape with its arguments."""

    def cases(source: Source) -> Iterable[Case]:
        for shape, kwargs in listed:
            yield Case(f"{shape}, {kwargs}", (source.draw(shape),), kwargs)

    return cases


def specials(kwargs: dict[str, Any]) -> Callable[[Source], Iterable[Case]]:
    """Two lines of a plane with infinities and NaN; all -inf at one end."""

    def cases(source: Source) -> Iterable[Case]:
        x = source.draw((1, 2, 9))
        x[0, 0, [0, 3, 6]] = [NAN, INF, -INF]
        x[0, 1, :5] = -INF
        yield Case("special values", (x,), kwargs)

    return rough(cases)


def joined(*parts: Callable[[Source], Iterable[Case]]) -> Callable[[Source], Iterable[Case]]:
    return lambda source: itertools.chain.from_iterable(part(source) for part in parts)


LINES = (
    ((1, 2, 7), {"kernel_size": 2}),
    ((2, 9), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ((1, 1, 8), {"kernel_size": 3, "stride": 3, "ceil_mode": True}),
    ((0, 2, 4), {"kernel_size": 2}),
)
PLANES = (
    ((1, 2, 4, 6), {"kernel_size": 2}),
    ((2, 5, 7), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ((1, 1, 5, 4), {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 0), "ceil_mode": True}),
    ((2, 1, 7, 3), {"kernel_size": (2, 1), "stride": (4, 3), "padding": (1, 0)}),
    ((1, 1, 3, 70), {"kernel_size": 2}),
    ((0, 1, 2, 2), {"kernel_size": 2}),
)
SPREAD_PLANES = (
    ((1, 1, 6, 7), {"kernel_size": (2, 3), "stride": 1, "dilation": (3, 2), "padding": (1, 0)}),
    ((1, 6, 6), {"kernel_size": 5, "stride": 1}),
)
VOLUMES = (
    ((1, 1, 2, 4, 4), {"kernel_size": 2}),
    ((1, 3, 3, 4), {"kernel_size": (2, 3, 2), "stride": 1, "padding": (1, 1, 0)}),
)
OVERLAPPING = ((1, 1, 5, 3), {"kernel_size": 3, "stride": 1, "padding": 1})
NOT_COUNTED = {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}

ADAPTIVE_LINES = (((1, 2, 7), {"output_size": 3}), ((2, 4), {"output_size": 1}))
ADAPTIVE_PLANES = (
    ((1, 2, 5, 7), {"output_size": (2, 3)}),
    ((2, 4, 6), {"output_size": 2}),
    ((1, 1, 3, 4), {"output_size": (None, 6)}),
    ((1, 2, 3, 3), {"output_size": 1}),
)
ADAPTIVE_VOLUMES = (((1, 1, 3, 4, 5), {"output_size": (2, None, 3)}),)


# -------------------------------------------------------------------------------- interpolation


def cubic(distance: float, slope: float = -0.75) -> float:
    """Keys's kernel."""
    x = abs(distance)
    if x <= 1:
        return (slope + 2) * x**3 - (slope + 3) * x**2 + 1
    return slope * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


def hat(distance: float) -> float:
    return max(0.0, 1 - abs(distance))


def weights(
    length: int, count: int, mode: str, scale: float | None, aligned: bool, antialias: bool
) -> Any:
    """Row o holds the weights of all elements in output o."""
    matrix = np.zeros((count, length))
    step = length / count if scale is None else 1 / scale
    for output in range(count):
        if antialias:
            center, stretch = (output + 0.5) * step, max(step, 1.0)
            for element in range(length):
                at = (element + 0.5 - center) / stretch
                matrix[output, element] = cubic(at, -0.5) if mode == "bicubic" else hat(at)
            matrix[output] /= matrix[output].sum()
            continue
        if mode == "area":
            begin, end = output * length // count, -(-(output + 1) * length // count)
            matrix[output, begin:end] = 1 / (end - begin)
        elif mode.startswith("nearest"):
            place = output * step if mode == "nearest" else (output + 0.5) * step
            matrix[output, min(math.floor(place), length - 1)] = 1
        else:
            place = (output + 0.5) * step - 0.5
            if aligned:
                place = output * (length - 1) / (count - 1) if count > 1 else 0.0
            kernel = cubic if mode == "bicubic" else hat
            for element in range(math.floor(place) - 1, math.floor(place) + 3):
                matrix[output, min(max(element, 0), length - 1)] += kernel(place - element)
    return matrix


def interpolated(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    antialias: bool = False,
) -> Any:
    num_axes = x.ndim - 2
    scales = per_axis(scale_factor, num_axes)
    sizes = per_axis(size, num_axes)
    for axis in range(num_axes):
        length, scale = x.shape[2 + axis], scales[axis]
        count = sizes[axis] if scale is None else math.floor(length * scale)
        matrix = weights(length, count, mode, scale, align_corners, antialias)
        x = np.moveaxis(np.moveaxis(x, 2 + axis, -1) @ matrix.T, -1, 2 + axis)
    return x


RESIZED = (
    ((1, 2, 5), {"size": 8}),
    ((1, 1, 4), {"scale_factor": 1.7, "mode": "nearest-exact"}),
    ((2, 1, 5), {"scale_factor": 2, "mode": "linear"}),
    ((1, 1, 5), {"size": 3, "mode": "linear", "align_corners": True}),
    ((1, 2, 3, 4), {"size": (5, 2), "mode": "bilinear"}),
    ((1, 1, 3, 3), {"scale_factor": 2.0, "mode": "bilinear", "align_corners": True}),
    ((1, 1, 4, 5), {"scale_factor": 0.5, "mode": "bilinear"}),
    ((1, 2, 4, 3), {"size": (6, 7), "mode": "bicubic"}),
    ((1, 1, 2, 5), {"size": (1, 2), "mode": "bicubic", "align_corners": True}),
    ((1, 1, 5, 4), {"size": (2, 3), "mode": "area"}),
    ((1, 1, 2, 3, 2), {"size": (3, 2, 4), "mode": "trilinear"}),
    ((1, 1, 3, 2, 2), {"scale_factor": (1.0, 2.0, 1.5)}),
    ((0, 1, 3), {"size": 2}),
    ((1, 1, 7, 9), {"size": (3, 4), "mode": "bilinear", "antialias": True}),
    ((1, 1, 9, 5), {"scale_factor": (0.4, 1.5), "mode": "bicubic", "antialias": True}),
)


# -------------------------------------------------------------------------------------- sampling


def extended(place: int, length: int, padding_mode: str, aligned: bool) -> int | None:
    """The element at a place on or beyond an axis; None for nothing."""
    if padding_mode == "zeros":
        return place if 0 <= place < length else None
    if padding_mode == "border" or length == 1:
        return min(max(place, 0), length - 1)
    period = 2 * (length - 1) if aligned else 2 * length
    place %= period
    return min(place, period - place) if aligned else min(place, period - 1 - place)


def sampled(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Any:
    lengths = x.shape[2:]
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    kernel = cubic if mode == "bicubic" else hat
    for point in np.ndindex(grid.shape[:-1]):
        axes: list[list[tuple[int, float]]] = []
        for axis, length in enumerate(lengths):
            at = grid[point][-1 - axis]
            place = (at + 1) / 2 * (length - 1) if align_corners else ((at + 1) * length - 1) / 2
            near = range(math.floor(place) - 1, math.floor(place) + 3)
            taps = [(element, kernel(place - element)) for element in near]
            if mode == "nearest":
                taps = [(round(place), 1.0)]
            axes.append(taps)
        for taps in itertools.product(*axes):
            cell = tuple(
                extended(element, length, padding_mode, align_corners)
                for (element, _), length in zip(taps, lengths, strict=True)
            )
            if None not in cell:
                weight = math.prod(one for _, one in taps)
                result[(point[0], slice(None), *point[1:])] += (
                    x[(point[0], slice(None), *cell)] * weight
                )
    return result


def sampling_cases(source: Source) -> Iterable[Case]:
    modes = itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    )
    for number, (mode, padding_mode, aligned) in enumerate(modes):
        num_axes = 3 if mode != "bicubic" and number % 4 == 1 else 2
        lengths = (3, 1, 2) if num_axes == 3 else (3, 4)
        grid = source.draw((2, *(1, 2, 2)[:num_axes], num_axes), Domain(low=-1.8, high=1.8))
        kwargs = {"mode": mode, "padding_mode": padding_mode, "align_corners": aligned}
        yield Case(f"{kwargs}", (source.draw((2, 2, *lengths)), grid), kwargs)


def affine(theta: Any, size: Any, align_corners: bool = False) -> Any:
    lengths = size[2:]
    result = np.zeros((size[0], *lengths, len(lengths)))
    for point in np.ndindex(result.shape[:-1]):
        place = []
        for at, length in zip(point[1:], lengths, strict=True):
            steps = max(length - 1, 1) if align_corners else length
            place.append((2 * at - (length - 1)) / steps)
        result[point] = theta[point[0]] @ np.array([*place[::-1], 1.0])
    return result


# --------------------------------------------------------------------------------------- others


def unpool_cases(num_axes: int) -> Callable[[Source], Iterable[Case]]:
    def cases(source: Source) -> Iterable[Case]:
        shape = (2, 1, *(2,) * num_axes)
        size = 4**num_axes
        indices = np.stack([source.random.permutation(size)[: 2**num_axes] for _ in range(2)])
        inputs = (source.draw(shape), indices.reshape(shape))
        yield Case("side by side", inputs, {"kernel_size": 2})
        yield Case(
            "of another size",
            inputs,
            {"kernel_size": 2, "output_size": (*(4,) * (num_axes - 1), 5)},
        )

    return cases


def unpooled(num_axes: int) -> Callable[..., Any]:
    def formula(x: Any, indices: Any, kernel_size: int, output_size: Any = None) -> Any:
        lengths = output_size or (4,) * num_axes
        result = np.zeros((2, 1, math.prod(lengths)))
        for plane, values, places in zip(result, x, indices, strict=True):
            for value, place in zip(values.ravel(), places.ravel(), strict=True):
                plane[0, place] = value
        return result.reshape((2, 1, *lengths))

    return formula


def shuffled(x: Any, upscale_factor: int) -> Any:
    r = upscale_factor
    *leading, channels, height, width = x.shape
    result = np.zeros((*leading, channels // r**2, height * r, width * r), x.dtype)
    for place in np.ndindex(*result.shape):
        *plane, c, h, w = place
        result[place] = x[(*plane, c * r * r + h % r * r + w % r, h // r, w // r)]
    return result


def unshuffled(x: Any, downscale_factor: int) -> Any:
    r = downscale_factor
    *leading, channels, height, width = x.shape
    result = np.zeros((*leading, channels * r * r, height // r, width // r), x.dtype)
    for place in np.ndindex(*result.shape):
        *plane, c, h, w = place
        result[place] = x[(*plane, c // r**2, h * r + c // r % r, w * r + c % r)]
    return result


MAX_OPS = ("max_pool", "max_pool_grad", "max_pool_take")
AVG_OPS = ("avg_pool", "avg_pool_grad")
RESAMPLE_OPS = ("resample", "resample_grad")


def first_at_a_tie() -> tuple[Edge, ...]:
    return (
        Edge(
            "a tie",
            ([[2.0, 2.0, 1.0, 2.0]],),
            ([[1.0, 0.0, 0.0, 1.0]],),
            kwargs={"kernel_size": 2},
        ),
        Edge(
            "overlapping windows",
            ([[1.0, 3.0, 2.0, 5.0, 4.0]],),
            ([[0.0, 1.0, 0.0, 110.0, 0.0]],),
            grad=[[1.0, 10.0, 100.0]],
            kwargs={"kernel_size": 3, "stride": 1},
        ),
        Edge(
            "NaN and nothing but -inf",
            ([[NAN, 1.0, -INF, -INF]],),
            ([[1.0, 0.0, 1.0, 0.0]],),
            kwargs={"kernel_size": 2},
        ),
    )


SPECS = [
    OpSpec(
        name="max_pool1d",
        function=functional.max_pool1d,
        formula=max_pool(1),
        cases=joined(calls(*LINES), specials({"kernel_size": 2})),
        tolerance=0,
        covers=MAX_OPS,
        edges=first_at_a_tie(),
    ),
    OpSpec(
        name="max_pool2d",
        function=functional.max_pool2d,
        formula=max_pool(2),
        cases=joined(calls(*PLANES, OVERLAPPING, *SPREAD_PLANES)),
        tolerance=0,
        covers=MAX_OPS,
    ),
    OpSpec(
        name="max_pool3d",
        function=functional.max_pool3d,
        formula=max_pool(3),
        cases=calls(*VOLUMES),
        tolerance=0,
        covers=MAX_OPS,
    ),
    OpSpec(
        name="avg_pool1d",
        function=functional.avg_pool1d,
        formula=avg_pool(1),
        cases=joined(
            calls(*LINES, ((1, 1, 7), NOT_COUNTED)),
            specials({"kernel_size": 3, "stride": 2, "padding": 1}),
        ),
        absolute=True,
        covers=AVG_OPS,
        edges=(
            Edge(
                "padding counts",
                ([[2.0, 4.0, 6.0]],),
                ([[1 / 3 + 1 / 3, 1.0, 1 / 3 + 1 / 3]],),
                kwargs={"kernel_size": 3, "stride": 1, "padding": 1},
            ),
        ),
    ),
    OpSpec(
        name="avg_pool2d",
        function=functional.avg_pool2d,
        formula=avg_pool(2),
        cases=calls(
            *PLANES,
            OVERLAPPING,
            ((1, 2, 5, 4), {**NOT_COUNTED, "ceil_mode": True}),
            ((1, 4, 5), {"kernel_size": 2, "divisor_override": -3}),
        ),
        absolute=True,
        covers=AVG_OPS,
    ),
    OpSpec(
        name="avg_pool3d",
        function=functional.avg_pool3d,
        formula=avg_pool(3),
        cases=calls(*VOLUMES),
        absolute=True,
        covers=AVG_OPS,
    ),
    OpSpec(
        name="adaptive_avg_pool1d",
        function=functional.adaptive_avg_pool1d,
        formula=adaptive(1, mean_of),
        cases=calls(*ADAPTIVE_LINES),
        absolute=True,
        covers=RESAMPLE_OPS,
    ),
    OpSpec(
        name="adaptive_avg_pool2d",
        function=functional.adaptive_avg_pool2d,
        formula=adaptive(2, mean_of),
        cases=calls(*ADAPTIVE_PLANES),
        absolute=True,
        covers=(*AVG_OPS, *RESAMPLE_OPS),
    ),
    OpSpec(
        name="adaptive_avg_pool3d",
        function=functional.adaptive_avg_pool3d,
        formula=adaptive(3, mean_of),
        cases=calls(*ADAPTIVE_VOLUMES),
        absolute=True,
        covers=RESAMPLE_OPS,
    ),
    OpSpec(
        name="adaptive_max_pool1d",
        function=functional.adaptive_max_pool1d,
        formula=adaptive(1, maximum),
        cases=joined(calls(*ADAPTIVE_LINES), specials({"output_size": 4})),
        tolerance=0,
        covers=MAX_OPS,
    ),
    OpSpec(
        name="adaptive_max_pool2d",
        function=functional.adaptive_max_pool2d,
        formula=adaptive(2, maximum),
        cases=calls(*ADAPTIVE_PLANES),
        tolerance=0,
        covers=MAX_OPS,
    ),
    OpSpec(
        name="adaptive_max_pool3d",
        function=functional.adaptive_max_pool3d,
        formula=adaptive(3, maximum),
        cases=calls(*ADAPTIVE_VOLUMES),
        tolerance=0,
        covers=MAX_OPS,
    ),
    *(
        OpSpec(
            name=f"lp_pool{num_axes}d",
            function=getattr(functional, f"lp_pool{num_axes}d"),
            formula=lp_pool(num_axes),
            cases=calls(*shapes),
            absolute=True,
            tolerance=8,
            edges=edges,
        )
        for num_axes, shapes, edges in (
            (
                1,
                (
                    ((1, 2, 7), {"norm_type": 2, "kernel_size": 2}),
                    ((1, 1, 5), {"norm_type": 1, "kernel_size": 2, "ceil_mode": True}),
                ),
                (
                    Edge(
                        "nothing but zeros",
                        ([[0.0, 0.0, 3.0, 4.0]],),
                        ([[0.0, 0.0, 0.6, 0.8]],),
                        kwargs={"norm_type": 2, "kernel_size": 2},
                    ),
                ),
            ),
            (2, (((1, 1, 4, 5), {"norm_type": 4, "kernel_size": 3, "stride": 1}),), ()),
            (3, (((1, 1, 2, 3, 4), {"norm_type": 2, "kernel_size": 2}),), ()),
        )
    ),
    *(
        OpSpec(
            name=f"max_unpool{num_axes}d",
            function=getattr(functional, f"max_unpool{num_axes}d"),
            formula=unpooled(num_axes),
            cases=unpool_cases(num_axes),
            fixed=(1,),
            tolerance=0,
        )
        for num_axes in (1, 2, 3)
    ),
    OpSpec(
        name="interpolate",
        function=functional.interpolate,
        formula=interpolated,
        cases=calls(*RESIZED),
        absolute=True,
        tolerance=4,
        covers=RESAMPLE_OPS,
    ),
    OpSpec(
        name="grid_sample",
        function=functional.grid_sample,
        formula=sampled,
        cases=sampling_cases,
        dtypes=(lm.float64, lm.float32),
        absolute=True,
        tolerance=16,
        edges=(
            Edge(
                "beside an edge that is not finite",
                ([[[[INF, 2.0]]]], [[[[3.0, 0.0]]]]),
                (None, [[[[0.0, 0.0]]]]),
            ),
        ),
    ),
    OpSpec(
        name="affine_grid",
        function=functional.affine_grid,
        formula=affine,
        cases=calls(
            ((2, 2, 3), {"size": (2, 1, 3, 2)}),
            ((1, 2, 3), {"size": (1, 1, 1, 4), "align_corners": True}),
            ((1, 3, 4), {"size": (1, 2, 2, 1, 3)}),
        ),
        absolute=True,
        tolerance=4,
        dtypes=(lm.float64, lm.float32),
    ),
    OpSpec(
        name="pixel_shuffle",
        function=functional.pixel_shuffle,
        formula=shuffled,
        cases=calls(((8, 2, 3), {"upscale_factor": 2}), ((2, 1, 9, 1, 2), {"upscale_factor": 3})),
        dtypes=(*(lm.float64, lm.float32, lm.float16, lm.bfloat16), lm.int64),
        tolerance=0,
    ),
    OpSpec(
        name="pixel_unshuffle",
        function=functional.pixel_unshuffle,
        formula=unshuffled,
        cases=calls(((2, 4, 6), {"downscale_factor": 2}), ((2, 1, 3, 6), {"downscale_factor": 3})),
        dtypes=(*(lm.float64, lm.float32, lm.float16, lm.bfloat16), lm.int64),
        tolerance=0,
    ),
]
