"""Matrix products: sums of products written out with einsum, in 80 bits."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
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
    repeated = np.broadcast_to(source.draw((1, 3)), (4, 3))
    yield Case("stride 0", (repeated, source.draw((2, 3))))


def linear_product(x: Any, weight: Any) -> Any:
    return product(x, weight.T)


SPECS = [
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
