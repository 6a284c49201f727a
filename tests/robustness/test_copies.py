"""What is public can be copied, copied deeply and pickled, or says why not."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import lumus as lm
from lumus.errors import GradientError


def _pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


WAYS = pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, _pickled])


@WAYS
def test_there_is_one_object_of_each_device_spec_and_dtype(way: Any) -> None:
    x = lm.ones((2, 3))
    for one in (x.device, x.spec, x.dtype):
        assert way(one) is one


def test_a_model_that_knows_its_device_works_when_copied() -> None:
    class Shift(lm.nn.Module):
        def __init__(self) -> None:
            self.by = lm.nn.Parameter(lm.ones((3,)))
            self.device = self.by.device

        def forward(self, x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
            return x + self.by + lm.zeros((3,), device=self.device)

    assert copy.deepcopy(Shift())(lm.ones((3,))).tolist() == [2.0, 2.0, 2.0]


@WAYS
def test_a_generator_goes_on_where_it_was(way: Any) -> None:
    generator = lm.random.Generator(5)
    lm.random.normal((7,), generator=generator)
    twin = way(generator)
    wanted = lm.random.normal((7,), generator=generator).tolist()
    assert lm.random.normal((7,), generator=twin).tolist() == wanted


def test_parameters_that_two_modules_share_are_shared_in_the_copy() -> None:
    module = lm.nn.Linear(2, 3)
    module.again = module.bias  # type: ignore[attr-defined]
    for twin in (copy.deepcopy(module), _pickled(module)):
        assert twin.again is twin.bias
        assert twin.bias is not module.bias


def test_an_optimiser_goes_on_with_its_copied_parameters() -> None:
    parameter = lm.nn.Parameter(lm.ones((3,)))
    optimizer = lm.optim.Adam([parameter], lr=0.1)
    optimizer.step((parameter * parameter).sum().backward())
    twins = copy.deepcopy((parameter, optimizer)), _pickled((parameter, optimizer))
    optimizer.step((parameter * parameter).sum().backward())
    for one, its_optimizer in twins:
        its_optimizer.step((one * one).sum().backward())
        assert one.tolist() == parameter.tolist()


def test_a_store_is_copied_but_not_pickled() -> None:
    x = lm.ones((3,), requires_grad=True)
    store = (x * x).sum().backward()
    twin = copy.copy(store)
    store.take(x)
    assert twin[x].tolist() == [2.0, 2.0, 2.0]
    for way in (copy.deepcopy, pickle.dumps):
        with pytest.raises(GradientError, match="belong to the tensors of this process"):
            way(twin)
