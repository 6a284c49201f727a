"""Random programs: gradients along a random direction, to second order, against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm

Tensor = lm.Tensor[lm.Float]

UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: x.abs(),
    "clip": lambda x: x.clip(-0.7, 0.9),
    "copy": lambda x: x.copy(),
    "cos": lambda x: x.cos(),
    "erf": lambda x: x.erf(),
    "exp": lambda x: (x * 0.3).exp(),
    "expm1": lambda x: (x * 0.2).expm1(),
    "gelu": lambda x: x.gelu(),
    "gelu tanh": lambda x: x.gelu("tanh"),
    "leaky_relu": lambda x: lm.leaky_relu(x, 0.2),
    "log": lambda x: (x.abs() + 0.5).log(),
    "log1p": lambda x: x.square().log1p(),
    "negative": lambda x: -x,
    "number / x": lambda x: 1.0 / (x.square() + 0.7),
    "number - x": lambda x: 2.0 - x,
    "number ** x": lambda x: 1.3**x,
    "pow": lambda x: (x.abs() + 0.3) ** 1.7,
    "reciprocal": lambda x: (x.square() + 1.0).reciprocal(),
    "relu": lambda x: x.relu(),
    "rsqrt": lambda x: (x.square() + 1.0).rsqrt(),
    "sigmoid": lambda x: x.sigmoid(),
    "silu": lambda x: x.silu(),
    "sin": lambda x: x.sin(),
    "sqrt": lambda x: (x.square() + 1.0).sqrt(),
    "square": lambda x: x.square() * 0.3,
    "tanh": lambda x: x.tanh(),
    "x * x": lambda x: x * x * 0.2 + x,
}
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y * 0.5,
    lambda x, y: x / (y.square() + 1.0),
    lm.maximum,
    lm.minimum,
]


class Program:
    """The same random function each time it is called: its choices come from a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        draw = np.random.default_rng(seed)
        shapes = [tuple(draw.integers(1, 4, size=draw.integers(0, 4))) for _ in range(3)]
        self.values = [np.asarray(draw.standard_normal(shape)) for shape in shapes]
        self.directions = [np.asarray(draw.standard_normal(shape)) for shape in shapes]
        self.steps: list[str] = []

    def leaves(self, distance: float = 0.0) -> list[Tensor]:
        pairs = zip(self.values, self.directions, strict=True)
        return [lm.tensor(one + distance * way, requires_grad=True) for one, way in pairs]

    def __call__(self, leaves: list[Tensor]) -> Tensor:
        self.random = np.random.default_rng([self.seed, 1])
        self.made: list[Any] = list(leaves)
        self.steps = []
        for _ in range(self.random.integers(3, 11)):
            kinds = [name for name in dir(self) if name.startswith("step_")]
            kind = kinds[self.below(len(kinds))]
            value = getattr(self, kind)(self.some())
            self.made.append(value if value.size < 200 else value.mean())
            self.steps.append(f"{kind} {value.shape}")
        total = sum((one * self.random.standard_normal()).mean() for one in self.made)
        assert isinstance(total, lm.Tensor)
        return total

    def below(self, bound: int) -> int:
        return int(self.random.integers(bound))

    def some(self) -> Any:
        return self.made[self.below(len(self.made))]

    def axis(self, x: Any) -> int:
        return self.below(2 * x.ndim) - x.ndim

    def indices(self, length: int, shape: Any) -> Any:
        return lm.tensor(np.asarray(self.random.integers(-length, length, size=shape)))

    # One op each; each takes any tensor and gives one.
    # ------------------------------------------------------------------------------------------

    def step_unary(self, x: Any) -> Any:
        return list(UNARY.values())[self.below(len(UNARY))](x)

    step_unary_again = step_unary

    def step_binary(self, x: Any) -> Any:
        y = self.some()
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            y = y.sum()
        return BINARY[self.below(len(BINARY))](x, y)

    step_binary_again = step_binary

    def step_reduce(self, x: Any) -> Any:
        name = ["sum", "mean", "max", "min", "logsumexp", "var", "prod"][self.below(7)]
        axis = self.axis(x) if x.ndim and self.below(3) else None
        x = x * 0.5 + 0.6 if name == "prod" else x
        return getattr(x, name)(axis=axis, keepdims=bool(self.below(2)))

    def step_softmax(self, x: Any) -> Any:
        x = x if x.ndim else x.reshape(1)
        return (x.softmax if self.below(2) else x.log_softmax)(self.axis(x))

    def step_shape(self, x: Any) -> Any:
        ways = [
            lambda: x.permute_dims([int(one) for one in self.random.permutation(x.ndim)]),
            lambda: x.reshape(-1),
            lambda: x.expand_dims(self.below(x.ndim + 1)),
            lambda: x.broadcast_to((2, *x.shape)),
            lambda: x.flip(),
        ]
        return ways[self.below(len(ways))]()

    def step_slice(self, x: Any) -> Any:
        step = [1, -1, 2, -2][self.below(4)]
        return x[tuple(slice(None, None, step) for _ in x.shape)]

    def step_index(self, x: Any) -> Any:
        x = x if x.ndim else x.reshape(1)
        return x[self.indices(x.shape[0], (3,))]

    def step_at(self, x: Any) -> Any:
        x = x if x.ndim else x.reshape(1)
        at = x.at[..., self.indices(x.shape[-1], (2,))]
        value = (x[..., :1] * 0.5).sin()
        return at.set(value) if self.below(2) else at.add(value)

    def step_at_slice(self, x: Any) -> Any:
        x = x if x.ndim else x.reshape(1)
        at, value = x.at[:: [1, 2, -1][self.below(3)]], self.some().sum()
        return at.set(value) if self.below(2) else at.add(value)

    def step_along_axis(self, x: Any) -> Any:
        x = x if x.ndim else x.reshape(1)
        axis = self.axis(x)
        places = self.indices(x.shape[axis], x.shape)
        return x.take_along_axis(places, axis) if self.below(2) else x.scatter_add(places, x, axis)

    def step_join(self, x: Any) -> Any:
        x = x if x.ndim else x.reshape(1)
        axis = self.axis(x)
        return lm.concat([x, x * 0.5, x], axis) if self.below(2) else lm.stack([x, x.sin()], axis)

    def step_matmul(self, x: Any) -> Any:
        return (x.mT if x.ndim > 1 else x.reshape(-1)) @ (x if x.ndim else x.reshape(1)) * 0.3

    def step_triangle(self, x: Any) -> Any:
        x = x if x.ndim > 1 else x.reshape(1, -1)
        return (lm.tril if self.below(2) else lm.triu)(x, self.below(3) - 1)

    def step_where(self, x: Any) -> Any:
        mask = lm.tensor(np.asarray(self.random.random(x.shape) < 0.5))
        return lm.where(mask, x.sin(), x * x)


def _along(store: lm.GradStore, leaves: list[Tensor], directions: list[Any]) -> float:
    """The derivative in a direction, of the gradients in a store."""
    pairs = zip(leaves, directions, strict=True)
    return sum(float((store[one].numpy() * way).sum()) for one, way in pairs if one in store)


def _differences(function: Callable[[float], float]) -> tuple[float, float]:
    """Central differences with two steps: where they disagree there is a kink between."""
    first, second = ((function(step) - function(-step)) / (2 * step) for step in (1e-5, 3e-6))
    return first, second


@pytest.mark.parametrize("block", range(4))
def test_gradients_of_random_programs_are_their_differences(block: int) -> None:
    smooth = 0
    for number in range(50):
        program = Program(1000 * block + number)
        leaves = program.leaves()
        root = program(leaves)
        told = f"seed {program.seed}: {program.steps}"
        store = root.backward(retain_graph=True)
        slope = _along(store, leaves, program.directions)
        measured, closer = _differences(lambda h, p=program: p(p.leaves(h)).item())
        scale = 1 + abs(slope) + abs(root.item())
        if abs(measured - closer) < 1e-6 * scale:
            smooth += 1
            assert abs(slope - measured) < 3e-6 * scale, told

        again = root.backward(create_graph=True)
        for leaf in store:
            np.testing.assert_allclose(again[leaf].detach().numpy(), store[leaf].numpy(), 1e-11)
        pairs = zip(leaves, program.directions, strict=True)
        products = [(again[one] * lm.tensor(way)).sum() for one, way in pairs if one in again]
        bend_root = sum(products[1:], start=products[0])
        if not bend_root.requires_grad:
            continue
        bend = _along(bend_root.backward(), leaves, program.directions)

        def slope_at(distance: float, program: Program = program) -> float:
            there = program.leaves(distance)
            return _along(program(there).backward(), there, program.directions)

        measured, closer = _differences(slope_at)
        scale = 1 + abs(bend) + abs(slope)
        if abs(measured - closer) < 1e-5 * scale:
            assert abs(bend - measured) < 3e-5 * scale, told
    assert smooth > 40
