"""A custom op has the parameters and the result of its function."""

from typing import assert_type

import lumus as lm

Real = lm.Tensor[lm.Float]


@lm.custom_op
def cube(x: Real) -> Real:
    return x * x * x


@cube.gradient
def cube_gradient(grad: Real, x: Real) -> Real:
    return grad * 3.0 * x * x


@lm.custom_op(outputs=("largest", "place"))
def top(x: Real, *, axis: int = 0) -> tuple[Real, lm.Tensor[lm.Int]]:
    return x.max(axis=axis), x.argmax(axis=axis)


x = lm.zeros((2, 3))
assert_type(cube(x), Real)
assert_type(top(x, axis=1), tuple[Real, lm.Tensor[lm.Int]])
assert_type(cube_gradient(x, x), Real)
