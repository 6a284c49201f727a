"""Convolution layers: shapes, initial values, padding modes, keys, errors."""

import math

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError, KindError, ShapeError

SPATIAL = {1: (12,), 2: (9, 8), 3: (5, 6, 7)}


def normal(shape, seed=0, dtype=lm.float32):
    return lm.random.normal(shape, dtype=dtype, generator=lm.random.Generator(seed))


def layer_of(name, rank, *arguments, **given):
    return getattr(nn, f"{name}{rank}d")(*arguments, **given, generator=lm.random.Generator(1))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_layer_is_its_function(rank):
    layer = layer_of("Conv", rank, 4, 6, 3, 2, 1, 1, 2)
    x = normal((2, 4, *SPATIAL[rank]))
    function = getattr(nn.functional, f"conv{rank}d")
    y = function(x, layer.weight, layer.bias, stride=2, padding=1, groups=2)
    assert layer(x).tolist() == y.tolist()
    # Without a batch it is a batch of one; sums may be cut differently for another batch.
    np.testing.assert_allclose(
        layer(x[0]).detach().numpy(), y[0].detach().numpy(), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed_layer_is_its_function(rank):
    layer = layer_of("ConvTranspose", rank, 4, 6, 3, 2, 1, 1, 2)
    x = normal((2, 4, *SPATIAL[rank]))
    function = getattr(nn.functional, f"conv_transpose{rank}d")
    y = function(x, layer.weight, layer.bias, stride=2, padding=1, output_padding=1, groups=2)
    assert layer(x).tolist() == y.tolist()
    assert y.shape == (2, 6, *(2 * one for one in SPATIAL[rank]))


def test_parameters_have_the_shapes_and_keys_of_the_usual_files():
    forward = nn.Conv2d(4, 6, (3, 2), groups=2).state_dict()
    assert {name: one.shape for name, one in forward.items()} == {
        "weight": (6, 2, 3, 2),
        "bias": (6,),
    }
    transposed = nn.ConvTranspose2d(4, 6, (3, 2), groups=2, bias=False).state_dict()
    assert {name: one.shape for name, one in transposed.items()} == {"weight": (4, 3, 3, 2)}


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [(layer_of("Conv", 2, 8, 64, 5), 200), (layer_of("ConvTranspose", 2, 64, 8, 5), 200)],
)
def test_parameters_start_evenly_spread_over_one_over_root_inputs(layer, inputs):
    bound = 1 / math.sqrt(inputs)
    weight = layer.weight.detach().numpy()
    assert -bound <= weight.min() < -0.98 * bound
    assert 0.98 * bound < weight.max() <= bound
    assert abs(layer.bias.detach().numpy()).max() <= bound


@pytest.mark.parametrize(
    ("mode", "numpy_mode"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
def test_padding_modes_continue_the_input(mode, numpy_mode):
    layer = layer_of("Conv", 2, 3, 4, (3, 5), padding=(1, 2), padding_mode=mode)
    x = normal((2, 3, 6, 7))
    around = lm.tensor(np.pad(x.numpy(), [(0, 0), (0, 0), (1, 1), (2, 2)], mode=numpy_mode))
    expected = nn.functional.conv2d(around, layer.weight, layer.bias)
    assert layer(x).tolist() == expected.tolist()


def test_same_padding_of_a_padding_mode_is_longer_behind():
    layer = layer_of("Conv", 1, 1, 1, 4, padding="same", padding_mode="replicate")
    x = normal((1, 1, 5))
    around = lm.tensor(np.pad(x.numpy(), [(0, 0), (0, 0), (1, 2)], mode="edge"))
    assert layer(x).tolist() == nn.functional.conv1d(around, layer.weight, layer.bias).tolist()


def test_unfold_and_fold_layers_are_their_functions():
    x = normal((2, 3, 6, 7))
    columns = nn.Unfold((3, 2), padding=1, stride=2)(x)
    assert columns.tolist() == nn.functional.unfold(x, (3, 2), padding=1, stride=2).tolist()
    again = nn.Fold((6, 7), (3, 2), padding=1, stride=2)(columns)
    assert (
        again.tolist() == nn.functional.fold(columns, (6, 7), (3, 2), padding=1, stride=2).tolist()
    )


def test_convolution_is_a_product_with_unfolded_columns():
    x, weight = normal((2, 3, 6, 7), dtype=lm.float64), normal((5, 3, 3, 2), 1, dtype=lm.float64)
    columns = nn.functional.unfold(x, (3, 2), dilation=2, padding=1)
    product = (weight.reshape(5, 18) @ columns).reshape(2, 5, 4, 7)
    y = nn.functional.conv2d(x, weight, dilation=2, padding=1)
    np.testing.assert_allclose(y.numpy(), product.numpy(), rtol=1e-12, atol=1e-12)


def test_what_lies_outside_contributes_nothing_even_to_infinite_weights():
    weight = lm.tensor([[[float("inf"), 1.0, 1.0]]])
    x = lm.tensor([[[1.0, 2.0, 3.0]]])
    for device in ("cpu", "reference"):
        on = [one.to_device(device) for one in (x, weight)]
        y = nn.functional.conv1d(*on, padding=1)
        assert y.tolist() == [[[3.0, float("inf"), float("inf")]]]
        spread = nn.functional.conv_transpose1d(*on, padding=1)
        assert spread.tolist() == [[[float("inf"), float("inf"), 5.0]]]


@pytest.mark.parametrize(
    ("arguments", "given", "text"),
    [
        ((4, 6, 3), {"groups": 4}, "4 channels in and 6 out cannot be cut into groups=4"),
        ((0, 6, 3), {}, "in_channels must be positive"),
        ((4, 6, 0), {}, "kernel_size must be positive"),
        ((4, 6, (3, 3, 3)), {}, "kernel_size must be one integer or two"),
        ((4, 6, 3), {"stride": 0}, "stride must be positive"),
        ((4, 6, 3), {"padding": -1}, "padding must be not negative"),
        ((4, 6, 3), {"padding": "some"}, "padding must be integers, 'same' or 'valid'"),
        ((4, 6, 3), {"padding": "same", "stride": 2}, "padding='same' needs stride 1"),
        ((4, 6, 3), {"padding_mode": "mirror"}, "padding_mode must be 'zeros', 'reflect'"),
    ],
)
def test_wrong_arguments_are_told(arguments, given, text):
    with pytest.raises(ArgumentError, match=text):
        nn.Conv2d(*arguments, **given)


def test_inputs_that_do_not_fit_are_told():
    layer = nn.Conv2d(4, 6, 3)
    with pytest.raises(ShapeError, match="x has 3 channels, but a weight of shape"):
        layer(lm.zeros((2, 3, 8, 8)))
    with pytest.raises(ShapeError, match="needs x of 3 or 4 axes"):
        layer(lm.zeros((4, 8)))
    with pytest.raises(KindError):
        layer(lm.zeros((2, 4, 8, 8), dtype=lm.int64))
    with pytest.raises(ShapeError, match="the bias must have shape"):
        nn.functional.conv2d(lm.zeros((1, 4, 8, 8)), layer.weight, lm.zeros((4,)))
    with pytest.raises(ShapeError, match=r"the result would have \(-1,\) positions"):
        nn.functional.conv_transpose1d(lm.zeros((1, 1, 2)), lm.zeros((1, 1, 2)), padding=2)
    with pytest.raises(ShapeError, match="fold: needs x of shape"):
        nn.functional.fold(lm.zeros((4, 3)), (2, 3), 2)


def test_layers_print_what_they_are():
    assert repr(nn.Conv2d(3, 8, 3, padding=1, bias=False)) == (
        "Conv2d(3, 8, kernel_size=(3, 3), padding=(1, 1), bias=False)"
    )
    assert repr(nn.ConvTranspose1d(3, 8, 4, 2, output_padding=1)) == (
        "ConvTranspose1d(3, 8, kernel_size=(4,), stride=(2,), output_padding=(1,))"
    )
