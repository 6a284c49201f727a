"""Dropout: training, evaluation, generators."""

import math

import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError


def test_dropout_keeps_scaled_values_in_training_and_all_in_evaluation_R3():
    layer = nn.Dropout(0.25, generator=lm.random.Generator(1))
    x = lm.full((10_000,), 3.0)
    y = layer(x).numpy()
    assert set(y.tolist()) == {0.0, 4.0}
    assert (y == 0).mean() == pytest.approx(0.25, abs=0.02)
    assert layer.eval()(x).tolist() == x.tolist()


def test_dropout_in_evaluation_draws_no_random_numbers():
    generator = lm.random.Generator(1)
    layer = nn.Dropout(0.5, generator=generator).eval()
    layer(lm.ones((10,)))
    assert generator.state == (1, 0)


def test_dropout_repeats_with_its_generator_and_differs_between_calls():
    layer = nn.Dropout(0.5, generator=lm.random.Generator(1))
    x = lm.ones((100,))
    first, second = layer(x).tolist(), layer(x).tolist()
    assert first != second
    layer.generator.state = (1, 0)
    assert layer(x).tolist() == first


@pytest.mark.parametrize("probability", [-0.1, 1.1, math.nan])
def test_dropout_of_a_probability_out_of_range_raises(probability):
    with pytest.raises(ArgumentError, match=r"must be in \[0, 1\]"):
        nn.Dropout(probability)
