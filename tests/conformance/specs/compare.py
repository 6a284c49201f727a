"""Comparisons and tests of elements: exact, no gradients."""

import numpy as np

import lumus as lm
from lumus.core.dtypes import ALL, DType
from lumus.testing.op_spec import FLOATS, Domain, OpSpec, elementwise_cases

ANY = Domain()
NUMBERS = tuple(dtype for dtype in ALL if dtype is not lm.bool_)


def to_bool(dtype: DType) -> DType:
    return lm.bool_


def comparison(name: str, formula: object, dtypes: tuple, operands: int = 2) -> OpSpec:
    return OpSpec(
        name=name,
        function=getattr(lm, name),
        formula=formula,
        dtypes=dtypes,
        cases=elementwise_cases(*[ANY] * operands),
        result=to_bool,
        tolerance=0,
        differentiable=False,
    )


SPECS = [
    *[comparison(name, getattr(np, name), ALL) for name in ("equal", "not_equal")],
    *[
        comparison(name, getattr(np, name), NUMBERS)
        for name in ("less", "less_equal", "greater", "greater_equal")
    ],
    *[
        comparison(name, getattr(np, name), (lm.bool_,))
        for name in ("logical_and", "logical_or", "logical_xor")
    ],
    comparison("logical_not", np.logical_not, (lm.bool_,), operands=1),
    *[
        comparison(name, getattr(np, name), FLOATS, operands=1)
        for name in ("isnan", "isinf", "isfinite")
    ],
]
