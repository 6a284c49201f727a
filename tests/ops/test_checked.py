"""Checks of values that are made when the values are there."""

from typing import Any

import pytest

import lumus as lm
from lumus.errors import ArgumentError, IndexRangeError
from lumus.ops.interop.checked import checked


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("run", [lambda f: f, lm.compile], ids=["eager", "compiled"])
def test_the_first_value_that_does_not_hold_is_told(device: str, run: Any) -> None:
    @run
    def positive(x: Any) -> Any:
        return checked(x, x > 0, ArgumentError, "needs more than 0, got {}", "add something") * 2

    assert positive(lm.tensor([1, 2], device=device)).tolist() == [2, 4]
    with pytest.raises(ArgumentError, match=r"needs more than 0, got -3(; in .*)?\nhint: add some"):
        positive(lm.tensor([1, -3, -4], device=device))
    assert positive(lm.zeros((0,), dtype=lm.int64, device=device)).tolist() == []


def test_class_numbers_are_checked_in_compiled_losses() -> None:
    @lm.compile
    def loss(x: Any, y: Any) -> Any:
        return lm.nn.functional.nll_loss(x, y)

    x = lm.zeros((2, 3))
    loss(x, lm.tensor([0, 2]))
    for wrong in (3, -1):
        with pytest.raises(IndexRangeError, match=f"target {wrong} is no class: there are 3"):
            loss(x, lm.tensor([0, wrong]))
    with pytest.raises(ArgumentError, match="an Int to the power -2 is no Int"):
        lm.compile(lambda x: x ** lm.tensor([1, -2]))(lm.tensor([2, 3]))
