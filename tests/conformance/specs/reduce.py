"""Reductions, softmax and its kin: NumPy formulas in 80 bits, ties, zeros, rows of infinities."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.dtypes import DType
from lumus.testing.op_spec import (
    FLOATS,
    Case,
    Domain,
    Edge,
    OpSpec,
    Source,
    elementwise_cases,
    joined,
    reduction_cases,
    rough,
)

INF, NAN = math.inf, math.nan
WHOLE = {"axis": None, "keepdims": False}
ROWS = {"axis": 1, "keepdims": False}
INTS = (lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8)
NUMBERS = (*FLOATS, *INTS)


def widening(dtype: DType) -> DType:
    """Int and Bool give int64."""
    return dtype if dtype.kind == "float" else lm.int64


def _wide(x: Any) -> Any:
    return x.astype(np.longdouble) if x.dtype.kind == "f" else x.astype(np.int64)


def _narrow(x: Any) -> Any:
    return x.astype(np.float64) if x.dtype == np.longdouble else x


def summed(x: Any, axis: Any, keepdims: bool) -> Any:
    return _narrow(np.sum(_wide(x), axis=axis, keepdims=keepdims))


def averaged(x: Any, axis: Any, keepdims: bool) -> Any:
    return _narrow(np.asarray(_wide(x).sum(axis=axis, keepdims=keepdims)) / _count(x, axis))


def _count(x: Any, axis: Any) -> Any:
    axes = range(x.ndim) if axis is None else np.atleast_1d(np.asarray(axis, int))
    return np.longdouble(math.prod(x.shape[place] for place in axes))


def multiplied(x: Any, axis: Any, keepdims: bool) -> Any:
    return _narrow(np.prod(_wide(x), axis=axis, keepdims=keepdims))


def variance(x: Any, axis: Any, keepdims: bool, correction: float = 0.0) -> Any:
    count = _count(x, axis)
    centred = _wide(x) - np.asarray(_wide(x).sum(axis=axis, keepdims=True)) / count
    total = np.asarray((centred**2).sum(axis=axis, keepdims=keepdims))
    divisor = count - correction
    return _narrow(total / divisor if divisor > 0 else total * NAN)


def deviation(x: Any, axis: Any, keepdims: bool, correction: float = 0.0) -> Any:
    return np.sqrt(variance(x, axis, keepdims, correction))


# The range of 80-bit floats is so wide that no largest element has to be taken out.
def log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    return _narrow(np.log(np.asarray(np.exp(_wide(x)).sum(axis=axis, keepdims=keepdims))))


def softmax(x: Any, axis: int) -> Any:
    exps = np.exp(_wide(x))
    total = exps.sum(axis=axis, keepdims=True)
    return np.where(np.isfinite(total), _narrow(exps / total), NAN)


def log_softmax(x: Any, axis: int) -> Any:
    total = np.exp(_wide(x)).sum(axis=axis, keepdims=True)
    return np.where(np.isfinite(total) & (total > 0), _narrow(_wide(x) - np.log(total)), NAN)


def softmax_grad(grad: Any, y: Any, axis: int) -> Any:
    return y * (grad - np.einsum("ij,ij->i" if axis == 1 else "ij,ij->j", grad, y)[
        (slice(None), None) if axis == 1 else (None, slice(None))
    ])  # fmt: skip


def log_softmax_grad(grad: Any, y: Any, axis: int) -> Any:
    return grad - np.exp(y) * np.add.reduce(grad, axis=axis, keepdims=True)


def smooth_from(least: int, cases: Any, **kwargs: Any) -> Any:
    """The same cases with more arguments, smooth where at least so many elements are reduced."""

    def chosen(source: Source) -> Iterable[Case]:
        for case in cases(source):
            enough = _count(case.inputs[0], case.kwargs["axis"]) >= least
            label = f"{case.label}, {kwargs}"
            yield Case(label, case.inputs, {**case.kwargs, **kwargs}, case.smooth and bool(enough))

    return chosen


def along_axis(source: Source) -> Iterable[Case]:
    for shape, axis in (
        ((1,), 0), ((5,), -1), ((0,), 0), ((2, 0), 1), ((0, 3), 1), ((2, 3, 4), 1), ((2, 3, 4), 0),
        ((3, 67), -1), ((67, 3), 0),
    ):  # fmt: skip
        yield Case(f"shape {shape}, axis {axis}", (source.draw(shape),), {"axis": axis})
    repeated = np.broadcast_to(source.draw((3, 1)), (3, 4))
    yield Case("stride 0", (repeated,), {"axis": 1})
    if source.dtype is lm.float64 or source.dtype is lm.float32:
        rows = np.array([[1000.0, 1000.0, 999.0], [0.0, 1000.0, -1000.0], [-1e4, -1e4, -1e4]])
        yield Case("E1 E2 far apart", (rows,), {"axis": 1}, smooth=False)
    rows = np.tile(source.draw((1, 4)), (5, 1))
    rows[:, 1] = (INF, -INF, NAN, 0.0, 0.0)
    rows[4] = -INF
    yield Case("special values", (rows,), {"axis": 1}, smooth=False)


def pairs_along_axis(source: Source) -> Iterable[Case]:
    for shape, axis in (((2, 3), 1), ((4, 2), 0), ((3, 67), 1), ((0, 3), 1), ((3, 0), 1)):
        inputs = (source.draw(shape), source.draw(shape, Domain(low=-2.0, high=1.0)))
        yield Case(f"shape {shape}, axis {axis}", inputs, {"axis": axis})


def extreme_cases(source: Source) -> Iterable[Case]:
    yield from reduction_cases(of_nothing=False)(source)
    if source.dtype.kind == "int":
        bounds = np.iinfo(source.dtype.name)
        ends = np.array([[bounds.min, 0, bounds.max], [bounds.max, bounds.min, 0]])
        yield Case("ends of the range", (ends,), {"axis": 1, "keepdims": False})


def position_cases(source: Source) -> Iterable[Case]:
    for case in reduction_cases(of_nothing=False, several_axes=False)(source):
        if case.inputs[0].size or case.kwargs["axis"] is not None:
            yield case
    ties = np.array([[4, 9, 9, 1], [1, 1, 0, 0]])
    yield Case("A10 ties", (ties.astype(np.float64 if source.dtype.kind == "float" else int),),
               {"axis": 1, "keepdims": False})  # fmt: skip
    if source.dtype.kind == "float":
        rows = np.array([[1.0, NAN, 3.0, NAN], [INF, INF, -INF, 0.0]])
        yield Case("A10 NaN", (rows,), {"axis": 1, "keepdims": False})


SMALL = Domain(low=0.5, high=1.5)


def products_with_zeros(source: Source) -> Iterable[Case]:
    """A product is a polynomial: smooth at zeros, too, however many there are."""
    for number_of_zeros in (1, 2, 3):
        rows = source.draw((2, 5), SMALL)
        rows[:, :number_of_zeros] = 0
        yield Case(f"{number_of_zeros} zeros", (rows,), ROWS)
        yield Case(f"{number_of_zeros} zeros among all", (rows,), WHOLE)


THREE_ROWS = [[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 0.0, 3.0]]

SPECS = [
    OpSpec(
        name="sum",
        function=lm.sum,
        formula=summed,
        dtypes=(*NUMBERS, lm.bool_),
        result=widening,
        cases=reduction_cases(),
        absolute=True,
        tolerance=4,
        edges=(Edge("infinite", ([INF, -INF],), ([1.0, 1.0],), kwargs=WHOLE),),
    ),
    OpSpec(
        name="mean",
        function=lm.mean,
        formula=averaged,
        cases=reduction_cases(),
        absolute=True,
        edges=(Edge("two", ([1.0, 2.0],), ([0.5, 0.5],), kwargs=WHOLE),),
    ),
    OpSpec(
        name="prod",
        function=lm.prod,
        formula=multiplied,
        dtypes=NUMBERS,
        result=widening,
        cases=joined(reduction_cases(SMALL), products_with_zeros),
        tolerance=20,
        edges=(
            Edge("B1 one zero", ([2.0, 0.0, 5.0, 3.0],), ([0.0, 30.0, 0.0, 0.0],), kwargs=WHOLE),
            Edge("B2 two zeros", ([0.0, 4.0, 0.0],), ([0.0, 0.0, 0.0],), kwargs=WHOLE),
            Edge(
                "B3 zeros by row",
                (THREE_ROWS,),
                ([[6.0, 3.0, 2.0], [6.0, 0.0, 0.0], [0.0, 0.0, 0.0]],),
                kwargs=ROWS,
            ),
            Edge("B6 nothing", (np.zeros((2, 0)),), (np.zeros((2, 0)),), kwargs=ROWS),
        ),
    ),
    OpSpec(
        name="max",
        function=lm.max,
        formula=np.max,
        dtypes=NUMBERS,
        cases=extreme_cases,
        tolerance=0,
        edges=(
            Edge(
                "A1 three-way tie",
                ([3.0, 1.0, 3.0, 3.0],),
                ([2.0, 0.0, 2.0, 2.0],),
                grad=6.0,
                kwargs=WHOLE,
            ),
            Edge("tie of infinities", ([-INF, -INF],), ([0.5, 0.5],), kwargs=WHOLE),
            Edge(
                "ties by row",
                ([[2.0, 5.0, 5.0], [7.0, 7.0, 7.0]],),
                ([[0.0, 0.5, 0.5], [1.0, 1.0, 1.0]],),
                grad=[1.0, 3.0],
                kwargs=ROWS,
            ),
        ),
    ),
    OpSpec(
        name="min",
        function=lm.min,
        formula=np.min,
        dtypes=NUMBERS,
        cases=extreme_cases,
        tolerance=0,
        edges=(
            Edge(
                "A1 three-way tie",
                ([3.0, 5.0, 3.0, 3.0],),
                ([2.0, 0.0, 2.0, 2.0],),
                grad=6.0,
                kwargs=WHOLE,
            ),
            Edge("tie of infinities", ([INF, INF],), ([0.5, 0.5],), kwargs=WHOLE),
        ),
    ),
    *[
        OpSpec(
            name=name,
            function=getattr(lm, name),
            formula=getattr(np, name),
            dtypes=(lm.bool_,),
            cases=reduction_cases(),
            tolerance=0,
            differentiable=False,
        )
        for name in ("any", "all")
    ],
    *[
        OpSpec(
            name=name,
            function=getattr(lm, name),
            formula=getattr(np, name),
            dtypes=NUMBERS,
            result=lambda dtype: lm.int64,
            cases=position_cases,
            tolerance=0,
            differentiable=False,
        )
        for name in ("argmax", "argmin")
    ],
    OpSpec(
        name="logsumexp",
        function=lm.logsumexp,
        formula=log_sum_exp,
        cases=reduction_cases(),
        absolute=True,
        tolerance=2,
        edges=(
            Edge(
                "all -inf", ([[-INF, -INF], [0.0, 0.0]],), ([[0.0, 0.0], [0.5, 0.5]],), kwargs=ROWS
            ),
            Edge("large", ([100.0, 100.0],), ([0.5, 0.5],), kwargs=WHOLE),
            Edge("one -inf", ([-INF, 3.0],), ([0.0, 1.0],), kwargs=WHOLE),
        ),
    ),
    OpSpec(
        name="softmax",
        function=lm.softmax,
        formula=softmax,
        cases=along_axis,
        tolerance=2,
        edges=(
            Edge(
                "one -inf",
                ([-INF, 0.0, 0.0],),
                ([0.0, 0.25, -0.25],),
                grad=[5.0, 1.0, 0.0],
                kwargs={"axis": 0},
            ),
        ),
    ),
    OpSpec(
        name="log_softmax",
        function=lm.log_softmax,
        formula=log_softmax,
        cases=along_axis,
        absolute=True,
        tolerance=4,
        edges=(
            Edge(
                "E2 far apart",
                ([0.0, 1000.0],),
                ([1.0, -1.0],),
                grad=[1.0, 0.0],
                kwargs={"axis": 0},
            ),
        ),
    ),
    OpSpec(
        name="softmax_grad",
        function=lambda grad, y, axis: apply("softmax_grad", grad, y, axis=axis),
        formula=softmax_grad,
        cases=pairs_along_axis,
        absolute=True,
        tolerance=20,
    ),
    OpSpec(
        name="log_softmax_grad",
        formula=log_softmax_grad,
        cases=pairs_along_axis,
        absolute=True,
        function=lambda grad, y, axis: apply("log_softmax_grad", grad, y, axis=axis),
        tolerance=20,
    ),
    OpSpec(
        name="var",
        function=lm.var,
        formula=variance,
        absolute=True,
        tolerance=4,
        cases=joined(
            smooth_from(1, reduction_cases()), smooth_from(2, reduction_cases(), correction=1.0)
        ),
        dtypes=(lm.float64, lm.float32),
        edges=(
            Edge("C6 constant", ([4.0, 4.0, 4.0],), ([0.0, 0.0, 0.0],), kwargs=WHOLE),
            Edge("C7 one element", ([7.5],), ([0.0],), kwargs=WHOLE),
        ),
    ),
    OpSpec(
        name="std",
        function=lm.std,
        formula=deviation,
        absolute=True,
        tolerance=4,
        covers=("root",),
        cases=joined(
            smooth_from(2, reduction_cases()), smooth_from(2, reduction_cases(), correction=1.0)
        ),
        dtypes=(lm.float64, lm.float32),
        edges=(
            Edge("C6 constant", ([4.0, 4.0, 4.0],), ([0.0, 0.0, 0.0],), kwargs=WHOLE),
            Edge("C7 one element", ([7.5],), ([0.0],), kwargs=WHOLE),
        ),
    ),
    OpSpec(
        name="root",
        function=lambda x: apply("root", x),
        formula=np.sqrt,
        tolerance=0,
        cases=joined(elementwise_cases(Domain(low=0.2, high=4.0)), rough(elementwise_cases())),
        edges=(Edge("C1 zero", ([0.0, 4.0],), ([0.0, 0.25],)),),
    ),
]
