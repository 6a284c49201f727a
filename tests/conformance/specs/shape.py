"""Shapes: what NumPy's functions of the same names give, to the bit, in every dtype."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.dtypes import ALL
from lumus.testing.op_spec import Case, OpSpec, Source

SHAPE = (2, 3, 4)


def one_input(*calls: tuple[tuple[int, ...], dict[str, Any]]) -> Any:
    """Cases from (shape, kwargs) pairs."""

    def cases(source: Source) -> Iterable[Case]:
        for shape, kwargs in calls:
            yield Case(f"shape {shape}, {kwargs}", (source.draw(shape),), kwargs)

    return cases


def exact(name: str, formula: Any, cases: Any, **fields: Any) -> OpSpec:
    function = fields.pop("function", None) or getattr(lm, name)
    return OpSpec(
        name=name,
        function=function,
        formula=formula,
        cases=cases,
        dtypes=ALL,
        tolerance=0,
        **fields,
    )


def reshaped(x: Any, shape: Any) -> Any:
    return np.reshape(x, shape)


def expanded(x: Any, axis: Any) -> Any:
    return np.expand_dims(x, axis)


def narrowed(x: Any, axis: int, start: int, length: int) -> Any:
    first = start + x.shape[axis] if start < 0 else start
    return np.take(x, np.arange(first, first + length), axis=axis)


def joined_cases(source: Source) -> Iterable[Case]:
    for shapes, axis in (
        (((2,), (3,)), 0),
        (((0,), (3,), (0,)), 0),
        (((2, 3), (2, 0), (2, 1)), 1),
        (((2, 3, 4), (5, 3, 4)), -3),
        (((2, 3),), -1),
    ):
        inputs = tuple(source.draw(shape) for shape in shapes)
        yield Case(f"shapes {shapes}, axis {axis}", inputs, {"axis": axis})


def stacked_cases(source: Source) -> Iterable[Case]:
    for shape, count, axis in (
        ((), 2, 0),
        ((3,), 2, 1),
        ((2, 3), 3, -1),
        ((0,), 2, 0),
        ((2,), 1, 0),
    ):
        inputs = tuple(source.draw(shape) for _ in range(count))
        yield Case(f"{count} of shape {shape}, axis {axis}", inputs, {"axis": axis})


def pieces(x: Any, sizes: Any, axis: int) -> list[Any]:
    if isinstance(sizes, int):
        return np.split(x, range(sizes, x.shape[axis], sizes), axis=axis)
    return np.split(x, np.cumsum(sizes)[:-1], axis=axis)


def unsliced(x: Any, shape: Any, starts: Any, steps: Any) -> Any:
    result = np.zeros(shape, x.dtype)
    for place in np.ndindex(x.shape):
        target = tuple(
            start + index * step for start, index, step in zip(starts, place, steps, strict=True)
        )
        result[target] = x[place]
    return result


def slice_put(x: Any, values: Any, starts: Any, sizes: Any, steps: Any) -> Any:
    result = x.copy()
    for place in np.ndindex(values.shape):
        target = tuple(
            start + index * step for start, index, step in zip(starts, place, steps, strict=True)
        )
        result[target] = values[place]
    return result


PLACES = (
    ((2,), (5,), (1,), (2,)),
    ((3,), (5,), (4,), (-2,)),
    ((2, 2), (4, 3), (3, 0), (-1, 2)),
    ((0, 2), (4, 3), (0, 1), (1, 1)),
    ((), (), (), ()),
)


def unslice_cases(source: Source) -> Iterable[Case]:
    for sizes, shape, starts, steps in PLACES:
        kwargs = {"shape": shape, "starts": starts, "steps": steps}
        yield Case(f"{kwargs}", (source.draw(sizes),), kwargs)


def slice_put_cases(source: Source) -> Iterable[Case]:
    for sizes, shape, starts, steps in PLACES:
        kwargs = {"starts": starts, "sizes": sizes, "steps": steps}
        yield Case(f"shape {shape}, {kwargs}", (source.draw(shape), source.draw(sizes)), kwargs)


SPECS = [
    exact(
        "reshape",
        reshaped,
        one_input(
            (SHAPE, {"shape": (4, 6)}),
            (SHAPE, {"shape": -1}),
            (SHAPE, {"shape": (3, -1, 2)}),
            ((), {"shape": (1, 1)}),
            ((1,), {"shape": ()}),
            ((2, 0), {"shape": (0, 5)}),
            (SHAPE, {"shape": [2, 12]}),
        ),
    ),
    exact(
        "permute_dims",
        lambda x, axes: np.transpose(x, axes),
        one_input(
            (SHAPE, {"axes": (2, 0, 1)}),
            (SHAPE, {"axes": (-1, 1, 0)}),
            ((), {"axes": ()}),
            ((0, 3), {"axes": (1, 0)}),
        ),
    ),
    exact(
        "transpose",
        lambda x, axis0=-2, axis1=-1: np.swapaxes(x, axis0, axis1),
        one_input((SHAPE, {}), (SHAPE, {"axis0": 0, "axis1": 2}), ((3, 0), {})),
        covers=("permute_dims",),
    ),
    exact(
        "expand_dims",
        expanded,
        one_input((SHAPE, {"axis": 0}), (SHAPE, {"axis": (1, -1)}), ((), {"axis": 0})),
        covers=("reshape",),
    ),
    exact(
        "squeeze",
        lambda x, axis=None: np.squeeze(x, axis),
        one_input(
            ((1, 3, 1), {}), ((1, 3, 1), {"axis": -1}), ((1, 0, 1), {"axis": (0, 2)}), ((1,), {})
        ),
        covers=("reshape",),
    ),
    exact(
        "broadcast_to",
        np.broadcast_to,
        one_input(
            ((4,), {"shape": (3, 4)}),
            ((2, 1, 4), {"shape": (2, 3, 4)}),
            ((), {"shape": (2, 2)}),
            ((1,), {"shape": (0,)}),
            (SHAPE, {"shape": SHAPE}),
        ),
    ),
    exact(
        "flip",
        lambda x, axis=None: np.flip(x, axis),
        one_input(
            (SHAPE, {}), (SHAPE, {"axis": 1}), (SHAPE, {"axis": (0, -1)}), ((0,), {}), ((), {})
        ),
        covers=("slice", "unslice"),
    ),
    exact(
        "narrow",
        narrowed,
        one_input(
            (SHAPE, {"axis": 2, "start": 1, "length": 2}),
            (SHAPE, {"axis": 0, "start": -1, "length": 1}),
            (SHAPE, {"axis": 1, "start": 3, "length": 0}),
            ((5,), {"axis": -1, "start": 0, "length": 5}),
        ),
        covers=("slice", "unslice"),
    ),
    exact("copy", np.array, one_input((SHAPE, {}), ((), {}), ((0, 2), {}))),
    exact(
        "concat",
        lambda *arrays, axis: np.concatenate(arrays, axis=axis),
        joined_cases,
        function=lambda *tensors, axis: lm.concat(tensors, axis),
    ),
    exact(
        "stack",
        lambda *arrays, axis: np.stack(arrays, axis=axis),
        stacked_cases,
        function=lambda *tensors, axis: lm.stack(tensors, axis),
        covers=("concat",),
    ),
    exact(
        "split",
        pieces,
        one_input(
            ((5,), {"sizes": 2, "axis": 0}),
            ((5,), {"sizes": [3, 0, 2], "axis": 0}),
            (SHAPE, {"sizes": [1, 3], "axis": -1}),
            (SHAPE, {"sizes": 3, "axis": 1}),
        ),
        covers=("slice", "unslice"),
    ),
    exact(
        "unslice", unsliced, unslice_cases, function=lambda x, **place: apply("unslice", x, **place)
    ),
    exact(
        "slice_put",
        slice_put,
        slice_put_cases,
        function=lambda x, values, **place: apply("slice_put", x, values, **place),
    ),
]
