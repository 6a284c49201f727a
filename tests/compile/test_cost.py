"""Costs of equations, and what `explain` tells of them."""

import re
from typing import Any

import pytest

import lumus as lm
from lumus.compile.cost import cost_of, machine_rates
from lumus.core.kernels.product import MatMul, WithEpilogue
from lumus.core.scalar.expressions import expression
from lumus.nn import functional
from tests.compile.build import Build, f32


def costs(function: Any, *args: Any) -> list[Any]:
    return [cost_of(one) for one in lm.compile(function).program(*args).equations]


def test_products_count_each_pair_twice() -> None:
    (cost,) = costs(lambda x, y: x @ y, lm.ones((3, 4)), lm.ones((4, 5)))
    assert (cost.operations, cost.nbytes, cost.multiplies) == (120, 4 * (12 + 20 + 15), True)


def test_an_epilogue_counts_its_calls_behind_the_products() -> None:
    build = Build()
    x, w, b = build.input("x", 3, 4), build.input("w", 4, 5), build.input("b", 5)
    kernel = WithEpilogue(MatMul(), expression(lambda y, b: y * b + 1))
    build.joined(kernel, x, w, b, outputs=(f32(3, 5),))
    cost = cost_of(build.equations[0])
    nbytes = 4 * (12 + 20 + 5 + 15)
    assert (cost.operations, cost.nbytes, cost.multiplies) == (120 + 2 * 15, nbytes, True)


def test_convolutions_count_their_taps() -> None:
    x, w = lm.ones((2, 4, 8, 8)), lm.ones((6, 2, 3, 3))
    (cost,) = costs(lambda x, w: functional.conv2d(x, w, groups=2), x, w)
    assert cost.operations == 2 * (2 * 6 * 6 * 6) * (2 * 9)


@pytest.mark.parametrize(("is_causal", "share"), [(False, 1), (True, 2)])
def test_attention_counts_both_products(is_causal: bool, share: int) -> None:
    q = lm.ones((2, 5, 4))
    (cost,) = costs(
        lambda q: functional.scaled_dot_product_attention(q, q, q, is_causal=is_causal), q
    )
    assert cost.operations == 2 * (2 * 2 * 5 * 5 * 4) // share


def test_elementwise_work_counts_calls_and_moves_bytes() -> None:
    (cost,) = costs(lambda x: x.tanh(), lm.ones((10,)))
    assert (cost.operations, cost.nbytes, cost.multiplies) == (10, 80, False)
    rates = machine_rates()
    assert cost.bound_s(rates) == 80 / rates.nbytes


def test_explain_names_kernels_bytes_bound_and_memory() -> None:
    text = lm.compile(lambda x: (x @ x).tanh().sum()).explain(lm.ones((64, 64)))
    assert text.startswith("<lambda>: 2 kernels\n  matmul -> float32[64, 64]  49,152 bytes")
    assert re.search(r"524,288 operations, at least \d+\.\d\d us  # .*test_cost\.py:\d+", text)
    assert "memory: arena 16,384 bytes" in text
