"""Deviations and variances at their kinks."""

import pytest

import lumus as lm
from tests.hard_cases.values import check, check_exact, gradients, leaf

NAN = float("nan")


def test_deviation_of_equal_elements_has_gradient_zero_C6(device):
    for correction in (0.0, 1.0):
        for op in ("var", "std"):
            x = leaf([4.0, 4.0, 4.0], device)
            y = getattr(x, op)(correction=correction)
            assert y.item() == 0
            check_exact(gradients(y, x)[0], [0.0, 0.0, 0.0])


@pytest.mark.parametrize("op", ["var", "std"])
def test_deviation_of_one_element_C7(device, op):
    x = leaf([7.5], device)
    y = getattr(x, op)()
    assert y.item() == 0
    check_exact(gradients(y, x)[0], [0.0])
    check(getattr(x, op)(correction=1), NAN)


def test_variance_of_one_element_a_row_leaves_longer_rows_alone_C7(device):
    x = leaf([[7.5], [2.0]], device)
    check_exact(gradients(x.std(axis=1), x)[0], [[0.0], [0.0]])
    check(gradients(x.std(axis=0), x)[0], [[0.5], [-0.5]])


def test_correction_as_large_as_the_count_is_nan_C7(device):
    x = lm.zeros((2, 3), device=device)
    assert x.var(axis=1, correction=3).isnan().all()
    assert x.var(axis=0, correction=1).isfinite().all()
