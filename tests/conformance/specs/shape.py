"""Shapes: what NumPy's functions of the same names give, to the bit, in every dtype."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.dtypes import ALL
from lumus.testing.op_spec import Case, Edge, OpSpec, Source

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


def meshgrid_cases(source: Source) -> Iterable[Case]:
    for shapes, indexing in (
        (((3,), (2,)), "xy"),
        (((3,), (2,), (4,)), "xy"),
        (((3,), (2,), (4,)), "ij"),
        (((3,),), "xy"),
        (((), (2,)), "ij"),
        (((0,), (2,)), "xy"),
    ):
        inputs = tuple(source.draw(shape) for shape in shapes)
        yield Case(f"{indexing} of {shapes}", inputs, {"indexing": indexing})


def broadcast_cases(source: Source) -> Iterable[Case]:
    for shapes in (((3, 1), (4,)), ((), (2, 3)), ((2,),), ((0,), (1,)), ((2, 1, 1), (3, 1), (1,))):
        yield Case(f"shapes {shapes}", tuple(source.draw(shape) for shape in shapes))


PAD_WIDTHS = (
    ((5,), 1),
    ((5,), (2, 0)),
    (SHAPE, 2),
    (SHAPE, ((1, 0), (0, 2), (3, 1))),
    (SHAPE, ((0, 0), (0, 0), (0, 0))),
    ((2, 3), ((9, 4), (0, 11))),
    ((1, 4), ((2, 3), (1, 0))),
    ((1,), 3),
)


def pad_cases(source: Source) -> Iterable[Case]:
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
        for shape, width in PAD_WIDTHS:
            kwargs = {"pad_width": width, "mode": mode}
            yield Case(f"shape {shape}, {kwargs}", (source.draw(shape),), kwargs)
    empty = {"pad_width": ((1, 2), (0, 1)), "mode": "constant"}
    yield Case("nothing, constant", (source.draw((0, 2)),), empty)
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        kwargs = {"pad_width": ((0, 0), (1, 1)), "mode": mode}
        yield Case(f"no rows, {mode}", (source.draw((0, 3)),), kwargs)


def windows(x: Any, axis: int, size: int, step: int = 1) -> Any:
    starts = range(0, x.shape[axis] - size + 1, step)
    rows = [np.take(x, np.arange(start, start + size), axis=axis) for start in starts]
    return np.stack([np.moveaxis(row, axis, -1) for row in rows], axis=axis)


SPECS = [
    exact(
        "roll",
        lambda x, shift, axis=None: np.roll(x, shift, axis),
        one_input(
            ((5,), {"shift": 2}),
            ((5,), {"shift": -7}),
            (SHAPE, {"shift": 5}),
            (SHAPE, {"shift": 1, "axis": 1}),
            (SHAPE, {"shift": -1, "axis": -1}),
            (SHAPE, {"shift": (1, -1), "axis": (0, 2)}),
            (SHAPE, {"shift": 1, "axis": (0, 1, 2)}),
            (SHAPE, {"shift": (1, 1), "axis": (1, 1)}),
            (SHAPE, {"shift": 0, "axis": 0}),
            ((), {"shift": 3}),
            ((1,), {"shift": 4, "axis": 0}),
            ((2, 0), {"shift": 1, "axis": (0, 1)}),
            ((0,), {"shift": 1}),
        ),
    ),
    exact(
        "tile",
        lambda x, repetitions: np.tile(x, repetitions),
        one_input(
            ((3,), {"repetitions": 2}),
            ((3,), {"repetitions": (2, 2)}),
            (SHAPE, {"repetitions": (2,)}),
            (SHAPE, {"repetitions": (2, 1, 3)}),
            (SHAPE, {"repetitions": (2, 1, 1, 2)}),
            (SHAPE, {"repetitions": (1, 1)}),
            (SHAPE, {"repetitions": (0, 2)}),
            (SHAPE, {"repetitions": ()}),
            ((), {"repetitions": 3}),
            ((0, 2), {"repetitions": (3, 2)}),
        ),
        covers=("reshape", "broadcast_to"),
    ),
    exact(
        "repeat",
        lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
        one_input(
            ((3,), {"repeats": 2}),
            (SHAPE, {"repeats": 3}),
            (SHAPE, {"repeats": 2, "axis": 1}),
            (SHAPE, {"repeats": [2, 0, 1], "axis": 1}),
            (SHAPE, {"repeats": [3], "axis": -1}),
            (SHAPE, {"repeats": [0, 0], "axis": 0}),
            (SHAPE, {"repeats": 0, "axis": 0}),
            ((), {"repeats": 2}),
            ((0,), {"repeats": 2}),
            ((0,), {"repeats": []}),
        ),
        covers=("reshape", "broadcast_to", "index"),
    ),
    exact(
        "pad",
        lambda x, pad_width, mode: np.pad(x, pad_width, mode),
        pad_cases,
        covers=("pad_grad", "slice_put"),
        edges=(
            Edge(
                "the edge gathers what continues it",
                ([1.0, 2.0, 3.0],),
                ([7.0, 8.0, 48.0],),
                grad=[1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
                kwargs={"pad_width": (2, 1), "mode": "edge"},
            ),
            Edge(
                "images gather at what they mirror",
                ([1.0, 2.0, 3.0],),
                ([4.0, 42.0, 17.0],),
                grad=[1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
                kwargs={"pad_width": (2, 1), "mode": "reflect"},
            ),
        ),
    ),
    exact(
        "unfold",
        windows,
        one_input(
            ((5,), {"axis": 0, "size": 2}),
            ((5,), {"axis": 0, "size": 5}),
            ((7,), {"axis": 0, "size": 2, "step": 3}),
            ((6,), {"axis": 0, "size": 3, "step": 3}),
            ((9,), {"axis": 0, "size": 5, "step": 2}),
            ((2, 5, 3), {"axis": 1, "size": 3, "step": 2}),
            ((2, 5, 3), {"axis": 1, "size": 1}),
            ((2, 5, 3), {"axis": -1, "size": 2}),
            ((4, 3), {"axis": 0, "size": 3}),
            ((4, 0), {"axis": 0, "size": 2}),
            ((1,), {"axis": 0, "size": 1, "step": 9}),
        ),
        covers=("unfold_grad",),
        edges=(
            Edge(
                "G16 overlapping windows accumulate",
                ([1.0, 2.0, 3.0, 4.0],),
                ([1.0, 2.0, 2.0, 1.0],),
                kwargs={"axis": 0, "size": 2, "step": 1},
            ),
        ),
    ),
    exact(
        "moveaxis",
        lambda x, source, destination: np.moveaxis(x, source, destination),
        one_input(
            (SHAPE, {"source": 0, "destination": -1}),
            (SHAPE, {"source": 2, "destination": 0}),
            (SHAPE, {"source": (0, 1), "destination": (-1, 0)}),
            (SHAPE, {"source": (2, 0, 1), "destination": (0, 2, 1)}),
            (SHAPE, {"source": (), "destination": ()}),
        ),
        covers=("permute_dims",),
    ),
    exact(
        "unstack",
        lambda x, axis: [np.take(x, index, axis=axis) for index in range(x.shape[axis])],
        one_input(
            (SHAPE, {"axis": 1}),
            ((3,), {"axis": 0}),
            ((0, 2), {"axis": -1}),
            ((1, 2), {"axis": 0}),
            ((2, 0), {"axis": 1}),
        ),
        covers=("concat", "reshape"),
    ),
    exact(
        "meshgrid",
        lambda *arrays, indexing: [
            np.array(one) for one in np.meshgrid(*arrays, indexing=indexing)
        ],
        meshgrid_cases,
        covers=("broadcast_to",),
    ),
    exact(
        "broadcast_arrays",
        lambda *arrays: [np.array(one) for one in np.broadcast_arrays(*arrays)],
        broadcast_cases,
        covers=("broadcast_to",),
    ),
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
