"""Matrices at which decompositions have no derivative, or do not exist: NaN, or an error.

Never a wrong number; and what has a derivative there after all has the right one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import MatrixError

linalg = lm.linalg
RANDOM = np.random.default_rng(7)
G = RANDOM.normal(size=(4, 4))
Q = np.linalg.qr(RANDOM.normal(size=(4, 4)))[0]
P = np.linalg.qr(RANDOM.normal(size=(4, 4)))[0]


def gradient(function: Callable[[Any], Any], values: Any) -> Any:
    x = lm.tensor(np.asarray(values, np.float64), requires_grad=True)
    return function(x).sum().backward()[x].numpy()


def symmetric(*eigenvalues: float) -> Any:
    return Q @ np.diag(eigenvalues) @ Q.T


def general(*singular_values: float) -> Any:
    return Q @ np.diag(singular_values) @ P


def check(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def rebuilt(x: Any) -> Any:
    u, s, vh = linalg.svd(x, full_matrices=False)
    return (u * s.expand_dims(-2)) @ vh * lm.tensor(G[: x.shape[-2], : x.shape[-1]])


def rebuilt_symmetric(x: Any) -> Any:
    w, v = linalg.eigh(x)
    return (v * w.expand_dims(-2)) @ v.mT * lm.tensor(G)


# Eigenvalues
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [linalg.eigvalsh, lambda x: linalg.eigh(x).eigenvalues])
def test_functions_of_equal_eigenvalues_have_their_gradient(values: Any) -> None:
    x = symmetric(1, 1, 2, 3)
    check(gradient(lambda t: values(t).square(), x), 2 * x)
    check(gradient(lambda t: values(t) * values(t) * values(t), x), 3 * x @ x)


def test_the_largest_of_equal_eigenvalues_shares_its_gradient_evenly() -> None:
    check(gradient(lambda t: linalg.eigvalsh(t)[-1], np.eye(3)), np.eye(3) / 3)
    check(
        gradient(lambda t: linalg.eigh(t).eigenvalues[1], symmetric(1, 1, 2, 3)),
        Q[:, :2] @ Q[:, :2].T / 2,
    )


@pytest.mark.parametrize(
    "x", [symmetric(1, 1, 2, 3), symmetric(0, 0, 2, 3), np.eye(4), np.zeros((4, 4))]
)
def test_vectors_of_equal_eigenvalues_have_the_gradient_nan(x: Any) -> None:
    assert np.isnan(gradient(rebuilt_symmetric, x)).all()


def test_vectors_of_other_eigenvalues_keep_their_gradient() -> None:
    """The projector on the space of 2 and 3, beside two equal ones; by differences."""

    def projected(a: Any) -> float:
        v = np.linalg.eigh(a)[1][:, 2:]
        return float(((v @ v.T) * G).sum())

    x, step = symmetric(1, 1, 2, 3), 1e-5
    want = np.zeros((4, 4))
    for row, column in np.ndindex(4, 4):
        change = np.zeros((4, 4))
        change[row, column] += step / 2
        change[column, row] += step / 2
        want[row, column] = (projected(x + change) - projected(x - change)) / (2 * step)

    def space(t: Any) -> Any:
        v = linalg.eigh(t).eigenvectors[:, 2:]
        return v @ v.mT * lm.tensor(G)

    np.testing.assert_allclose(gradient(space, x), want, atol=1e-8)


def test_what_rebuilds_a_matrix_is_no_function_of_its_equal_values() -> None:
    """At 0 the vectors' gradient is 0, and the values' alone: what is lost is not guessed."""

    def total(x: Any) -> Any:
        w, v = linalg.eigh(x)
        return (v * w.expand_dims(-2)) @ v.mT

    def total_of_svd(x: Any) -> Any:
        u, s, vh = linalg.svd(x)
        return (u * s.expand_dims(-2)) @ vh

    assert np.isnan(gradient(total, np.zeros((3, 3)))).all()
    assert np.isnan(gradient(total_of_svd, np.zeros((3, 3)))).all()


def test_one_matrix_without_a_gradient_leaves_the_others_alone() -> None:
    both = np.stack([symmetric(1, 1, 2, 3), symmetric(1, 2, 3, 4)])
    found = gradient(rebuilt_symmetric, both)
    assert np.isnan(found[0]).all()
    check(found[1], (G + G.T) / 2)


# Singular values
# ----------------------------------------------------------------------------------------------


def test_one_singular_value_of_zero_loses_nothing() -> None:
    check(gradient(rebuilt, general(3, 2, 1, 0)), G)


@pytest.mark.parametrize(
    "x",
    [
        general(3, 2, 2, 1),
        general(3, 2, 0, 0),
        general(3, 2, 1, 0)[:, :3] @ np.diag([1.0, 1.0, 0.0]),
        (general(3, 2, 1, 0)[:, :3] @ np.diag([1.0, 1.0, 0.0])).T,
        np.eye(4),
        np.zeros((4, 4)),
        np.ones((2, 4)),
    ],
)
def test_vectors_without_a_derivative_have_the_gradient_nan(x: Any) -> None:
    assert np.isnan(gradient(rebuilt, x)).all()


@pytest.mark.parametrize("values", [linalg.svdvals, lambda x: linalg.svd(x).S])
def test_functions_of_the_singular_values_alone(values: Any) -> None:
    for x in (general(3, 2, 2, 0), general(3, 0, 0, 0), general(3, 2, 2, 1)[:, :2]):
        check(gradient(lambda t: values(t).square(), x), 2 * x)
    # The sum of all has a kink at 0: the gradient of least length there.
    check(gradient(values, np.outer([3.0, 4.0], [0.0, 1.0])), [[0.0, 0.6], [0.0, 0.8]])
    check(gradient(values, np.zeros((2, 3))), np.zeros((2, 3)))
    check(gradient(lambda t: values(t)[0], np.eye(2)), np.eye(2) / 2)


def test_free_vectors_of_a_full_decomposition() -> None:
    x = general(3, 2, 1, 0.5)[:, :2]
    assert np.isnan(gradient(lambda t: linalg.svd(t).U * lm.tensor(G), x)).all()
    # All of u.T u is constant, and so is the space beside the columns.
    check(gradient(lambda t: linalg.svd(t).U[:, 2:].square(), x), _of_projector(x))


def _of_projector(x: Any) -> Any:
    """The gradient of sum(diag(1 - u u.T)), a constant."""
    return np.zeros_like(x)


def test_free_columns_of_a_complete_qr() -> None:
    x = RANDOM.normal(size=(4, 2))
    assert np.isnan(gradient(lambda t: linalg.qr(t, mode="complete").Q * lm.tensor(G), x)).all()
    check(gradient(lambda t: linalg.qr(t, mode="complete").Q[:, 2:].square(), x), np.zeros((4, 2)))


@pytest.mark.parametrize("x", [np.ones((3, 2)), np.zeros((2, 2)), np.ones((2, 4))])
def test_qr_of_dependent_columns_has_the_gradient_nan(x: Any) -> None:
    assert np.isnan(gradient(lambda t: linalg.qr(t).R, x)[..., : x.shape[0]]).all()


# Determinants
# ----------------------------------------------------------------------------------------------


def test_second_derivative_of_a_determinant_at_a_singular_matrix() -> None:
    """Of [[a, b], [c, d]] at zero: d det / da = d, so that the gradient's gradient is constant."""
    x = lm.zeros((2, 2), dtype=lm.float64, requires_grad=True)
    weights = lm.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=lm.float64)
    first = linalg.det(x).backward(create_graph=True)[x]
    assert (first * weights).sum().backward()[x].tolist() == [[5.0, -3.0], [-2.0, 1.0]]


def test_third_derivative_of_a_determinant() -> None:
    x = lm.tensor(RANDOM.normal(size=(3, 3)), requires_grad=True)
    cotangents = [lm.tensor(RANDOM.normal(size=(3, 3))) for _ in range(2)]
    grad = linalg.det(x).backward(create_graph=True)[x]
    for cotangent in cotangents:
        grad = (grad * cotangent).sum().backward(create_graph=True)[x]
    # The determinant is linear in each row: mixed differences are exact.
    want = np.zeros((3, 3))
    for place in np.ndindex(3, 3):
        third = np.zeros((3, 3))
        third[place] = 1
        directions = [*(one.numpy() for one in cotangents), third]
        for signs in np.ndindex(2, 2, 2):
            step = sum((1 - 2 * sign) * one for sign, one in zip(signs, directions, strict=True))
            want[place] += (-1) ** sum(signs) * np.linalg.det(x.detach().numpy() + step) / 8
    check(grad.detach().numpy(), want)


def test_slogdet_of_a_singular_matrix() -> None:
    x = lm.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    sign, logabsdet = linalg.slogdet(x)
    assert (sign.item(), logabsdet.item()) == (0.0, -np.inf)
    assert sign.backward()[x].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(MatrixError, match=r"slogdet: .* no gradient at a singular matrix"):
        linalg.slogdet(x).logabsdet.backward()


# Errors
# ----------------------------------------------------------------------------------------------

BATCH = np.stack([np.eye(2)] * 6).reshape(2, 3, 2, 2)


def spoilt(matrix: Any) -> lm.Tensor[Any]:
    values = BATCH.copy()
    values[1, 2] = matrix
    return lm.tensor(values)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize(
    ("name", "run", "matrix", "text"),
    [
        ("solve", lambda x: linalg.solve(x, x), np.ones((2, 2)), "is singular"),
        ("inv", linalg.inv, np.zeros((2, 2)), "is singular"),
        ("cholesky", linalg.cholesky, -np.eye(2), "is not positive definite"),
        (
            "solve_triangular",
            lambda x: linalg.solve_triangular(x, x, upper=True),
            np.diag([1.0, 0.0]),
            "is singular: element 1 of its diagonal is 0",
        ),
        *[
            (run.__name__, run, [[1.0, np.inf], [np.nan, 1.0]], "is not finite: element [")
            for run in (
                linalg.det, linalg.slogdet, linalg.inv, linalg.cholesky, linalg.qr, linalg.svd,
                linalg.svdvals, linalg.eigh, linalg.eigvalsh, linalg.pinv,
            )
        ],
        ("lstsq", lambda x: linalg.lstsq(x, x), np.full((2, 2), np.nan), "is not finite"),
    ],
)  # fmt: skip
def test_the_matrix_is_named(name: str, run: Any, matrix: Any, text: str, device: str) -> None:
    with pytest.raises(MatrixError) as caught:
        run(spoilt(matrix).to_device(device))
    assert str(caught.value).startswith(f"{name}: matrix [1, 2] of the batch {text}")
    assert caught.value.op == name
    assert caught.value.position == (1, 2)


def test_right_sides_that_are_not_finite_pass_through() -> None:
    b = lm.tensor([1.0, np.nan], dtype=lm.float64)
    x = linalg.solve(lm.tensor(np.diag([2.0, 4.0])), b)
    assert np.isnan(x.numpy()[1])


def test_a_zero_on_an_unread_diagonal_is_no_error() -> None:
    a = lm.tensor([[0.0, 0.0], [2.0, 0.0]])
    x = linalg.solve_triangular(a, lm.tensor([1.0, 5.0]), upper=False, unitriangular=True)
    assert x.tolist() == [1.0, 3.0]


def test_triangular_systems_of_every_layout_and_size() -> None:
    for size in (1, 2, 33, 130):
        a = RANDOM.normal(size=(3, size, size)) + size * np.eye(size)
        b = RANDOM.normal(size=(3, size, 2))
        for upper in (False, True):
            want = np.linalg.solve(np.triu(a) if upper else np.tril(a), b)
            tensors = (
                lm.tensor(a),
                lm.tensor(np.swapaxes(a, -1, -2).copy()).mT,
                lm.tensor(np.repeat(a, 2, -1))[..., ::2],
                lm.tensor(a[:, ::-1, ::-1].copy()).flip((-2, -1)),
            )
            for one in tensors:
                np.testing.assert_allclose(
                    linalg.solve_triangular(one, lm.tensor(b), upper=upper).numpy(), want, 1e-9
                )
