"""Random writes between forward and backward: told, or without any effect on the gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ReadOnlyError, SavedTensorMutatedError, ShapeError

UNARY: list[Callable[[Any], Any]] = [
    lambda x: x.exp(),
    lambda x: x * x,
    lambda x: x.tanh(),
    lambda x: x.relu(),
    lambda x: x.abs().sqrt(),
    lambda x: 1.0 / (x * x + 1.0),
    lambda x: x.sum(),
    lambda x: x.prod(),
    lambda x: x.logsumexp(),
    lambda x: x.mean(axis=0) if x.ndim else x,
    lambda x: x.max(axis=0) if x.ndim and x.shape[0] else x,
    lambda x: x.softmax(0) if x.ndim else x,
    lambda x: x.reshape(-1),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x * y,
    lambda x, y: x + y,
    lm.maximum,
    lambda x, y: x @ y,
]


class Program:
    """Values computed from leaves that are views of two tensors, and writes to any of them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        whole = [lm.from_numpy(self.random.standard_normal((4, 6))) for _ in range(2)]
        leaves = [self.view(one).detach().requires_grad_() for one in whole for _ in range(2)]
        self.values: list[Any] = list(leaves)
        for _ in range(self.random.integers(2, 8)):
            x, y = self.one_of(self.values), self.one_of(self.values)
            if self.random.random() < 0.3:
                try:
                    self.values.append(self.one_of(BINARY)(x, y))
                except ShapeError:
                    continue
            else:
                self.values.append(self.one_of([*UNARY, self.view])(x))
        self.root = sum((one.sum() for one in self.values[4:]), start=lm.tensor(0.0))

    def one_of(self, values: list[Any]) -> Any:
        return values[int(self.random.integers(len(values)))]

    def view(self, x: Any) -> Any:
        for _ in range(self.random.integers(0, 4)):
            ways = [
                lambda x: x.mT if x.ndim > 1 else x,
                lambda x: x.flip(),
                lambda x: x.reshape(-1),
                lambda x: x.expand_dims(0),
                lambda x: x[:: self.one_of([1, 2])] if x.ndim else x,
                lambda x: x[..., self.one_of([0, 1]) :] if x.ndim else x,
                lambda x: x[int(self.random.integers(x.shape[0]))] if x.ndim and x.shape[0] else x,
            ]
            x = self.one_of(ways)(x)
        return x

    def write(self) -> None:
        target = self.view(self.one_of(self.values).detach())
        ways: list[Callable[[Any], Any]] = [
            lambda x: x.add_(1.0),
            lambda x: x.zero_(),
            lambda x: x.copy_(x.flip()),
            lambda x: lm.from_numpy(x.numpy()).multiply_(1.5),
            lambda x: x.__setitem__(0, 3.0) if x.ndim and x.shape[0] else None,
            lambda x: x.__setitem__([0, -1], 2.0) if x.ndim and x.shape[0] else None,
        ]
        try:
            self.one_of(ways)(target)
        except ReadOnlyError:
            assert target.data.readonly or 0 in target.data.strides


@pytest.mark.parametrize("block", range(4))
def test_no_write_changes_a_gradient_silently(block: int) -> None:
    told = 0
    for number in range(100):
        program = Program(1000 * block + number)
        if not program.root.requires_grad:
            continue
        wanted = program.root.backward(retain_graph=True)
        before = {leaf: grad.numpy().copy() for leaf, grad in wanted.items()}
        for _ in range(2):
            program.write()
        try:
            after = program.root.backward()
        except SavedTensorMutatedError:
            told += 1
            continue
        for leaf, grad in after.items():
            message = f"seed {1000 * block + number}"
            np.testing.assert_array_equal(grad.numpy(), before[leaf], message)
    assert 30 < told < 80  # both happen: writes elsewhere are no errors
