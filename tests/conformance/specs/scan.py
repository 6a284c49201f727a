"""Scans: 80-bit formulas, zeros anywhere in a product, far-apart exponents, ties and NaN."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dispatch import apply
from lumus.testing.op_spec import Case, Domain, Edge, OpSpec, Source, joined
from tests.conformance.specs.reduce import NUMBERS, SMALL, widening

INF, NAN = math.inf, math.nan

# Single lines, several at once, more than a tile of them, columns side by side, axes of length 0.
_SHAPES = (
    ((1,), 0), ((5,), -1), ((0,), 0), ((2, 0), 1), ((0, 3), 1), ((2, 3, 4), 1), ((2, 3, 4), 0),
    ((3, 67), -1), ((67, 3), 0), ((4, 40), 0), ((2, 3, 20), 1), ((5, 300), 1),
)  # fmt: skip


def lines(domain: Domain | None = None, shapes: Any = _SHAPES) -> Any:
    def cases(source: Source) -> Iterable[Case]:
        for shape, axis in shapes:
            yield Case(f"shape {shape}, axis {axis}", (source.draw(shape, domain),), {"axis": axis})
        repeated = np.broadcast_to(source.draw((3, 1), domain), (3, 4))
        yield Case("stride 0", (repeated,), {"axis": 1}, smooth=False)

    return cases


def special_lines(source: Source) -> Iterable[Case]:
    if source.dtype.kind != "float":
        low, high = 0, 1
        if source.dtype.kind == "int":
            bounds = np.iinfo(source.dtype.name)
            low, high = int(bounds.min), int(bounds.max)
        ends = np.array([[low, high, 0, high], [high, high, low, 1]])
        yield Case("ends of the range", (ends,), {"axis": 1})
        return
    rows = np.tile(source.draw((1, 4)), (6, 1))
    rows[:, 1] = (INF, -INF, NAN, 0.0, -0.0, 1.0)
    rows[:, 3] = (-INF, 1.0, 1.0, INF, 2.0, 2.0)
    rows[5] = -0.0
    yield Case("special values", (rows,), {"axis": 1}, smooth=False)
    yield Case("special columns", (np.repeat(rows.T, 4, axis=1),), {"axis": 0}, smooth=False)


def _wide(x: Any) -> Any:
    return x.astype(np.longdouble) if x.dtype.kind == "f" else x.astype(np.int64)


def _narrow(x: Any) -> Any:
    return x.astype(np.float64) if x.dtype == np.longdouble else x


def running_sums(x: Any, axis: int) -> Any:
    return _narrow(np.cumsum(_wide(x), axis=axis))


def running_products(x: Any, axis: int) -> Any:
    return _narrow(np.cumprod(_wide(x), axis=axis))


# The range of 80-bit floats is so wide that no largest element has to be taken out.
def running_log_sums(x: Any, axis: int) -> Any:
    return _narrow(np.log(np.cumsum(np.exp(_wide(x)), axis=axis)))


def running_extremes(better: Any) -> Any:
    """(values, positions), by looking at each line from its start."""

    def formula(x: Any, axis: int) -> tuple[Any, Any]:
        values, positions = np.empty_like(x), np.empty(x.shape, np.int64)
        moved = [np.moveaxis(one, axis, -1) for one in (x, values, positions)]
        for place in np.ndindex(moved[0].shape[:-1]):
            line = moved[0][place].tolist()
            for end in range(len(line)):
                nans = [at for at in range(end + 1) if line[at] != line[at]]
                best = nans[0] if nans else line.index(better(line[: end + 1]))
                moved[1][place][end], moved[2][place][end] = line[best], best
        return values, positions

    return formula


def recurrence(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """The solution of the equations s = b + (a on the diagonal beside the main one) s."""
    a, b = (np.moveaxis(one, axis, -1) for one in (a, b))
    count = a.shape[-1]
    matrix = np.zeros((*a.shape, count)) + np.eye(count)
    for step in range(1, count):
        matrix[..., step, step - 1] = -a[..., step]
    if reverse:
        matrix = np.swapaxes(matrix, -1, -2)
    solved = np.linalg.solve(matrix, b[..., None])[..., 0] if count else b
    return np.moveaxis(solved, -1, axis)


def pairs_of_lines(source: Source) -> Iterable[Case]:
    gentle = Domain(low=-1.2, high=1.2)
    for shape, axis in (((1,), 0), ((6,), 0), ((0,), 0), ((5, 7), 1), ((4, 20), 0), ((2, 3, 2), 1)):
        for reverse in (False, True):
            kwargs = {"axis": axis, "reverse": reverse}
            inputs = (source.draw(shape, gentle), source.draw(shape))
            yield Case(f"shape {shape}, {kwargs}", inputs, kwargs)


def ties(source: Source) -> Iterable[Case]:
    rows = np.array([[1, 3, 3, 2], [2, 2, 1, 1]])
    yield Case("ties", (rows.astype(np.float64) if source.dtype.kind == "float" else rows,),
               {"axis": 1}, smooth=False)  # fmt: skip


def products_with_zeros(source: Source) -> Iterable[Case]:
    """Running products are polynomials: smooth at zeros, too, however many there are."""
    for zeros in ((0,), (2,), (4,), (1, 3), (0, 1, 2, 3, 4)):
        rows = source.draw((2, 5), SMALL)
        rows[:, zeros] = 0
        yield Case(f"zeros at {zeros}", (rows,), {"axis": 1})


def far_apart(source: Source) -> Iterable[Case]:
    if source.dtype.name in ("float64", "float32"):
        rows = np.array(
            [[1000.0, 1000.0, 999.0], [-1000.0, 0.0, 1000.0], [-1e4, -1e4, -1e4], [0.0, 40.0, 1.0]]
        )
        yield Case("far apart", (rows,), {"axis": 1}, smooth=False)
        yield Case("far apart, columns", (np.repeat(rows.T, 5, 1),), {"axis": 0}, smooth=False)
    rows = np.full((2, 3), -INF)
    rows[1, 1] = 1.0
    yield Case("-inf", (rows,), {"axis": 1}, smooth=False)


SPREAD = Domain(low=-9.0, high=9.0)

SPECS = [
    OpSpec(
        name="cumsum",
        function=lm.cumsum,
        formula=running_sums,
        dtypes=(*NUMBERS, lm.bool_),
        result=widening,
        cases=joined(lines(), special_lines),
        absolute=True,
        tolerance=4,
        edges=(
            Edge("G13", ([1.0, 2.0, 3.0],), ([111.0, 110.0, 100.0],), grad=[1.0, 10.0, 100.0],
                 kwargs={"axis": 0}),
        ),
    ),
    OpSpec(
        name="cumprod",
        function=lm.cumprod,
        formula=running_products,
        dtypes=NUMBERS,
        result=widening,
        cases=joined(lines(SMALL), special_lines, products_with_zeros),
        tolerance=20,
        edges=(
            Edge("B7", ([2.0, 0.0, 3.0, 4.0],), ([1.0, 32.0, 0.0, 0.0],), kwargs={"axis": 0}),
            Edge("first is 0", ([0.0, 2.0, 3.0],), ([9.0, 0.0, 0.0],), kwargs={"axis": 0}),
        ),
        covers=("recurrence",),
    ),
    OpSpec(
        name="recurrence",
        function=lambda a, b, axis, reverse: apply("recurrence", a, b, axis=axis, reverse=reverse),
        formula=recurrence,
        cases=pairs_of_lines,
        absolute=True,
        tolerance=60,
    ),
    OpSpec(
        name="logcumsumexp",
        function=lm.logcumsumexp,
        formula=running_log_sums,
        cases=joined(lines(SPREAD), special_lines, far_apart),
        absolute=True,
        tolerance=2,
        edges=(
            Edge("all -inf", ([-INF, -INF],), ([0.0, 0.0],), kwargs={"axis": 0}),
            Edge("-inf first", ([-INF, 1.0],), ([0.0, 1.0],), kwargs={"axis": 0}),
            Edge("inf later", ([1.0, INF],), ([1.0, NAN],), kwargs={"axis": 0}),
        ),
    ),
    *(
        spec
        for name, better in (("cummax", max), ("cummin", min))
        for spec in (
            OpSpec(
                name=name,
                function=lambda x, axis, name=name: getattr(lm, name)(x, axis)[0],
                formula=lambda x, axis, better=better: running_extremes(better)(x, axis)[0],
                dtypes=NUMBERS,
                cases=joined(lines(), special_lines, ties),
                tolerance=0,
                edges=(
                    Edge("ties go to the first", ([2.0, 2.0, 2.0],), ([111.0, 0.0, 0.0],),
                         grad=[1.0, 10.0, 100.0], kwargs={"axis": 0}),
                    Edge("the first NaN stays", ([1.0, NAN, NAN],), ([1.0, 110.0, 0.0],),
                         grad=[1.0, 10.0, 100.0], kwargs={"axis": 0}),
                ),
            ),
            OpSpec(
                name=f"{name} positions",
                function=lambda x, axis, name=name: getattr(lm, name)(x, axis)[1],
                formula=lambda x, axis, better=better: running_extremes(better)(x, axis)[1],
                dtypes=NUMBERS,
                result=lambda dtype: lm.int64,
                cases=joined(lines(), special_lines, ties),
                tolerance=0,
                differentiable=False,
            ),
        )
    ),
]  # fmt: skip
