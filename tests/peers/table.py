"""What lumus and PyTorch both have: how each is called, on which inputs.

An entry draws its inputs as float64 arrays from a `Draw`; integers and masks are drawn as such. The
differences that are meant are in `DIFFERENCES`, with the reason of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = list[np.ndarray]


class Draw:
    """Random shapes, values and layouts, from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, values: Any) -> Any:
        return values[self.integer(0, len(values) - 1)]

    def shape(self, low: int = 0, high: int = 4, longest: int = 5) -> tuple[int, ...]:
        return tuple(self.integer(1, longest) for _ in range(self.integer(low, high)))

    def array(self, shape: Any, low: float = -3.0, high: float = 3.0) -> np.ndarray:
        """Values in [low, high) in one of four layouts."""
        return self.laid_out(self.rng.uniform(low, high, tuple(shape)))

    def integers(self, shape: Any, low: int, high: int) -> np.ndarray:
        """From low to high - 1."""
        return self.laid_out(self.rng.integers(low, high, tuple(shape)))

    def bools(self, shape: Any) -> np.ndarray:
        return self.laid_out(self.rng.random(tuple(shape)) < 0.6)

    def laid_out(self, values: np.ndarray) -> np.ndarray:
        """The same values: dense, transposed in memory, every second of a larger one, reversed."""
        values = np.asarray(values)
        layout = self.integer(0, 3)
        if layout == 1:
            return np.ascontiguousarray(values.T).T
        if layout == 2 and values.ndim:
            wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
            wide[..., ::2] = values
            return wide[..., ::2]
        if layout == 3 and values.ndim:
            return np.ascontiguousarray(values[::-1])[::-1]
        return values

    def broadcast_pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes that broadcast together."""
        shape = self.shape()
        first = [1 if self.integer(0, 3) == 0 else length for length in shape]
        second = [1 if self.integer(0, 3) == 0 else length for length in shape]
        return tuple(first), tuple(second[self.integer(0, len(second)) :])


@dataclass(frozen=True)
class Pair:
    """One function of both. `draw` returns (arrays, keyword arguments for both callables)."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    draw: Callable[[Draw], tuple[Arrays, dict[str, Any]]]
    rtol: float = 1e-9
    rtol32: float = 2e-5
    differentiable: bool = True
    float32: bool = True


def one(low: float = -3.0, high: float = 3.0, rank: int = 0) -> Any:
    """Draws a tensor of any shape."""
    return lambda draw: ([draw.array(draw.shape(rank), low, high)], {})


def two(low: float = -3.0, high: float = 3.0) -> Any:
    """Draws two tensors that broadcast together."""

    def drawn(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
        first, second = draw.broadcast_pair()
        return [draw.array(first, low, high), draw.array(second, low, high)], {}

    return drawn


def along(low: float = -3.0, high: float = 3.0) -> Any:
    """Draws a tensor and an axis."""

    def drawn(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
        x = draw.array(draw.shape(1), low, high)
        return [x], {"axis": draw.integer(-x.ndim, x.ndim - 1)}

    return drawn


def over(low: float = -3.0, high: float = 3.0) -> Any:
    """Draws a tensor, axes and keepdims."""

    def drawn(draw: Draw) -> tuple[Arrays, dict[str, Any]]:
        x = draw.array(draw.shape(1), low, high)
        axes = tuple(axis for axis in range(x.ndim) if draw.integer(0, 1)) or (0,)
        return [x], {"axis": axes, "keepdims": bool(draw.integer(0, 1))}

    return drawn


DIFFERENCES = {
    "max and min of one axis": "the gradient of a tie is split evenly; PyTorch gives it to one",
    "var and std": "divide by n unless correction says otherwise, as NumPy and the array API do",
    "Int with /": "a KindError that names //; PyTorch gives a float",
    "Float with Int": "a KindError that names the cast; PyTorch promotes",
    "Bool with + and sum": "+ is a KindError; sum gives Int, as in PyTorch",
    "losses": "shapes must be equal; PyTorch broadcasts with a warning",
    "prod with zeros": "exact with any number of zeros, to every order",
    "sign(NaN)": "NaN; PyTorch gives 0",
    "relu, max pools, clip of NaN": "NaN passes through in both; lumus holds it in tests",
    "norm at 0": "gradient 0 to the first order in both; lumus has no NaN in higher orders",
    "attention over a row with nothing to attend to": "0 with gradient 0",
    "cross_entropy with every target ignored": "0 with gradient 0; PyTorch gives NaN",
    "round(decimals)": "not offered",
    "lp_pool with ceil_mode": "the norm of the elements; PyTorch scales it up to a whole window",
    "pools with a window that has no element": "refused; PyTorch gives -inf and a bad index",
    "interpolate": "places are exact fractions; PyTorch computes them in the input's precision",
    "floor_divide": "has a gradient, which is zero; PyTorch's refuses",
}
