"""Indexing: what NumPy reads and writes; duplicates, negative indices, masks."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.dtypes import ALL
from lumus.testing.op_spec import Case, Edge, OpSpec, Source

NUMBERS = tuple(dtype for dtype in ALL if dtype is not lm.bool_)
SHAPE = (4, 3, 5)
MASK = np.array([[True, False, True], [False] * 3, [True] * 3, [False, True, False]])

# Each is (label, shape, index); arrays are given to lumus as tensors.
BASIC: list[tuple[str, tuple[int, ...], Any]] = [
    ("int", SHAPE, 1),
    ("negative int", SHAPE, -1),
    ("all ints", SHAPE, (1, -1, 2)),
    ("slices", SHAPE, (slice(1, 3), slice(None), slice(None, None, 2))),
    ("negative step", SHAPE, (slice(None, None, -1), Ellipsis, slice(4, 0, -2))),
    ("new axes", SHAPE, (None, 0, Ellipsis, None)),
    ("nothing", SHAPE, (slice(2, 2),)),
    ("ellipsis alone", SHAPE, Ellipsis),
    ("0-d", (), Ellipsis),
    ("0-d new axis", (), None),
    ("beyond the end", (5,), slice(2, 100)),
]
ADVANCED: list[tuple[str, tuple[int, ...], Any]] = [
    ("indices", SHAPE, np.array([2, 0, 2, -1])),
    ("indices of two axes", SHAPE, (np.array([0, 1]), np.array([2, -3]))),
    ("broadcast indices", SHAPE, (np.array([[0], [3]]), np.array([1, 2, 0]))),
    ("indices in the middle", SHAPE, (slice(None), np.array([2, 2]), slice(None, None, -1))),
    ("apart", SHAPE, (np.array([0, 1]), slice(None), np.array([4, 0]))),
    ("apart by a new axis", SHAPE, (np.array([0, 1]), None, np.array([2, 0]))),
    ("beside an int", SHAPE, (1, slice(None), np.array([0, 0, 3]))),
    ("mask", SHAPE, MASK),
    ("mask of one axis", SHAPE, (slice(None), np.array([True, False, True]))),
    ("mask of all", SHAPE, np.ones(SHAPE, bool)),
    ("mask of none", SHAPE, np.zeros(SHAPE, bool)),
    ("no indices", SHAPE, np.zeros((0,), np.int64)),
    ("0-d index", SHAPE, np.array(2)),
    ("int32 indices", SHAPE, np.array([1, 3], np.int32)),
]


def as_index(index: Any, device: Any) -> Any:
    """NumPy arrays in an index as tensors."""
    if isinstance(index, tuple):
        return tuple(as_index(one, device) for one in index)
    return lm.tensor(index, device=device) if isinstance(index, np.ndarray) else index


def reading_cases(source: Source) -> Iterable[Case]:
    for label, shape, index in (*BASIC, *ADVANCED):
        yield Case(label, (source.draw(shape),), {"index": index})


def writing_cases(source: Source) -> Iterable[Case]:
    for label, shape, index in (*BASIC, *ADVANCED):
        selected = np.empty(shape)[index].shape
        inputs = (source.draw(shape), source.draw(selected))
        yield Case(label, inputs, {"index": index})
        narrow = selected[1:] if selected else ()
        yield Case(f"{label}, broadcast", (inputs[0], source.draw(narrow)), {"index": index})


def getitem(x: Any, index: Any) -> Any:
    return x[as_index(index, x.device)]


def read(x: Any, index: Any) -> Any:
    return np.array(x[index])


def at_set(x: Any, values: Any, index: Any) -> Any:
    return x.at[as_index(index, x.device)].set(values)


def at_add(x: Any, values: Any, index: Any) -> Any:
    return x.at[as_index(index, x.device)].add(values)


def setitem(x: Any, values: Any, index: Any) -> Any:
    copy = x.copy()
    copy[as_index(index, x.device)] = values
    return copy


def written(x: Any, values: Any, index: Any) -> Any:
    result = x.copy()
    result[index] = values
    return result


def added(x: Any, values: Any, index: Any) -> Any:
    result = x.copy()
    np.add.at(result, index, values)
    return result


# ------------------------------------------------------------------------ along an axis, and inner


def take_cases(source: Source) -> Iterable[Case]:
    for shape, picked, axis in (
        (SHAPE, (3,), 0), (SHAPE, (2, 2), 1), (SHAPE, (), -1), ((5,), (7,), 0), ((5,), (0,), 0),
        ((3, 0), (2,), 0),
    ):  # fmt: skip
        inputs = (source.draw(shape), source.indices(picked, shape[axis]))
        yield Case(f"{picked} of {shape} along {axis}", inputs, {"axis": axis})


def along_axis_cases(source: Source) -> Iterable[Case]:
    for shape, count, axis in (
        ((5,), 7, 0), (SHAPE, 2, 1), (SHAPE, 6, -1), (SHAPE, 0, 0), ((0, 3), 0, 0), ((3, 0), 2, 0),
    ):  # fmt: skip
        picked = list(shape)
        picked[axis] = count
        inputs = (source.draw(shape), source.indices(tuple(picked), shape[axis]))
        yield Case(f"{count} of {shape} along {axis}", inputs, {"axis": axis})


def scatter_cases(source: Source) -> Iterable[Case]:
    for case in along_axis_cases(source):
        x, indices = case.inputs
        yield Case(case.label, (x, indices, source.draw(indices.shape)), case.kwargs)


def index_add_cases(source: Source) -> Iterable[Case]:
    for shape, count, axis in (((5,), 7, 0), (SHAPE, 2, 1), (SHAPE, 6, -1), (SHAPE, 0, 0)):
        values = list(shape)
        values[axis] = count
        inputs = (
            source.draw(shape),
            source.indices((count,), shape[axis]),
            source.draw(tuple(values)),
        )
        yield Case(f"{count} of {shape} along {axis}", inputs, {"axis": axis})


def scattered(x: Any, indices: Any, values: Any, axis: int) -> Any:
    result = x.copy()
    for place in np.ndindex(indices.shape):
        target = list(place)
        target[axis] = indices[place]
        result[tuple(target)] += values[place]
    return result


def index_added(x: Any, indices: Any, values: Any, axis: int) -> Any:
    result = np.moveaxis(x, axis, 0).copy()
    for index, row in zip(indices, np.moveaxis(values, axis, 0), strict=True):
        result[index] += row
    return np.moveaxis(result, 0, axis)


def inner_cases(source: Source) -> Iterable[Case]:
    for shapes in (((3,),), ((2, 1), (3,)), ((2,), (2,), (2,)), ((),), ((0,),)):
        indices = [source.indices(shape, SHAPE[axis]) for axis, shape in enumerate(shapes)]
        yield Case(f"indices {shapes}", (source.draw(SHAPE), *indices))


def inner_put_cases(source: Source) -> Iterable[Case]:
    for accumulate in (False, True):
        if accumulate and source.dtype.kind == "bool":
            continue
        for case in inner_cases(source):
            x, *indices = case.inputs
            selected = x[tuple(indices)].shape
            for shape in (selected, selected[-1:]):
                inputs = (x, source.draw(shape), *indices)
                yield Case(f"{case.label}, values {shape}", inputs, {"accumulate": accumulate})


def index_put(x: Any, values: Any, *indices: Any, accumulate: bool) -> Any:
    return added(x, values, indices) if accumulate else written(x, values, indices)


def last_writer_cases(source: Source) -> Iterable[Case]:
    for shapes, bounds in (
        (((7,),), (3,)),
        (((2, 1), (5,)), (2, 2)),
        (((),), (4,)),
        (((0,),), (2,)),
    ):
        indices = [
            source.indices(shape, bound) for shape, bound in zip(shapes, bounds, strict=True)
        ]
        yield Case(f"indices {shapes}", tuple(indices), {"bounds": bounds})


def last_writers(*indices: Any, bounds: Any) -> Any:
    places = np.broadcast_arrays(*indices)
    owner = np.full(bounds, -1)
    owner[tuple(one.ravel() for one in places)] = np.arange(places[0].size)
    # NumPy documents that the last of duplicate assignments stays.
    winners = owner[tuple(one.ravel() for one in places)]
    return (winners == np.arange(places[0].size)).reshape(places[0].shape)


def counted_numbers(source: Source) -> Iterable[Case]:
    for count, minlength in ((0, 0), (0, 3), (1, 0), (40, 5), (7, 30)):
        numbers = source.random.integers(0, 9, count)
        kwargs = {"minlength": minlength}
        yield Case(f"{count} numbers, {kwargs}", (numbers, source.draw((count,))), kwargs)


SPECS = [
    OpSpec(
        name="getitem",
        function=getitem,
        formula=read,
        cases=reading_cases,
        dtypes=ALL,
        tolerance=0,
        covers=("slice", "unslice", "index", "index_put"),
    ),
    OpSpec(
        name="at.set",
        function=at_set,
        formula=written,
        cases=writing_cases,
        dtypes=ALL,
        tolerance=0,
        covers=("index_put", "last_writer", "slice_put"),
        edges=(
            Edge(
                "duplicates, only the last gets gradient",
                ([1.0, 2.0, 3.0], [10.0, 20.0]),
                ([1.0, 0.0, 1.0], [0.0, 1.0]),
                kwargs={"index": np.array([1, 1])},
            ),
            Edge(
                "S2 slice overwritten",
                ([1.0, 2.0, 3.0, 4.0], [10.0, 20.0]),
                ([1.0, 0.0, 0.0, 1.0], [1.0, 1.0]),
                kwargs={"index": slice(1, 3)},
            ),
        ),
    ),
    OpSpec(
        name="at.add",
        function=at_add,
        formula=added,
        cases=writing_cases,
        dtypes=NUMBERS,
        absolute=True,
        tolerance=2,
        covers=("index_put", "unslice"),
        edges=(
            Edge(
                "duplicates accumulate",
                ([1.0, 2.0], [10.0, 20.0]),
                ([3.0, 5.0], [5.0, 5.0]),
                grad=[3.0, 5.0],
                kwargs={"index": np.array([1, 1])},
            ),
        ),
    ),
    OpSpec(
        name="setitem",
        function=setitem,
        formula=written,
        cases=writing_cases,
        dtypes=ALL,
        tolerance=0,
        differentiable=False,
        covers=("copy",),
    ),
    OpSpec(
        name="take",
        function=lm.take,
        formula=np.take,
        cases=take_cases,
        dtypes=ALL,
        fixed=(1,),
        tolerance=0,
        covers=("index", "index_put"),
        edges=(
            Edge(
                "duplicates accumulate",
                ([1.0, 2.0], [1, 1, -1]),
                ([0.0, 6.0], None),
                grad=[1.0, 2.0, 3.0],
                kwargs={"axis": 0},
            ),
        ),
    ),
    OpSpec(
        name="take_along_axis",
        function=lm.take_along_axis,
        formula=np.take_along_axis,
        cases=along_axis_cases,
        dtypes=ALL,
        fixed=(1,),
        tolerance=0,
        edges=(
            Edge(
                "duplicates accumulate",
                ([1.0, 2.0], [1, 1, -1]),
                ([0.0, 6.0], None),
                grad=[1.0, 2.0, 3.0],
                kwargs={"axis": 0},
            ),
        ),
    ),
    OpSpec(
        name="scatter_add",
        function=lm.scatter_add,
        formula=scattered,
        cases=scatter_cases,
        dtypes=NUMBERS,
        fixed=(1,),
        absolute=True,
        tolerance=2,
    ),
    OpSpec(
        name="index_add",
        function=lm.index_add,
        formula=index_added,
        cases=index_add_cases,
        dtypes=NUMBERS,
        fixed=(1,),
        absolute=True,
        tolerance=2,
        covers=("index_put",),
    ),
    OpSpec(
        name="index",
        function=lambda x, *indices: apply("index", x, *indices),
        fixed=(1, 2, 3),
        formula=lambda x, *indices: np.array(x[indices]),
        cases=inner_cases,
        dtypes=ALL,
        tolerance=0,
    ),
    OpSpec(
        name="index_put",
        formula=index_put,
        cases=inner_put_cases,
        dtypes=ALL,
        fixed=(2, 3, 4),
        function=lambda x, values, *indices, accumulate: apply(
            "index_put", x, values, *indices, accumulate=accumulate
        ),
        absolute=True,
        tolerance=2,
    ),
    OpSpec(
        name="last_writer",
        formula=last_writers,
        cases=last_writer_cases,
        dtypes=(lm.int64,),
        function=lambda *indices, bounds: apply("last_writer", *indices, bounds=bounds),
        fixed=(0, 1),
        result=lambda dtype: lm.bool_,
        tolerance=0,
        differentiable=False,
    ),
    OpSpec(
        name="bincount",
        function=lambda x, weights, **kwargs: lm.bincount(x, weights, **kwargs),
        formula=np.bincount,
        cases=counted_numbers,
        fixed=(0,),
        absolute=True,
        tolerance=4,
    ),
]
