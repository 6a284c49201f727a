"""Matrix products: sums of products written out with einsum, in 80 bits."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dtypes import ALL
from lumus.testing.op_spec import FLOATS, Case, OpSpec, Source

SHAPES = (
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((1, 1), (1, 1)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
    ((0,), (0,)),
    ((2, 3), (4, 3, 2)),
    ((4, 2, 3), (3,)),
    ((3,), (4, 3, 2)),
    ((4, 1, 2, 3), (5, 3, 2)),
    ((5, 67), (67, 9)),
)


def matmul_cases(source: Source) -> Iterable[Case]:
    for x, y in SHAPES:
        yield Case(f"shapes {x}, {y}", (source.draw(x), source.draw(y)))
    repeated = np.broadcast_to(source.draw((1, 3)), (4, 3))
    yield Case("stride 0", (repeated, source.draw((3, 2))))


def product(x: Any, y: Any) -> Any:
    row, column = x.ndim == 1, y.ndim == 1
    a = x[None, :] if row else x
    b = y[:, None] if column else y
    if a.dtype.kind == "f":
        a, b = a.astype(np.longdouble), b.astype(np.longdouble)
    c = np.einsum("...ik,...kj->...ij", a, b)
    c = c[..., 0, :] if row else c
    c = c[..., 0] if column else c
    return c.astype(np.float64) if c.dtype == np.longdouble else c


def linear_cases(source: Source) -> Iterable[Case]:
    shapes = (
        ((3,), (2, 3)),
        ((4, 3), (2, 3)),
        ((2, 4, 3), (5, 3)),
        ((0, 3), (2, 3)),
        ((2, 0), (3, 0)),
    )
    for x, weight in (*shapes, ((1, 1), (1, 1)), ((5, 67), (9, 67)), ((2, 3), (0, 3))):
        yield Case(f"shapes {x}, {weight}", (source.draw(x), source.draw(weight)))
        with_bias = (source.draw(x), source.draw(weight), source.draw(weight[:1]))
        yield Case(f"shapes {x}, {weight}, bias", with_bias)
    column = (source.draw((40, 3)), source.draw((1, 3)), source.draw((1,)))
    yield Case("one output of many rows", column)
    every_second = source.draw((10,))[::2]
    yield Case("stride 2 of the bias", (source.draw((4, 3)), source.draw((5, 3)), every_second))
    large = (source.draw((50, 7)), source.draw((300, 7)), source.draw((300,)))
    yield Case("several pieces", large, smooth=False)
    repeated = np.broadcast_to(source.draw((1, 3)), (4, 3))
    yield Case("stride 0", (repeated, source.draw((2, 3))))


def linear_product(x: Any, weight: Any, bias: Any = 0.0) -> Any:
    return product(x, weight.T) + bias


MATRICES = (
    ((2, 3), 0),
    ((3, 3), 1),
    ((3, 3), -2),
    ((4, 2), 1),
    ((2, 3), 5),
    ((1, 1), 0),
    ((2, 3, 4), -1),
    ((0, 3), 0),
    ((2, 0, 3), 1),
    ((2, 2, 0), 0),
)


def diagonal_cases(source: Source) -> Iterable[Case]:
    for shape, offset in MATRICES:
        kwargs = {"offset": offset}
        yield Case(f"shape {shape}, {kwargs}", (source.draw(shape),), kwargs)


def diagonal(x: Any, offset: int) -> Any:
    rows, columns = x.shape[-2:]
    picked = [x[..., i, i + offset] for i in range(rows) if 0 <= i + offset < columns]
    return np.stack(picked, axis=-1) if picked else np.zeros((*x.shape[:-2], 0), x.dtype)


def outer_cases(source: Source) -> Iterable[Case]:
    for x, y in (((3,), (4,)), ((1,), (2,)), ((0,), (2,))):
        yield Case(f"shapes {x}, {y}", (source.draw(x), source.draw(y)))


def kron_cases(source: Source) -> Iterable[Case]:
    for x, y in (
        ((2, 3), (3, 2)),
        ((3,), (2,)),
        ((3,), (2, 2)),
        ((2, 1, 2), (3,)),
        ((), (2,)),
        ((0, 2), (2, 2)),
    ):
        yield Case(f"shapes {x}, {y}", (source.draw(x), source.draw(y)))


def tensordot_cases(source: Source) -> Iterable[Case]:
    for x, y, axes in (
        ((2, 3, 4), (3, 4, 2), 2),
        ((2, 3), (3, 4), 1),
        ((2,), (3,), 0),
        ((2, 3, 4), (4, 2, 5), ((0, 2), (1, 0))),
        ((2, 3), (4, 3), (-1, -1)),
        ((2, 3), (3, 2), ((1, 0), (0, 1))),
        ((2, 0), (0, 3), 1),
        ((), (), 0),
    ):
        inputs = (source.draw(x), source.draw(y))
        yield Case(f"shapes {x}, {y}, axes {axes}", inputs, {"axes": axes})


def tensor_product(x: Any, y: Any, axes: Any) -> Any:
    if isinstance(axes, int):
        axes = (range(x.ndim - axes, x.ndim), range(axes))
    ours, theirs = (list(np.atleast_1d(np.array(one, int))) for one in axes)
    ours, theirs = [one % x.ndim for one in ours], [one % y.ndim for one in theirs]
    first, second = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for one, other in zip(ours, theirs, strict=True):
        second[other] = first[one]
    left = [label for place, label in enumerate(first) if place not in ours]
    right = [label for place, label in enumerate(second) if place not in theirs]
    return np.asarray(np.einsum(x, first, y, second, [*left, *right], dtype=x.dtype))


EQUATIONS = (
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ji,kj->ik", (3, 2), (4, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iji->j", (3, 2, 3)),
    ("iii->i", (2, 2, 2)),
    ("ij->ji", (2, 3)),
    ("ba", (2, 3)),
    ("ij->", (2, 3)),
    ("ijk->j", (2, 3, 4)),
    ("i,i", (4,), (4,)),
    ("i,j->ji", (2,), (3,)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("ij,k->", (2, 3), (4,)),
    ("ijj,jkk->ik", (2, 3, 3), (3, 2, 2)),
    (",i->i", (), (3,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("abc,acd,dn->nab", (2, 3, 2), (2, 2, 3), (3, 2)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)),
    ("...ij,jk", (2, 2, 3), (3, 2)),
    ("i...,i...->...", (3, 2, 2), (3, 1, 2)),
    ("a...b->b...a", (2, 3, 2, 2)),
    ("...ii->...i", (2, 3, 3)),
    ("...,...", (2, 3), (3,)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("ij,jk->ik", (0, 2), (2, 3)),
    ("i j , j", (2, 3), (3,)),
)


def einsum_cases(source: Source) -> Iterable[Case]:
    for equation, *shapes in EQUATIONS:
        inputs = tuple(source.draw(shape) for shape in shapes)
        yield Case(f"{equation!r} of {shapes}", inputs, {"equation": equation})


def summed(*arrays: Any, equation: str) -> Any:
    wide = [one.astype(np.longdouble) if one.dtype.kind == "f" else one for one in arrays]
    result = np.array(np.einsum(equation, *wide))
    return result.astype(np.float64) if result.dtype == np.longdouble else result


NUMBERS = (*FLOATS, lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8)


SPECS = [
    OpSpec(
        name="diagonal",
        function=lm.diagonal,
        formula=diagonal,
        cases=diagonal_cases,
        dtypes=ALL,
        tolerance=0,
        covers=("slice", "unslice"),
    ),
    OpSpec(
        name="trace",
        function=lm.trace,
        formula=lambda x, offset: np.asarray(diagonal(x, offset).sum(-1)),
        cases=diagonal_cases,
        dtypes=NUMBERS,
        result=lambda dtype: lm.int64 if dtype.kind == "int" else dtype,
        absolute=True,
        covers=("sum",),
    ),
    OpSpec(
        name="outer",
        function=lm.outer,
        formula=np.outer,
        cases=outer_cases,
        dtypes=NUMBERS,
        covers=("multiply",),
    ),
    OpSpec(
        name="kron",
        function=lm.kron,
        formula=np.kron,
        cases=kron_cases,
        dtypes=NUMBERS,
        covers=("multiply",),
    ),
    OpSpec(
        name="tensordot",
        function=lm.tensordot,
        formula=tensor_product,
        cases=tensordot_cases,
        dtypes=NUMBERS,
        absolute=True,
        tolerance=10,
        covers=("matmul",),
    ),
    OpSpec(
        name="einsum",
        function=lambda *operands, equation: lm.einsum(equation, *operands),
        formula=summed,
        cases=einsum_cases,
        dtypes=NUMBERS,
        absolute=True,
        tolerance=10,
        covers=("matmul", "vecdot"),
    ),
    OpSpec(
        name="linear",
        function=lm.nn.functional.linear,
        formula=linear_product,
        cases=linear_cases,
        absolute=True,
        tolerance=10,
    ),
    OpSpec(
        name="matmul",
        function=lm.matmul,
        formula=product,
        cases=matmul_cases,
        dtypes=(*FLOATS, lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8),
        absolute=True,
        tolerance=10,
    ),
]
