"""Flatten and Unflatten: axes made one, and one made several."""

import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError, ShapeError


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


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, -1, (120,)), (1, 2, (2, 12, 5)), (-2, -1, (2, 3, 20)), (2, 2, (2, 3, 4, 5))],
)
def test_flatten_of_some_axes(start, end, expected):
    x = normal((2, 3, 4, 5))
    y = nn.Flatten(start, end)(x)
    assert y.shape == expected
    assert y.tolist() == x.numpy().reshape(expected).tolist()


def test_flatten_of_axes_that_are_not_there_raises():
    with pytest.raises(ShapeError, match="at least one axis"):
        nn.Flatten()(lm.zeros(()))
    for start, end in ((2, 0), (0, 3), (-4, -1)):
        with pytest.raises(ShapeError, match=f"no axes from {start} to {end}"):
            nn.Flatten(start, end)(lm.zeros((2, 3, 4)))


@pytest.mark.parametrize(
    ("axis", "sizes", "expected"),
    [
        (1, (2, 6), (0, 2, 6)),
        (-1, (3, -1), (0, 3, 4)),
        (0, (0, 5), (0, 5, 12)),
        (1, (12,), (0, 12)),
    ],
)
def test_unflatten_makes_several_of_one(axis, sizes, expected):
    assert nn.Unflatten(axis, sizes)(lm.zeros((0, 12))).shape == expected


def test_unflatten_undoes_flatten():
    x = normal((2, 3, 4))
    assert nn.Unflatten(1, (3, 4))(nn.Flatten()(x)).tolist() == x.tolist()


def test_sizes_that_do_not_fit_are_told():
    for sizes in ((5, -1), (3, 5), (0, -1)):
        with pytest.raises(ShapeError, match="an axis of length 12 cannot become"):
            nn.Unflatten(1, sizes)(lm.zeros((2, 12)))
    for sizes in ((), (-1, -1), (-2, 3)):
        with pytest.raises(ArgumentError, match="sizes must be lengths"):
            nn.Unflatten(1, sizes)
