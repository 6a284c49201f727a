"""Sorting: orders by NumPy's stable sort on (is NaN, value), ties, zeros of either sign, NaN."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.testing.op_spec import FLOATS, Case, Domain, Edge, OpSpec, Source, joined
from tests.conformance.specs.reduce import INTS, NUMBERS

INF, NAN = math.inf, math.nan
ALL = (*NUMBERS, lm.bool_)

# Short lines, lines beyond insertion, of one and of no element, every axis.
_SHAPES = (
    ((1,), 0), ((5,), -1), ((0,), 0), ((2, 0), 1), ((0, 3), 1), ((2, 3, 4), 1), ((2, 3, 4), 0),
    ((3, 67), -1), ((67, 3), 0), ((2, 300), 1),
)  # fmt: skip


def drawn(source: Source, shape: tuple[int, ...]) -> Any:
    """Floats so far from each other that no small step changes their order; ints with ties."""
    if source.dtype.kind != "float":
        return source.draw(shape)
    size = math.prod(shape)
    return source.random.permutation(np.linspace(-3.0, 3.0, size)).reshape(shape)


def lines(source: Source) -> Iterable[Case]:
    for number, (shape, axis) in enumerate(_SHAPES):
        kwargs = {"axis": axis, "descending": number % 2 == 1}
        yield Case(f"shape {shape}, {kwargs}", (drawn(source, shape),), kwargs)
    for descending in (False, True):
        kwargs = {"axis": 1, "descending": descending}
        repeated = np.broadcast_to(source.draw((3, 1)), (3, 4))
        yield Case(f"stride 0, {kwargs}", (repeated,), kwargs, smooth=False)
        if source.dtype.kind == "float":
            rows = np.array([[0.0, NAN, -0.0, INF, 2.0, -INF, 0.0, NAN, -1.0, 2.0]])
            rows = np.concatenate([rows, -rows, rows[:, ::-1]])
            yield Case(f"special values, {kwargs}", (rows,), kwargs, smooth=False)
            many = np.tile(rows, (1, 9))
            yield Case(f"many special values, {kwargs}", (many,), kwargs, smooth=False)
        else:
            low, high = (0, 1)
            if source.dtype.kind == "int":
                bounds = np.iinfo(source.dtype.name)
                low, high = int(bounds.min), int(bounds.max)
            rows = np.array([[low, high, 0, high, 1, low, 0]])
            yield Case(f"ends of the range, {kwargs}", (rows,), kwargs)


def order_of(x: Any, axis: int, descending: bool) -> Any:
    """By the definition: whoever has fewer before it comes first, the earlier of equals first."""
    moved = np.moveaxis(x, axis, -1)
    result = np.empty(moved.shape, np.int64)
    for place in np.ndindex(moved.shape[:-1]):
        is_nan, line = np.isnan(moved[place]).tolist(), moved[place].tolist()
        keys = [(nan, 0.0 if nan else value) for nan, value in zip(is_nan, line, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)
        result[place] = order
    return np.moveaxis(result, -1, axis)


def ordered(x: Any, axis: int, descending: bool) -> Any:
    return np.take_along_axis(x, order_of(x, axis, descending), axis)


def few(source: Source) -> Iterable[Case]:
    for case in lines(source):
        x, axis = case.inputs[0], case.kwargs["axis"]
        length = x.shape[axis]
        for k in sorted({0, min(1, length), length // 7, length}):
            kwargs = {"k": k, "axis": axis, "largest": case.kwargs["descending"]}
            yield Case(f"{case.label}, k={k}", case.inputs, kwargs, case.smooth)


def first_of_order(x: Any, k: int, axis: int, largest: bool) -> Any:
    return np.take(order_of(x, axis, largest), np.arange(k), axis=axis)


def first_ordered(x: Any, k: int, axis: int, largest: bool) -> Any:
    return np.take_along_axis(x, first_of_order(x, k, axis, largest), axis)


def searches(source: Source) -> Iterable[Case]:
    for shape, wanted in (
        ((5,), (3, 4)), ((1,), ()), ((0,), (2,)), ((67,), (70,)), ((2, 3, 4), (2, 3, 5)),
        ((2, 0), (2, 3)), ((2, 3), (2, 0)),
    ):  # fmt: skip
        # Not below zero: as unsigned ints those would not be in order.
        line = np.sort(source.draw(shape, Domain(low=0.0, high=9.0)), axis=-1)
        values = source.draw(wanted, Domain(low=0.0, high=9.0))
        if len(shape) == 1 and shape[0] and wanted:
            # Some that are there.
            values.ravel()[: min(2, values.size)] = line[-1]
        for side in ("left", "right"):
            yield Case(f"{wanted} in {shape}, {side}", (line, values), {"side": side})
    if source.dtype.kind == "float":
        line = np.array([-INF, -1.0, -0.0, 0.0, 2.0, INF, NAN, NAN])
        for side in ("left", "right"):
            values = np.array([NAN, INF, -INF, 0.0, -0.0, 1.0])
            yield Case(f"special values, {side}", (line, values), {"side": side})


def searched(x: Any, values: Any, side: Any) -> Any:
    """How many of its line stand before each value, by counting; NaN stands after all numbers."""
    wide = x if x.ndim == 1 else x[..., None, :]
    here = values[..., None]
    is_nan = np.isnan(here)
    before = (wide < here) | (is_nan & ~np.isnan(wide))
    if side == "right":
        before = before | (wide == here) | (is_nan & np.isnan(wide))
    return before.sum(axis=-1)


EVERYTHING = {"return_index": True, "return_inverse": True, "return_counts": True}


def repeated_values(source: Source) -> Iterable[Case]:
    for shape in ((), (1,), (0,), (5,), (2, 3), (90,)):
        x = np.round(source.draw(shape)) if source.dtype.kind == "float" else source.draw(shape)
        yield Case(f"shape {shape}", (x,), smooth=False)
    if source.dtype.kind == "float":
        x = np.array([0.0, NAN, -0.0, INF, 2.0, -INF, 0.0, NAN])
        yield Case("special values", (x,), smooth=False)


def repeated_slices(source: Source) -> Iterable[Case]:
    for shape, axis in (((6, 2), 0), ((2, 6), 1), ((2, 7, 1), -2), ((0, 3), 0), ((3, 0), 0)):
        x = source.draw(shape)
        x = np.sign(x) if source.dtype.kind == "float" else x
        yield Case(f"shape {shape}, axis {axis}", (x,), {"axis": axis}, smooth=False)


def distinct(x: Any, axis: Any = None) -> Any:
    return np.unique(x, axis=axis)


def distinct_and_more(place: int) -> Any:
    """Index, inverse or counts."""

    def formula(x: Any, axis: Any = None) -> Any:
        return np.unique(x, True, True, True, axis=axis)[place]

    return formula


TIES = [2.0, NAN, 1.0, 2.0]

SPECS = [
    OpSpec(
        name="sort",
        function=lm.sort,
        formula=ordered,
        dtypes=ALL,
        cases=lines,
        tolerance=0,
        edges=(
            Edge("A11", (TIES,), ([10.0, 1000.0, 1.0, 100.0],), grad=[1.0, 10.0, 100.0, 1000.0],
                 kwargs={"axis": 0, "descending": False}),
            Edge("descending, ties", ([1.0, 3.0, 3.0, 2.0],), ([1000.0, 1.0, 10.0, 100.0],),
                 grad=[1.0, 10.0, 100.0, 1000.0], kwargs={"axis": 0, "descending": True}),
        ),
        covers=("argsort",),
    ),
    OpSpec(
        name="argsort",
        function=lm.argsort,
        formula=order_of,
        dtypes=ALL,
        result=lambda dtype: lm.int64,
        cases=lines,
        tolerance=0,
        differentiable=False,
    ),
    OpSpec(
        name="topk",
        function=lambda x, k, axis, largest: lm.topk(x, k, axis, largest=largest)[0],
        formula=first_ordered,
        dtypes=NUMBERS,
        cases=few,
        tolerance=0,
        edges=(
            Edge("ties", ([1.0, 3.0, 3.0, 3.0],), ([0.0, 1.0, 10.0, 0.0],), grad=[1.0, 10.0],
                 kwargs={"k": 2, "axis": 0, "largest": True}),
        ),
    ),
    OpSpec(
        name="topk positions",
        function=lambda x, k, axis, largest: lm.topk(x, k, axis, largest=largest)[1],
        formula=first_of_order,
        dtypes=NUMBERS,
        result=lambda dtype: lm.int64,
        cases=few,
        tolerance=0,
        differentiable=False,
    ),
    OpSpec(
        name="searchsorted",
        function=lm.searchsorted,
        formula=searched,
        dtypes=ALL,
        result=lambda dtype: lm.int64,
        cases=searches,
        tolerance=0,
        differentiable=False,
    ),
    OpSpec(
        name="unique",
        function=lm.unique,
        formula=distinct,
        dtypes=ALL,
        cases=joined(repeated_values, repeated_slices),
        tolerance=0,
        edges=(
            Edge("ties go to the first", ([2.0, 1.0, 2.0],), ([10.0, 1.0, 0.0],), grad=[1.0, 10.0]),
        ),
    ),
    *(
        OpSpec(
            name=f"unique {name}",
            function=lambda x, axis=None, place=place: lm.unique(x, axis=axis, **EVERYTHING)[place],
            formula=distinct_and_more(place),
            dtypes=(*FLOATS, *INTS[:2], lm.bool_),
            result=lambda dtype: lm.int64,
            cases=joined(repeated_values, repeated_slices),
            tolerance=0,
            differentiable=False,
        )
        for place, name in enumerate(("", "index", "inverse", "counts"))
        if place
    ),
]  # fmt: skip
