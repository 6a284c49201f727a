"""Operands of different dtypes: the result's dtype and value, gradients in the operands' own."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.dtypes import DType, promote
from lumus.testing.sweep import elements

FLOATS = (lm.float64, lm.float32, lm.float16, lm.bfloat16)
INTS = (lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8)
OPS = {
    "add": lm.add,
    "subtract": lm.subtract,
    "multiply": lm.multiply,
    "divide": lm.divide,
    "floor_divide": lm.floor_divide,
    "remainder": lm.remainder,
    "pow": lm.pow,
    "maximum": lm.maximum,
    "minimum": lm.minimum,
    "where": lambda x, y: lm.where(lm.tensor([True, False, True], device=x.device), x, y),
    "matmul": lm.matmul,
    "concat": lambda x, y: lm.concat([x, y]),
    "stack": lambda x, y: lm.stack([x, y]),
    "clip": lambda x, y: x.clip(y, y),
    "equal": lm.equal,
    "less": lm.less,
}
ONLY_FLOAT = {"divide"}


def operands(x_dtype: DType, y_dtype: DType, device: str) -> tuple[Any, Any]:
    x = lm.tensor([3.0, 2.0, 5.0], device=device).astype(x_dtype)
    y = lm.tensor([2.0, 2.0, 1.0], device=device).astype(y_dtype)
    return x, y


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("name", OPS)
def test_mixed_dtypes_give_what_promoted_operands_give(name: str, device: str) -> None:
    function = OPS[name]
    pairs = list(product(FLOATS, FLOATS))
    if name not in ONLY_FLOAT:
        pairs += product(INTS, INTS)
    for x_dtype, y_dtype in pairs:
        wide = promote(x_dtype, y_dtype, name)
        x, y = operands(x_dtype, y_dtype, device)
        mixed = function(x, y)
        same = function(x.astype(wide), y.astype(wide))
        assert mixed.spec is same.spec, (name, x_dtype, y_dtype)
        np.testing.assert_array_equal(elements(mixed), elements(same))


@pytest.mark.parametrize("name", [name for name in OPS if name not in ("equal", "less")])
def test_gradients_have_the_dtypes_of_their_operands(name: str) -> None:
    for x_dtype, y_dtype in product(FLOATS, FLOATS):
        x, y = operands(x_dtype, y_dtype, "cpu")
        x.requires_grad_()
        y.requires_grad_()
        store = OPS[name](x, y).sum().backward()
        assert (store[x].dtype, store[y].dtype) == (x_dtype, y_dtype), (name, x_dtype, y_dtype)


def test_promotion_follows_the_array_api_table() -> None:
    names = {dtype.name: dtype for dtype in (*FLOATS, *INTS)}
    for x, y in product(names.values(), names.values()):
        if x.kind != y.kind or "bfloat16" in (x.name, y.name):
            continue
        assert promote(x, y, "test").name == np.result_type(x.name, y.name).name
    for other in (lm.float64, lm.float32):
        assert promote(lm.bfloat16, other, "test") is other
    assert promote(lm.bfloat16, lm.float16, "test") is lm.float32
