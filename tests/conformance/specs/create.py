"""Diagonals and triangles of given matrices; what is made of nothing is in test_creation.py."""

import numpy as np

import lumus as lm
from lumus.core.dtypes import ALL
from lumus.testing.op_spec import OpSpec
from tests.conformance.specs.shape import one_input

TRIANGLES = one_input(
    ((3, 3), {}),
    ((3, 4), {"offset": 1}),
    ((4, 3), {"offset": -1}),
    ((2, 3, 4), {"offset": 0}),
    ((2, 3), {"offset": 7}),
    ((0, 3), {}),
)


def lower(x: np.ndarray, offset: int = 0) -> np.ndarray:
    return np.tril(x, offset).astype(x.dtype)


def upper(x: np.ndarray, offset: int = 0) -> np.ndarray:
    return np.triu(x, offset).astype(x.dtype)


SPECS = [
    OpSpec(
        name="diag",
        function=lm.diag,
        formula=lambda x, offset=0: np.diag(x, offset),
        dtypes=ALL,
        tolerance=0,
        covers=("slice", "unslice"),
        cases=one_input(
            ((3, 3), {}),
            ((3, 5), {"offset": 1}),
            ((3, 5), {"offset": -2}),
            ((2, 3), {"offset": 9}),
            ((3,), {}),
            ((2,), {"offset": 1}),
            ((2,), {"offset": -2}),
            ((0,), {}),
        ),
    ),
    OpSpec(
        name="tril",
        function=lm.tril,
        formula=lower,
        cases=TRIANGLES,
        dtypes=ALL,
        tolerance=0,
        covers=("triangle",),
    ),
    OpSpec(
        name="triu",
        function=lm.triu,
        formula=upper,
        cases=TRIANGLES,
        dtypes=ALL,
        tolerance=0,
        covers=("triangle",),
    ),
]
