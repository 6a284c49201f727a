"""Encodings of places: what they are for, and what they refuse."""

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, KindError, ShapeError
from lumus.nn.functional import rotary_encoding, sinusoidal_encoding


@pytest.mark.parametrize("interleaved", [True, False])
def test_products_of_turned_rows_depend_on_their_distance_alone(interleaved):
    rows = lm.random.normal((1, 8), dtype=lm.float64, generator=lm.random.Generator(1))
    many = rows.broadcast_to(9, 8)
    turned = rotary_encoding(many, interleaved=interleaved).numpy()
    products = turned @ turned.T
    for distance in range(9):
        np.testing.assert_allclose(np.diag(products, distance), products[0, distance], rtol=1e-12)
    later = rotary_encoding(rows, offset=5, interleaved=interleaved).numpy()
    np.testing.assert_allclose(later[0], turned[5], rtol=1e-12)


def test_table_of_sines_is_its_formula():
    table = sinusoidal_encoding(50, 6, dtype=lm.float64).numpy()
    places, columns = np.arange(50)[:, None], np.arange(3)
    angles = places / 10000 ** (columns / 3)
    np.testing.assert_allclose(table[:, ::2], np.sin(angles), atol=1e-14)
    np.testing.assert_allclose(table[:, 1::2], np.cos(angles), atol=1e-14)
    assert sinusoidal_encoding(3, 4).dtype is lm.float32
    assert sinusoidal_encoding(0, 4).shape == (0, 4)
    assert sinusoidal_encoding(3, 0).shape == (3, 0)


def test_misuse_is_told():
    with pytest.raises(ShapeError, match="with an even width"):
        rotary_encoding(lm.zeros((2, 3)))
    with pytest.raises(ShapeError, match="rows, width"):
        rotary_encoding(lm.zeros((2,)))
    with pytest.raises(KindError, match="Float"):
        rotary_encoding(lm.zeros((2, 2), dtype=lm.int64))
    with pytest.raises(ArgumentError, match="offset cannot be negative"):
        rotary_encoding(lm.zeros((2, 2)), offset=-1)
    with pytest.raises(ArgumentError, match="base must be positive"):
        rotary_encoding(lm.zeros((2, 2)), base=0.0)
    for length, width in ((-1, 2), (2, 3), (2, -2)):
        with pytest.raises(ArgumentError, match="width must be even"):
            sinusoidal_encoding(length, width)
    with pytest.raises(KindError, match="Float"):
        sinusoidal_encoding(2, 2, dtype=lm.int64)
