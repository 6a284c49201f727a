"""Dropout and random numbers."""

import numpy as np
import pytest

import lumus as lm
from lumus.errors import KindError
from lumus.nn.functional import dropout
from tests.hard_cases.values import check_bits, check_exact, constant, elements, gradients, leaf

INF = float("inf")


def test_dropout_of_nothing_and_of_everything_R1(device):
    x = leaf([1.0, -2.0, INF], device)
    kept, dropped = dropout(x, 0.0), dropout(x, 1.0)
    check_bits(kept, [1.0, -2.0, INF])
    check_exact(dropped, [0.0, 0.0, 0.0])
    check_exact(gradients(kept * 1.0, x, grad=[1.0, 2.0, 3.0])[0], [1.0, 2.0, 3.0])
    check_exact(gradients(dropped, x)[0], [0.0, 0.0, 0.0])


def test_dropout_backward_uses_the_mask_of_the_forward_pass_R2(device):
    generator = lm.random.Generator(0)
    x = lm.zeros((1000,), device=device, requires_grad=True)
    (dx,) = gradients(dropout(x, 0.5, generator=generator), x)
    assert set(dx.tolist()) == {0.0, 2.0}
    assert 400 < (dx == 2).sum() < 600
    ones = dropout(lm.ones((1000,), device=device), 0.5, generator=lm.random.Generator(0))
    check_exact(ones, dx)


def test_dropout_scales_what_it_keeps_R3(device):
    x = lm.full((1000,), 3.0, device=device, requires_grad=True)
    y = dropout(x, 0.25, generator=lm.random.Generator(0))
    assert set(y.tolist()) == {0.0, 4.0}
    evaluated = dropout(x, 0.25, training=False)
    check_exact(evaluated, np.full(1000, 3.0))
    check_exact(gradients(evaluated * 1.0, x)[0], np.ones(1000))
    with pytest.raises(KindError, match="dropout"):
        dropout(constant([1, 2], device), 0.25)


@pytest.mark.parametrize("draw", [lm.random.uniform, lm.random.normal, lm.random.bernoulli])
def test_random_numbers_depend_on_the_seed_alone_R4(draw):
    before = lm.num_threads()
    try:
        for size in (7, 1000003):
            found = set()
            for threads in (1, 4):
                lm.set_num_threads(threads)
                found.add(elements(draw((size,), generator=lm.random.Generator(9))).tobytes())
            assert len(found) == 1
    finally:
        lm.set_num_threads(before)


def test_successive_draws_differ_and_a_prefix_is_a_prefix_R4(device):
    generator = lm.random.Generator(9)
    first = lm.random.normal((7,), device=device, generator=generator)
    second = lm.random.normal((7,), device=device, generator=generator)
    assert (first != second).any()
    longer = lm.random.normal((1000,), device=device, generator=lm.random.Generator(9))
    check_exact(longer[:7], elements(first))


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16])
def test_uniform_never_reaches_its_upper_end_R5(device, dtype):
    count = 20000 if device == "reference" else 2000000
    x = lm.random.uniform((count,), dtype=dtype, device=device, generator=lm.random.Generator(4))
    assert (x < 1.0).all()
    assert (x >= 0.0).all()
    high = lm.random.uniform(
        (count,), 2.0, 3.0, dtype=dtype, device=device, generator=lm.random.Generator(4)
    )
    assert ((high >= 2.0) & (high < 3.0)).all()
