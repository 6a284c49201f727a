"""Convolutions: each output element written out as a sum over channels and taps."""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from lumus.nn import functional
from lumus.testing.op_spec import Case, OpSpec, Source


def tuple_of(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def geometry(kwargs: dict[str, Any], taps: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """(stride, zeros in front, zeros behind, dilation) along each axis."""
    rank = len(taps)
    stride = tuple_of(kwargs.get("stride", 1), rank)
    dilation = tuple_of(kwargs.get("dilation", 1), rank)
    padding = kwargs.get("padding", 0)
    if padding == "same":
        total = [spread * (tap - 1) for spread, tap in zip(dilation, taps, strict=True)]
        ends = [(one // 2, one - one // 2) for one in total]
    elif padding == "valid":
        ends = [(0, 0)] * rank
    else:
        ends = [(one, one) for one in tuple_of(padding, rank)]
    return [
        (step, *both, spread) for step, both, spread in zip(stride, ends, dilation, strict=True)
    ]


def windows(x: Any, taps: tuple[int, ...], kwargs: dict[str, Any]) -> Any:
    """(n, channels, *positions, *taps): what the windows see of (n, channels, ...)."""
    parts = geometry(kwargs, taps)
    x = np.pad(x, [(0, 0), (0, 0), *((front, behind) for _, front, behind, _ in parts)])
    axes = tuple(range(2, x.ndim))
    reach = tuple((tap - 1) * part[3] + 1 for tap, part in zip(taps, parts, strict=True))
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, axis=axes)
    steps = tuple(slice(None, None, part[0]) for part in parts)
    spread = tuple(slice(None, None, part[3]) for part in parts)
    return seen[(slice(None), slice(None), *steps, *spread)]


def convolved(x: Any, weight: Any, bias: Any = None, **kwargs: Any) -> Any:
    rank, groups = weight.ndim - 2, kwargs.get("groups", 1)
    batched = x if x.ndim == rank + 2 else x[None]
    seen = windows(batched.astype(np.longdouble), weight.shape[2:], kwargs)
    channels, outputs = batched.shape[1] // groups, weight.shape[0] // groups
    axes = [1, *range(2 + rank, 2 + 2 * rank)]
    y = np.concatenate(
        [
            np.moveaxis(
                np.tensordot(
                    seen[:, group * channels : (group + 1) * channels],
                    weight[group * outputs : (group + 1) * outputs].astype(np.longdouble),
                    axes=(axes, range(1, rank + 2)),
                ),
                -1,
                1,
            )
            for group in range(groups)
        ],
        axis=1,
    )
    if bias is not None:
        y = y + bias.reshape(-1, *[1] * rank)
    return (y if batched is x else y[0]).astype(np.float64)


def spread_out(x: Any, weight: Any, bias: Any = None, **kwargs: Any) -> Any:
    """Each element of x times the kernel, added where it lies."""
    rank, groups = weight.ndim - 2, kwargs.get("groups", 1)
    batched = x if x.ndim == rank + 2 else x[None]
    taps = weight.shape[2:]
    parts = geometry(kwargs, taps)
    more = tuple_of(kwargs.get("output_padding", 0), rank)
    size = [
        (count - 1) * step - front - behind + spread * (tap - 1) + extra + 1
        for count, tap, extra, (step, front, behind, spread) in zip(
            batched.shape[2:], taps, more, parts, strict=True
        )
    ]
    outputs, inputs = weight.shape[1], batched.shape[1] // groups
    y = np.zeros((batched.shape[0], groups * outputs, *size), np.longdouble)
    for place in itertools.product(*map(range, batched.shape[2:])):
        for tap in itertools.product(*map(range, taps)):
            at = tuple(
                one * step - front + spread * t
                for one, t, (step, front, _, spread) in zip(place, tap, parts, strict=True)
            )
            if any(not 0 <= one < length for one, length in zip(at, size, strict=True)):
                continue
            for group in range(groups):
                ours = slice(group * inputs, (group + 1) * inputs)
                theirs = slice(group * outputs, (group + 1) * outputs)
                y[(slice(None), theirs, *at)] += (
                    batched[(slice(None), ours, *place)] @ weight[(ours, slice(None), *tap)]
                )
    if bias is not None:
        y = y + bias.reshape(-1, *[1] * rank)
    return (y if batched is x else y[0]).astype(np.float64)


def cases_from(*listed: tuple[Any, ...]) -> Any:
    """Cases of (x shape, weight shape, bias or not, kwargs)."""

    def cases(source: Source) -> Iterable[Case]:
        for x, weight, has_bias, kwargs in listed:
            outputs = weight[1] * kwargs.get("groups", 1) if "transposed" in kwargs else weight[0]
            given = {name: value for name, value in kwargs.items() if name != "transposed"}
            shapes = [x, weight, (outputs,)] if has_bias else [x, weight]
            yield Case(f"{x} by {weight}, {given}", tuple(map(source.draw, shapes)), given)

    return cases


def transposed(*listed: tuple[Any, ...]) -> Any:
    return cases_from(*((x, w, bias, {**kwargs, "transposed": 1}) for x, w, bias, kwargs in listed))


def unfolded(x: Any, kernel_size: Any, **kwargs: Any) -> Any:
    taps = tuple_of(kernel_size, 2)
    batched = x if x.ndim == 4 else x[None]
    seen = windows(batched, taps, kwargs)
    n, channels, height, width = seen.shape[:4]
    columns = seen.transpose(0, 1, 4, 5, 2, 3).reshape(
        n, channels * taps[0] * taps[1], -1 if n else height * width
    )
    return columns if batched is x else columns[0]


def folded(x: Any, output_size: Any, kernel_size: Any, **kwargs: Any) -> Any:
    """The transpose of unfolding, element by element of the picture."""
    size, taps = tuple_of(output_size, 2), tuple_of(kernel_size, 2)
    batched = x if x.ndim == 3 else x[None]
    channels = batched.shape[1] // (taps[0] * taps[1])
    numbers = unfolded(np.arange(1, channels * size[0] * size[1] + 1.0).reshape(channels, *size),
                       kernel_size, **kwargs)  # fmt: skip
    y = np.zeros((batched.shape[0], channels * size[0] * size[1] + 1))
    for picture, columns in zip(y, batched, strict=True):
        np.add.at(picture, numbers.astype(int).ravel(), columns.ravel())
    y = y[:, 1:].reshape(-1, channels, *size)
    return y if batched is x else y[0]


def unfold_cases(source: Source) -> Iterable[Case]:
    for shape, kwargs in (
        ((2, 3, 4, 5), {"kernel_size": 2}),
        ((3, 5, 6), {"kernel_size": (3, 2), "padding": (1, 0), "stride": (2, 1)}),
        ((1, 1, 7, 7), {"kernel_size": 3, "dilation": 2, "padding": 3, "stride": 3}),
        ((0, 2, 4, 4), {"kernel_size": 2}),
        ((1, 1, 1, 1), {"kernel_size": 1}),
    ):
        yield Case(f"{shape}, {kwargs}", (source.draw(shape),), kwargs)


def fold_cases(source: Source) -> Iterable[Case]:
    for shape, kwargs in (
        ((2, 12, 12), {"output_size": (4, 5), "kernel_size": 2}),
        ((18, 15), {"output_size": (5, 6), "kernel_size": (3, 2), "padding": (1, 0),
                    "stride": (2, 1)}),
        ((1, 9, 9), {"output_size": 7, "kernel_size": 3, "dilation": 2, "padding": 3,
                     "stride": 3}),
        ((0, 4, 9), {"output_size": 4, "kernel_size": 2}),
    ):  # fmt: skip
        yield Case(f"{shape}, {kwargs}", (source.draw(shape),), kwargs)


SPECS = [
    OpSpec(
        name="conv1d",
        function=functional.conv1d,
        formula=convolved,
        cases=cases_from(
            ((2, 3, 9), (4, 3, 3), True, {}),
            ((3, 8), (2, 3, 4), False, {"padding": "same"}),
            ((2, 4, 11), (6, 2, 3), True, {"stride": 2, "padding": 3, "dilation": 2, "groups": 2}),
            ((1, 2, 40), (18, 2, 5), False, {"padding": 2}),
        ),
        absolute=True,
        tolerance=10,
        covers=("convolution", "convolution_transpose", "convolution_weight"),
    ),
    OpSpec(
        name="conv2d",
        function=functional.conv2d,
        formula=convolved,
        cases=cases_from(
            ((2, 3, 5, 6), (4, 3, 3, 2), True, {}),
            ((3, 5, 5), (2, 3, 3, 3), False, {"padding": 1}),
            ((2, 4, 6, 5), (6, 2, 2, 3), True, {"stride": (2, 1), "padding": (0, 2), "groups": 2}),
            ((1, 2, 7, 7), (3, 2, 3, 3), False, {"stride": 2, "padding": 2, "dilation": 2}),
            ((2, 3, 5, 5), (6, 1, 3, 3), True, {"padding": 1, "groups": 3}),
            ((2, 18, 4, 4), (17, 18, 1, 1), True, {}),
            ((2, 3, 5, 5), (4, 3, 1, 1), False, {"stride": 2}),
            ((1, 2, 4, 4), (3, 2, 4, 4), False, {}),
            ((0, 2, 4, 4), (3, 2, 3, 3), True, {}),
            ((2, 0, 4, 4), (3, 0, 3, 3), True, {}),
            ((1, 1, 1, 1), (1, 1, 3, 3), False, {"padding": 1}),
        ),
        absolute=True,
        tolerance=10,
    ),
    OpSpec(
        name="conv3d",
        function=functional.conv3d,
        formula=convolved,
        cases=cases_from(
            ((1, 2, 3, 4, 5), (3, 2, 2, 2, 3), True, {}),
            ((2, 2, 3, 3, 4), (2, 1, 3, 1, 2), False, {"padding": "same", "groups": 2}),
            ((1, 1, 5, 4, 3), (2, 1, 2, 2, 2), True, {"stride": (2, 1, 2), "padding": (1, 0, 1)}),
        ),
        absolute=True,
        tolerance=10,
    ),
    OpSpec(
        name="conv_transpose1d",
        function=functional.conv_transpose1d,
        formula=spread_out,
        cases=transposed(
            ((2, 3, 5), (3, 2, 3), True, {}),
            ((2, 6), (2, 4, 4), False, {"stride": 3, "padding": 2, "output_padding": 1}),
            ((2, 4, 5), (4, 3, 2), True, {"stride": 2, "dilation": 3, "groups": 2}),
        ),
        absolute=True,
        tolerance=10,
    ),
    OpSpec(
        name="conv_transpose2d",
        function=functional.conv_transpose2d,
        formula=spread_out,
        cases=transposed(
            ((2, 3, 3, 4), (3, 2, 2, 3), True, {}),
            ((2, 4, 4), (2, 3, 3, 3), False, {"stride": 2, "padding": 1, "output_padding": 1}),
            ((1, 4, 3, 3), (4, 1, 3, 2), True, {"stride": (3, 1), "dilation": (2, 1), "groups": 2}),
            ((1, 2, 3, 3), (2, 17, 1, 1), False, {"stride": 2}),
            ((0, 2, 3, 3), (2, 3, 2, 2), True, {}),
        ),
        absolute=True,
        tolerance=10,
    ),
    OpSpec(
        name="conv_transpose3d",
        function=functional.conv_transpose3d,
        formula=spread_out,
        cases=transposed(
            ((1, 2, 2, 3, 2), (2, 3, 2, 2, 2), True, {}),
            ((1, 2, 2, 2, 3), (2, 1, 3, 2, 1), False, {"stride": 2, "padding": (1, 0, 0)}),
        ),
        absolute=True,
        tolerance=10,
    ),
    OpSpec(
        name="fold",
        function=functional.fold,
        formula=folded,
        cases=fold_cases,
        absolute=True,
        tolerance=4,
        covers=("col2im", "im2col"),
    ),
    OpSpec(
        name="nn.unfold",
        function=functional.unfold,
        formula=unfolded,
        cases=unfold_cases,
        tolerance=0,
        covers=("im2col", "col2im"),
    ),
]
