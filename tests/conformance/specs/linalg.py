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


SPECS = [
    OpSpec(
        name="matmul",
        function=lm.matmul,
        formula=product,
        cases=matmul_cases,
        dtypes=(*FLOATS, lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8),
        absolute=True,
        tolerance=10,
    )
]
