"""Methods that write into their tensor: what the op gives, converted to the tensor's dtype."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dtypes import ALL
from lumus.core.mode import MODE
from lumus.testing.op_spec import FLOATS, Case, OpSpec, Source

NUMBERS = tuple(dtype for dtype in ALL if dtype is not lm.bool_)
SHAPES = (
    ((), ()),
    ((1,), ()),
    ((0,), (1,)),
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), (3, 1)),
    ((67,), ()),
    ((3, 5), (1, 5)),
)


def pair_cases(source: Source) -> Iterable[Case]:
    for shape, other in SHAPES:
        yield Case(f"shapes {shape}, {other}", (source.draw(shape), source.draw(other)))


def one_cases(source: Source) -> Iterable[Case]:
    for shape in ((), (0,), (2, 3, 4), (67,)):
        yield Case(f"shape {shape}", (source.draw(shape),))


def in_place(name: str, formula: Any, dtypes: Any, cases: Any = pair_cases) -> OpSpec:
    """Written into a strided half of a tensor, whose other half must stay."""

    def function(x: Any, *others: Any) -> Any:
        # (..., 2): the columns of a larger tensor, so that a write beyond the view is seen.
        both = lm.stack([x, x], axis=-1)
        view = both[..., 0]
        result = getattr(view, name)(*others)
        assert result is view
        assert elementwise_equal(both[..., 1], x)
        return view

    return OpSpec(
        name=name,
        function=function,
        formula=formula,
        cases=cases,
        dtypes=dtypes,
        tolerance=0,
        differentiable=False,
    )


def elementwise_equal(x: Any, y: Any) -> bool:
    return not MODE.get().has_values or bool((x == y).all())


SPECS = [
    in_place("add_", np.add, NUMBERS),
    in_place("subtract_", np.subtract, NUMBERS),
    in_place("multiply_", np.multiply, NUMBERS),
    in_place("divide_", np.divide, FLOATS),
    in_place("copy_", lambda x, other: np.broadcast_to(other, x.shape), ALL),
    in_place("zero_", np.zeros_like, ALL, one_cases),
]
