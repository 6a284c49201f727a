"""Norms of every power, distances, quantiles: 80-bit formulas, kinks, ties, ends of the range."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

import lumus as lm
from lumus.nn.functional import cosine_similarity, pairwise_distance
from lumus.testing.op_spec import Case, Domain, Edge, OpSpec, Source, joined, reduction_cases
from tests.conformance.specs.reduce import NUMBERS, ROWS, WHOLE
from tests.conformance.specs.sort import drawn

INF, NAN = math.inf, math.nan
POWERS = (2.0, 1.0, 0.0, INF, -INF, 3.0, 0.5, -1.0, 2.5, -2.0)


def normed(x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    """By the definition, in numbers of a range that no power leaves."""
    size = np.abs(x).astype(np.longdouble)
    if math.isinf(p):
        return (np.max if p > 0 else np.min)(size.astype(x.dtype), axis=axis, keepdims=keepdims)
    if p == 0:
        return np.asarray(np.sum(x != 0, axis=axis, keepdims=keepdims), np.float64)
    total = np.asarray((size ** np.longdouble(p)).sum(axis=axis, keepdims=keepdims))
    return (total ** (1 / np.longdouble(p))).astype(np.float64)


def spaced(source: Source, shape: tuple[int, ...]) -> Any:
    """Elements away from 0 whose magnitudes are far from each other."""
    sizes = np.linspace(0.3, 3.0, math.prod(shape))
    signs = source.random.choice([-1.0, 1.0], sizes.shape)
    return (source.random.permutation(sizes) * signs).reshape(shape)


def powers(source: Source) -> Iterable[Case]:
    for given in reduction_cases(of_nothing=False)(source):
        x = spaced(source, given.inputs[0].shape) if given.smooth else given.inputs[0]
        case = replace(given, inputs=(x,))
        for p in POWERS if case.inputs[0].size < 10 else (2.0, INF, 3.0):
            if p < 0 and not case.inputs[0].size:
                continue
            kwargs = {"p": p, **case.kwargs}
            yield Case(f"{case.label}, p={p}", case.inputs, kwargs, case.smooth)
    for p in (2.0, 1.0, 0.0, INF, 3.0):
        if p < INF:
            kwargs = {"p": p, "axis": 1, "keepdims": False}
            yield Case(f"of nothing, p={p}", (np.zeros((2, 0)),), kwargs)
    if source.dtype.name in ("float64", "float32"):
        ends = np.finfo(source.dtype.name)
        for size in (float(ends.max) / 4, float(ends.tiny) * 4, float(ends.smallest_subnormal) * 3):
            rows = np.array([[size, -size, 0.0], [size, size / 2, -size / 2]])
            for p in (2.0, 3.0, 1.0, -1.0, 12.0):
                kwargs = {"p": p, **ROWS}
                yield Case(f"size {size}, p={p}", (rows,), kwargs, smooth=False)


def pairs_of_rows(source: Source) -> Iterable[Case]:
    for shape_x, shape_y in (
        ((3, 4), (2, 4)), ((1, 1), (1, 1)), ((0, 2), (3, 2)), ((2, 3), (0, 3)),
        ((2, 3, 2), (3, 2)), ((2, 1, 3, 2), (4, 5, 2)),
    ):  # fmt: skip
        inputs = (source.draw(shape_x), source.draw(shape_y) + 0.1)
        for p in (2.0, 1.0, INF, 0.0, 3.0, -1.0):
            yield Case(f"{shape_x}, {shape_y}, p={p}", inputs, {"p": p})
    yield Case("no columns", (np.zeros((2, 0)), np.zeros((3, 0))), {"p": 2.0})
    many = (source.draw((70, 3)), source.draw((67, 3)))
    for p in (2.0, -INF):
        yield Case(f"many rows, p={p}", many, {"p": p}, smooth=False)
    rows = np.array([[0.0, 1.0], [NAN, 1.0], [INF, 0.0], [-INF, 2.0]])
    for p in (2.0, 1.0, INF, 0.0, 3.0):
        yield Case(f"special values, p={p}", (rows, rows), {"p": p}, smooth=False)
    if source.dtype is lm.float64:
        far = np.array([[1e200, 0.0], [-1e200, 1e-200], [1e-200, 0.0]])
        for p in (2.0, 3.0, -1.0):
            yield Case(f"far and near, p={p}", (far, far + 0.0), {"p": p}, smooth=False)


def distances(x: Any, y: Any, p: float) -> Any:
    difference = x[..., :, None, :] - y[..., None, :, :]
    if not difference.shape[-1]:
        return np.zeros(difference.shape[:-1])
    return normed(difference, p, -1, False)


def pairs_of_vectors(source: Source) -> Iterable[Case]:
    for shape_x, shape_y in (((3, 4), (3, 4)), ((4,), (4,)), ((0, 2), (2,)), ((2, 3, 2), (3, 1))):
        inputs = (source.draw(shape_x), source.draw(shape_y))
        for p in (2.0, 1.0, INF):
            kwargs = {"p": p, "eps": 0.25}
            yield Case(f"{shape_x}, {shape_y}, p={p}", inputs, kwargs)


def several_quantiles(source: Source) -> Iterable[Case]:
    for number, case in enumerate(reduction_cases(of_nothing=False)(source)):
        q: Any = (0.3, 0.5, 1.0, [0.0, 0.25, 0.9], [0.6])[number % 5]
        x = drawn(source, case.inputs[0].shape)
        if not case.smooth:
            x = case.inputs[0]
        yield Case(f"{case.label}, q={q}", (x,), {"q": q, **case.kwargs}, case.smooth)


def every_method(source: Source) -> Iterable[Case]:
    methods = (
        "linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf",
        "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
        "normal_unbiased",
    )  # fmt: skip
    fractions = [0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.625, 0.75, 0.9, 1.0]
    for method in methods:
        for count in (1, 5, 8):
            kwargs = {"q": fractions, "axis": 0, "keepdims": False, "method": method}
            x = drawn(source, (count,))
            yield Case(f"{count} elements, {kwargs}", (x,), kwargs, smooth=count == 5)


def medians(source: Source) -> Iterable[Case]:
    for case in reduction_cases(of_nothing=False)(source):
        x = drawn(source, case.inputs[0].shape) if case.smooth else case.inputs[0]
        yield Case(case.label, (x,), case.kwargs, case.smooth)


def quantiles(x: Any, q: Any, axis: Any, keepdims: bool, method: Any = "linear") -> Any:
    return np.quantile(x, q, axis=axis, keepdims=keepdims, method=method)


def directions(source: Source) -> Iterable[Case]:
    for shape_x, shape_y, axis in (
        ((3, 4), (3, 4), 1), ((3, 4), (4,), -1), ((2, 5, 3), (5, 1), 1), ((4,), (4,), 0),
        ((0, 3), (3,), 1), ((3, 0), (3, 0), 1),
    ):  # fmt: skip
        inputs = (source.draw(shape_x), source.draw(shape_y))
        yield Case(f"{shape_x}, {shape_y}, axis {axis}", inputs, {"axis": axis})
    rows = np.array([[0.0, 0.0], [1.0, 1.0], [1e-3, 0.0]])
    yield Case("small", (rows, np.ones((3, 2))), {"axis": 1, "eps": 0.01}, smooth=False)


def cosines(x: Any, y: Any, axis: int, eps: float = 1e-8) -> Any:
    x, y = np.broadcast_arrays(x.astype(np.longdouble), y.astype(np.longdouble))
    sizes = [np.maximum(np.sqrt((one * one).sum(axis=axis)), eps) for one in (x, y)]
    return ((x * y).sum(axis=axis) / sizes[0] / sizes[1]).astype(np.float64)


SPECS = [
    OpSpec(
        name="norm",
        function=lm.norm,
        formula=normed,
        cases=powers,
        tolerance=8,
        edges=(
            *(
                Edge(f"C1 zero vector, p={p}", ([0.0, 0.0],), ([0.0, 0.0],), kwargs={"p": p})
                for p in POWERS
            ),
            *(
                Edge(f"a zero element, p={p}", ([0.0, 2.0],), ([0.0, 1.0],), kwargs={"p": p})
                for p in (2.0, 1.0, 3.0, 0.5, INF)
            ),
            Edge("C5 ties", ([3.0, -3.0, 1.0],), ([0.5, -0.5, 0.0],), kwargs={"p": INF}),
            Edge("ties of the least", ([3.0, -3.0, 4.0],), ([1.0, -1.0, 0.0],), grad=2.0,
                 kwargs={"p": -INF}),
            Edge("C3 large", ([3e19, 4e19],), ([0.6, 0.8],), kwargs={"p": 2.0}),
            Edge("a count is flat", ([3.0, 0.0],), ([0.0, 0.0],), kwargs={"p": 0.0}),
        ),
    ),
    OpSpec(
        name="count_nonzero",
        function=lm.count_nonzero,
        formula=np.count_nonzero,
        dtypes=(*NUMBERS, lm.bool_),
        result=lambda dtype: lm.int64,
        cases=reduction_cases(Domain(low=-1.0, high=1.0)),
        tolerance=0,
        differentiable=False,
    ),
    OpSpec(
        name="cdist",
        function=lm.cdist,
        formula=distances,
        cases=pairs_of_rows,
        absolute=True,
        tolerance=8,
        edges=tuple(
            Edge(f"C10 equal rows, p={p}", ([[1.0, 2.0]], [[1.0, 2.0]]),
                 ([[0.0, 0.0]], [[0.0, 0.0]]), kwargs={"p": p})
            for p in POWERS
        ),
    ),
    OpSpec(
        name="pairwise_distance",
        function=pairwise_distance,
        formula=lambda x, y, p, eps: normed(x - y + eps, p, -1, False),
        cases=pairs_of_vectors,
        absolute=True,
        tolerance=8,
        edges=(
            Edge("equal vectors", ([[1.0, 2.0]], [[1.0, 2.0]]), ([[0.0, 0.0]], [[0.0, 0.0]]),
                 kwargs={"eps": 0.0}),
        ),
    ),
    OpSpec(
        name="quantile",
        function=lm.quantile,
        formula=quantiles,
        cases=joined(several_quantiles, every_method),
        absolute=True,
        edges=(
            Edge("between two", ([3.0, 1.0, 2.0],), ([0.0, 0.5, 0.5],),
                 kwargs={"q": 0.25}),
            Edge("several", ([3.0, 1.0],), ([10.5, 0.5],), grad=[0.0, 1.0, 10.0],
                 kwargs={"q": [0.0, 0.5, 1.0]}),
            Edge("infinite neighbours", ([INF, INF, 1.0],), ([0.5, 0.5, 0.0],),
                 kwargs={"q": 0.75}),
        ),
    ),
    OpSpec(
        name="median",
        function=lm.median,
        formula=np.median,
        cases=medians,
        absolute=True,
        edges=(
            Edge("odd", ([3.0, 1.0, 2.0],), ([0.0, 0.0, 1.0],), kwargs=WHOLE),
            Edge("even", ([3.0, 1.0, 2.0, 0.0],), ([0.0, 0.5, 0.5, 0.0],), kwargs=WHOLE),
        ),
    ),
    OpSpec(
        name="cosine_similarity",
        function=cosine_similarity,
        formula=cosines,
        cases=directions,
        absolute=True,
        tolerance=4,
        edges=(
            Edge("zero vector", ([[0.0, 0.0]], [[1.0, 0.0]]), ([[1e8, 0.0]], [[0.0, 0.0]]),
                 kwargs={"axis": 1}),
        ),
    ),
]  # fmt: skip
