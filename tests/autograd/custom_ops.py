"""Custom ops for tests: of NumPy, of several outputs, and of inputs of every kind."""

from typing import Any

import lumus as lm


@lm.custom_op
def cube(x):
    """The third power, by NumPy."""
    return x.numpy() ** 3


@cube.gradient
def cube_gradient(grad, x):
    return grad * 3.0 * x * x


@lm.custom_op(outputs=("cosine", "sine"))
def polar(x, *, frequency=1.0):
    return (x * frequency).cos(), (x * frequency).sin()


@polar.gradient
def polar_gradient(by_cosine, by_sine, cosine, sine, frequency):
    return (by_sine * cosine - by_cosine * sine) * frequency


@lm.custom_op
def select(mask, x, y, indices):
    return lm.where(mask, x * y, 0.0).take(indices)


@select.gradient
def select_gradient(grad, mask, x, y, indices, needs):
    assert needs[0] is needs[3] is False
    scattered = lm.zeros_like(x).at[indices].add(grad)
    inside = lm.where(mask, scattered, 0.0)
    return None, inside * y if needs[1] else None, inside * x if needs[2] else None, None


def values(*elements: float) -> Any:
    return lm.tensor(list(elements), dtype=lm.float64)


def leaf(*elements: float) -> Any:
    return values(*elements).requires_grad_()


def plain(x, *, power=2):
    return x
