"""Pools, Upsample and pixel shuffling as layers: the functions with their arguments kept."""

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.nn import functional

SHAPES = {1: (2, 3, 9), 2: (2, 3, 9, 8), 3: (1, 2, 5, 6, 7)}


def values(num_axes):
    return lm.random.normal(SHAPES[num_axes], generator=lm.random.Generator(0))


@pytest.mark.parametrize("num_axes", [1, 2, 3])
def test_max_pool_layer_is_its_function(num_axes):
    x = values(num_axes)
    layer = getattr(nn, f"MaxPool{num_axes}d")
    function = getattr(functional, f"max_pool{num_axes}d")
    assert layer(2)(x).tolist() == function(x, 2).tolist()
    got = layer(3, 2, 1, 1, True, True)(x)
    want = function(x, 3, 2, 1, 1, True, True)
    assert [one.tolist() for one in got] == [one.tolist() for one in want]


@pytest.mark.parametrize("num_axes", [1, 2, 3])
def test_avg_pool_layer_is_its_function(num_axes):
    x = values(num_axes)
    layer = getattr(nn, f"AvgPool{num_axes}d")
    function = getattr(functional, f"avg_pool{num_axes}d")
    assert layer(2)(x).tolist() == function(x, 2).tolist()
    assert layer(3, 2, 1, True, False)(x).tolist() == function(x, 3, 2, 1, True, False).tolist()
    if num_axes > 1:
        got = layer(2, divisor_override=3)(x)
        assert got.tolist() == function(x, 2, divisor_override=3).tolist()


@pytest.mark.parametrize("num_axes", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3, None])
def test_adaptive_layers_are_their_functions(num_axes, size):
    x = values(num_axes)
    for name in ("Avg", "Max"):
        layer = getattr(nn, f"Adaptive{name}Pool{num_axes}d")(size)
        function = getattr(functional, f"adaptive_{name.lower()}_pool{num_axes}d")
        assert layer(x).tolist() == function(x, size).tolist()
    both = getattr(nn, f"AdaptiveMaxPool{num_axes}d")(size, return_indices=True)(x)
    assert both[1].dtype is lm.int64


@pytest.mark.parametrize("num_axes", [1, 2, 3])
def test_unpooling_what_was_pooled_puts_it_back(num_axes):
    x = values(num_axes)
    pool = getattr(nn, f"MaxPool{num_axes}d")(2, return_indices=True)
    unpool = getattr(nn, f"MaxUnpool{num_axes}d")(2)
    y, indices = pool(x)
    back = unpool(y, indices, output_size=x.shape)
    assert back.shape == x.shape
    assert np.count_nonzero(back.numpy()) == y.size
    kept = back.numpy() != 0
    assert np.array_equal(back.numpy()[kept], x.numpy()[kept])


def test_lp_pool_upsample_and_shuffle_layers_are_their_functions():
    x = values(2)
    got = nn.LPPool2d(2, 3, 2, True)(x)
    assert got.tolist() == functional.lp_pool2d(x, 2, 3, 2, True).tolist()
    got = nn.Upsample(scale_factor=2, mode="bicubic", align_corners=True)(x)
    want = functional.interpolate(x, scale_factor=2, mode="bicubic", align_corners=True)
    assert got.tolist() == want.tolist()
    assert nn.Upsample(5)(x).shape == (2, 3, 5, 5)
    y = x[:, :, :8]
    assert nn.PixelShuffle(2)(nn.PixelUnshuffle(2)(y)).tolist() == y.tolist()


def test_layers_show_their_arguments():
    shown = [
        nn.MaxPool2d(2),
        nn.AvgPool1d(3, 2),
        nn.AdaptiveAvgPool2d((1, None)),
        nn.AdaptiveMaxPool1d(4),
        nn.LPPool2d(2, 3),
        nn.Upsample(scale_factor=2, mode="nearest"),
        nn.PixelShuffle(2),
    ]
    assert [repr(one) for one in shown] == [
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
        "AvgPool1d(kernel_size=3, stride=2, padding=0)",
        "AdaptiveAvgPool2d(output_size=(1, None))",
        "AdaptiveMaxPool1d(output_size=4)",
        "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)",
        "Upsample(scale_factor=2, mode='nearest')",
        "PixelShuffle(2)",
    ]
