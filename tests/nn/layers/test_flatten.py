"""Flatten: all axes but the first."""

import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ShapeError


def normal(shape, seed=0, dtype=lm.float32):
    return lm.random.normal(shape, dtype=dtype, generator=lm.random.Generator(seed))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((2, 3, 4), (2, 12)), ((2,), (2, 1)), ((0, 3, 4), (0, 12)), ((2, 0, 4), (2, 0))],
)
def test_flatten_keeps_the_first_axis(shape, expected):
    x = normal(shape)
    y = nn.Flatten()(x)
    assert y.shape == expected
    assert y.tolist() == x.numpy().reshape(expected).tolist()


def test_flatten_of_a_0d_tensor_raises():
    with pytest.raises(ShapeError, match="at least one axis"):
        nn.Flatten()(lm.zeros(()))
