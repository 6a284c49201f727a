"""Linear algebra: textbook algorithms in 80 bits, on matrices that are well conditioned.

Elimination, expansion by permutations, Householder reflections, Jacobi rotations. Signs of vectors,
which are LAPACK's choice, are made those that the formula has.
"""

import math
from collections.abc import Callable, Iterable
from itertools import permutations
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dispatch import apply
from lumus.testing.op_spec import Case, Edge, OpSpec, Source

FLOATS = (lm.float64, lm.float32)
SQUARE = ((1, 1), (2, 2), (3, 3), (2, 3, 3), (2, 1, 2, 2), (0, 0), (0, 2, 2), (2, 0, 0))
TALL = ((1, 1), (3, 3), (4, 2), (2, 3, 1), (0, 3, 2), (3, 0))
WIDE = ((2, 4), (2, 1, 3), (0, 3))


def matrices(*shapes: tuple[int, ...]) -> Callable[[Source], Iterable[Case]]:
    def cases(source: Source) -> Iterable[Case]:
        for shape in shapes:
            yield Case(f"shape {shape}", (source.draw(shape),))

    return cases


# Matrices whose eigenvalues and singular values are far apart, made in the same way on both sides.


def apart(x: Any, symmetric: bool = False) -> Any:
    """The elements made small beside a diagonal of 2, 4.5, 7, ..."""
    rows, columns = x.shape[-2:]
    diagonal = np.zeros((rows, columns))
    np.fill_diagonal(diagonal, 2 + 2.5 * np.arange(min(rows, columns)))
    if isinstance(x, np.ndarray):
        small = 0.1 * (x + np.swapaxes(x, -1, -2)) if symmetric else 0.2 * x
        return small + diagonal
    small = (x + x.mT) * 0.1 if symmetric else x * 0.2
    return small + lm.tensor(diagonal, dtype=x.dtype, device=x.device)


def each(function: Callable[..., Any]) -> Callable[..., Any]:
    """A formula for one matrix, applied to all of a stack, in 80 bits."""

    def stacked(*arrays: Any, **kwargs: Any) -> Any:
        batch = np.broadcast_shapes(*[one.shape[:-2] for one in arrays])
        wide = [
            np.broadcast_to(one, (*batch, *one.shape[-2:])).astype(np.longdouble) for one in arrays
        ]
        places = list(np.ndindex(batch))
        # A stack of none has results of the shapes that a matrix of ones has.
        found = [function(*[one[place] for one in wide], **kwargs) for place in places] or [
            function(*[np.eye(*one.shape[-2:], dtype=np.longdouble) for one in wide], **kwargs)
        ]
        several = isinstance(found[0], tuple)
        columns = list(zip(*found, strict=True)) if several else [found]
        results = [
            np.array(column, np.float64)[: len(places)].reshape((*batch, *np.shape(column[0])))
            for column in columns
        ]
        return results if several else results[0]

    return stacked


def eliminated(a: Any, b: Any) -> Any:
    """The solution of a x = b, by elimination with row exchanges."""
    a, x = a.copy(), b.copy()
    for column in range(len(a)):
        pivot = column + int(np.argmax(np.abs(a[column:, column])))
        a[[column, pivot]], x[[column, pivot]] = a[[pivot, column]], x[[pivot, column]]
        for row in range(len(a)):
            if row != column:
                factor = a[row, column] / a[column, column]
                a[row] -= factor * a[column]
                x[row] -= factor * x[column]
    return x / np.diag(a)[:, None]


def expanded(a: Any) -> Any:
    """The determinant as the sum over all permutations."""
    total = np.longdouble(0)
    for order in permutations(range(len(a))):
        inversions = sum(
            order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order))
        )
        total += (-1) ** inversions * math.prod(a[row, place] for row, place in enumerate(order))
    return total


def cofactors(a: Any) -> Any:
    result = np.zeros_like(a)
    for row, column in np.ndindex(a.shape):
        minor = np.delete(np.delete(a, row, 0), column, 1)
        result[row, column] = (-1) ** (row + column) * expanded(minor)
    return result


def root(a: Any) -> Any:
    """The lower triangular root."""
    lower = np.zeros_like(a)
    for row in range(len(a)):
        for column in range(row + 1):
            rest = a[row, column] - lower[row, :column] @ lower[column, :column]
            lower[row, column] = np.sqrt(rest) if row == column else rest / lower[column, column]
    return lower


def reflected(a: Any) -> Any:
    """q (square) and r by Householder reflections, with LAPACK's signs."""
    rows, columns = a.shape
    q, r = np.eye(rows, dtype=a.dtype), a.copy()
    for column in range(min(rows - 1, columns)):
        mirror = r[column:, column].copy()
        mirror[0] += np.copysign(np.sqrt(mirror @ mirror), mirror[0])
        mirror /= np.sqrt(mirror @ mirror)
        r[column:] -= 2 * np.outer(mirror, mirror @ r[column:])
        q[:, column:] -= 2 * np.outer(q[:, column:] @ mirror, mirror)
    return q, np.triu(r)


def thin_reflected(a: Any) -> Any:
    q, r = reflected(a)
    count = min(a.shape)
    return q[:, :count], r[:count]


def rotated(a: Any) -> Any:
    """u, s, vh, thin, by Jacobi rotations of the columns until they are orthogonal."""
    if a.shape[0] < a.shape[1]:
        u, s, vh = rotated(a.T)
        return vh.T, s, u.T
    a, v = a.copy(), np.eye(a.shape[1], dtype=a.dtype)
    for _ in range(12):
        for i in range(a.shape[1]):
            for j in range(i + 1, a.shape[1]):
                inner, difference = a[:, i] @ a[:, j], a[:, j] @ a[:, j] - a[:, i] @ a[:, i]
                angle = np.arctan2(2 * inner, difference) / 2
                turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
                a[:, [i, j]], v[:, [i, j]] = a[:, [i, j]] @ turn, v[:, [i, j]] @ turn
    s = np.sqrt((a * a).sum(0))
    order = np.argsort(-s)
    return (a / s)[:, order], s[order], v[:, order].T


def diagonalized(a: Any) -> Any:
    """The eigenvalues, increasing, and eigenvectors of a positive definite matrix."""
    u, s, _ = rotated(a)
    return s[::-1], u[:, ::-1]


# ------------------------------------------------------------------------------------------- signs


def leading_positive(vectors: Any) -> Any:
    """The sign for each column that makes its largest element positive, as both sides do."""
    array = vectors if isinstance(vectors, np.ndarray) else vectors.detach().numpy()
    if not array.size:
        signs = np.ones((*array.shape[:-2], 1, array.shape[-1]))
    else:
        largest = np.argmax(np.abs(array), axis=-2, keepdims=True)
        signs = np.sign(np.take_along_axis(array, largest, -2))
    if isinstance(vectors, np.ndarray):
        return signs
    return lm.tensor(signs, device=vectors.device).astype(vectors.dtype)


def signed_svd(x: Any) -> Any:
    u, s, vh = lm.linalg.svd(x, full_matrices=False)
    signs = leading_positive(u)
    return u * signs, s, vh * signs.mT


def signed_rotated(a: Any) -> Any:
    u, s, vh = rotated(a)
    signs = leading_positive(u)
    return u * signs, s, vh * signs.T


def signed_eigh(x: Any) -> Any:
    w, v = lm.linalg.eigh(x)
    return w, v * leading_positive(v)


def signed_diagonalized(a: Any) -> Any:
    w, v = diagonalized(a)
    return w, v * leading_positive(v)


def projectors(x: Any) -> Any:
    """What a full decomposition says without a choice: the spaces beyond the singular values."""
    u, s, vh = lm.linalg.svd(x)
    count = s.shape[-1]
    left, right = u[..., count:], vh[..., count:, :]
    return left @ left.mT, s, right.mT @ right


def projected(a: Any) -> Any:
    u, s, vh = rotated(a)
    return np.eye(len(a)) - u @ u.T, s, np.eye(a.shape[1]) - vh.T @ vh


def complete_qr(x: Any) -> Any:
    q, r = lm.linalg.qr(x, mode="complete")
    count = min(x.shape[-2:])
    free = q[..., count:]
    return q[..., :count], r, free @ free.mT


def complete_reflected(a: Any) -> Any:
    q, r = reflected(a)
    free = q[:, min(a.shape) :]
    return q[:, : min(a.shape)], r, free @ free.T


# ------------------------------------------------------------------------------------------- cases


def solve_cases(source: Source) -> Iterable[Case]:
    for a, b in (
        ((2, 2), (2, 3)),
        ((3, 3), (3,)),
        ((2, 3, 3), (2, 3, 1)),
        ((2, 3, 3), (3,)),
        ((2, 2), (3, 2, 2)),
        ((3, 1, 2, 2), (2, 2, 1)),
        ((0, 0), (0, 2)),
        ((0, 2, 2), (2, 1)),
        ((2, 2), (2, 0)),
    ):
        yield Case(f"shapes {a}, {b}", (source.draw(a), source.draw(b)))


def triangular_cases(source: Source) -> Iterable[Case]:
    for number, (a, b) in enumerate(
        (
            ((3, 3), (3, 2)),
            ((3, 3), (3,)),
            ((2, 3, 3), (2, 3, 1)),
            ((2, 2), (3, 2, 2)),
            ((5, 2, 2), (2, 3)),
            ((1, 1), (1, 1)),
            ((0, 0), (0, 2)),
            ((2, 2), (2, 0)),
            ((40, 40), (40, 2)),
        )
    ):
        for upper in (False, True):
            left = number % 2 == 0 or len(b) == 1
            right_side = b if left else (*b[:-2], b[-1], b[-2])
            kwargs = {"upper": upper, "left": left, "unitriangular": number in (0, 2, 3)}
            inputs = (source.draw(a), source.draw(right_side))
            yield Case(f"shapes {a}, {right_side}, {kwargs}", inputs, kwargs)


def lstsq_cases(source: Source) -> Iterable[Case]:
    for a, b in (
        ((4, 2), (4, 3)),
        ((4, 2), (4,)),
        ((3, 3), (3, 1)),
        ((2, 4), (2, 2)),
        ((2, 3, 2), (3, 1)),
        ((2, 3, 2), (3,)),
        ((0, 3, 2), (3, 1)),
    ):
        yield Case(f"shapes {a}, {b}", (source.draw(a), source.draw(b)))


def columns_of(formula: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A formula for a matrix of right sides, applied to one vector, too."""

    def by_columns(a: Any, b: Any, **kwargs: Any) -> Any:
        if b.ndim > 1:
            return formula(a, b, **kwargs)
        found = formula(a, b[:, None], **kwargs)
        if isinstance(found, list):
            return [found[0][..., 0], found[1][..., 0]]
        return found[..., 0]

    return by_columns


@each
def substituted(a: Any, b: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    triangle = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        np.fill_diagonal(triangle, 1)
    return eliminated(triangle, b) if left else eliminated(triangle.T, b.T).T


def triangular_formula(a: Any, b: Any, **kwargs: Any) -> Any:
    a = apart(a)
    if b.ndim > 1:
        return substituted(a, b, **kwargs)
    return substituted(a, b[:, None], **kwargs)[..., 0]


@each
def least_squares(a: Any, b: Any) -> Any:
    if a.shape[0] >= a.shape[1]:
        x = eliminated(a.T @ a, a.T @ b)
    else:
        x = a.T @ eliminated(a @ a.T, b)
    return x, ((b - a @ x) ** 2).sum(0)


@each
def pseudo_inverse(a: Any) -> Any:
    u, s, vh = rotated(a)
    return (vh.T / s) @ u.T if s.size else np.zeros(a.shape[::-1])


def powers_cases(source: Source) -> Iterable[Case]:
    for shape, n in (
        ((2, 2), 0),
        ((2, 2), 1),
        ((2, 2), 5),
        ((2, 2, 2), 2),
        ((0, 0), 3),
        ((3, 3), 6),
    ):
        yield Case(f"shape {shape} to the {n}", (source.draw(shape),), {"n": n})


def power(x: Any, n: int) -> Any:
    wide = x.astype(np.longdouble) if x.dtype.kind == "f" else x
    result = np.broadcast_to(np.eye(x.shape[-1], dtype=wide.dtype), x.shape)
    for _ in range(n):
        result = result @ wide
    return result.astype(x.dtype)


def small_power(x: Any, n: int) -> Any:
    """Of ints as they are, of floats about 1, so that nothing cancels."""
    return (
        lm.linalg.matrix_power(x, n) if x.dtype.kind == "int" else lm.linalg.matrix_power(x / 3, n)
    )


def cross_cases(source: Source) -> Iterable[Case]:
    for x, y, axis in (
        ((3,), (3,), -1),
        ((2, 3), (3,), -1),
        ((3, 4), (3, 1), 0),
        ((2, 1, 3), (4, 3), 2),
        ((0, 3), (3,), -1),
    ):
        inputs = (source.draw(x), source.draw(y))
        yield Case(f"shapes {x}, {y}, axis {axis}", inputs, {"axis": axis})


def vecdot_cases(source: Source) -> Iterable[Case]:
    for x, y, axis in (
        ((4,), (4,), -1),
        ((2, 4), (4,), -1),
        ((4, 3), (4, 1), -2),
        ((2, 1, 4), (3, 4), -1),
        ((2, 0), (0,), -1),
    ):
        inputs = (source.draw(x), source.draw(y))
        yield Case(f"shapes {x}, {y}, axis {axis}", inputs, {"axis": axis})


def spec(name: str, function: Any, formula: Any, cases: Any, **fields: Any) -> OpSpec:
    return OpSpec(
        name=name,
        function=function,
        formula=formula,
        cases=cases,
        dtypes=fields.pop("dtypes", FLOATS),
        absolute=True,
        tolerance=fields.pop("tolerance", 50),
        **fields,
    )


NUMBERS = (*FLOATS, lm.float16, lm.bfloat16, lm.int64, lm.int16)

SPECS = [
    spec(
        "solve",
        lambda a, b: lm.linalg.solve(apart(a), b),
        columns_of(lambda a, b: each(eliminated)(apart(a), b)),
        solve_cases,
    ),
    spec(
        "solve_triangular",
        lambda a, b, **kwargs: lm.linalg.solve_triangular(apart(a), b, **kwargs),
        triangular_formula,
        triangular_cases,
    ),
    spec(
        "inv",
        lambda x: lm.linalg.inv(apart(x)),
        each(lambda a: eliminated(apart(a), np.eye(len(a), dtype=a.dtype))),
        matrices(*SQUARE),
    ),
    spec(
        "det",
        lambda x: lm.linalg.det(x / 3),
        each(lambda a: expanded(a / 3)),
        matrices(*SQUARE, (4, 4)),
        covers=("cofactor", "cofactor_tangent"),
        edges=(
            Edge(
                "a singular matrix",
                ([[1.0, 2.0], [2.0, 4.0]],),
                ([[4 / 9, -2 / 9], [-2 / 9, 1 / 9]],),
            ),
            Edge("zeros", (np.zeros((2, 2)),), (np.zeros((2, 2)),)),
            Edge("zeros of rank 3 less", (np.zeros((3, 3)),), (np.zeros((3, 3)),)),
        ),
    ),
    spec(
        "cofactor",
        lambda x: apply("cofactor", apart(x)),
        each(lambda a: cofactors(apart(a))),
        matrices((1, 1), (2, 2), (3, 3), (2, 3, 3), (0, 0)),
        covers=("cofactor_tangent",),
    ),
    spec(
        "cofactor_tangent",
        lambda x, g: apply("cofactor_tangent", apart(x), g),
        each(lambda a, g: (cofactors(apart(a) + g) - cofactors(apart(a) - g)) / 2),
        lambda source: [
            Case(f"shape {shape}", (source.draw(shape), source.draw(shape)))
            for shape in ((2, 2), (3, 3), (2, 2, 2))
        ],
    ),
    spec(
        "slogdet",
        lambda x: lm.linalg.slogdet(apart(x)),
        each(lambda a: (np.sign(expanded(apart(a))), np.log(np.abs(expanded(apart(a)))))),
        matrices(*SQUARE),
        covers=("inv",),
    ),
    spec(
        "cholesky",
        lambda x: lm.linalg.cholesky(apart(x, symmetric=True)),
        each(lambda a: root(apart(a, symmetric=True))),
        matrices(*SQUARE),
        covers=("solve_triangular",),
    ),
    spec(
        "qr",
        lambda x: lm.linalg.qr(apart(x)),
        each(lambda a: thin_reflected(apart(a))),
        matrices(*TALL, *WIDE),
        covers=("solve_triangular",),
    ),
    spec(
        "qr complete",
        lambda x: complete_qr(apart(x)),
        each(lambda a: complete_reflected(apart(a))),
        matrices(*TALL, *WIDE),
        covers=("qr",),
    ),
    spec(
        "svd",
        lambda x: signed_svd(apart(x)),
        each(lambda a: signed_rotated(apart(a))),
        matrices((1, 1), (3, 3), (4, 2), (2, 3, 2), (2, 4), (0, 3, 2)),
    ),
    spec(
        "svd full",
        lambda x: projectors(apart(x)),
        each(lambda a: projected(apart(a))),
        matrices((3, 3), (5, 2), (2, 3, 1), (2, 4)),
        covers=("svd",),
    ),
    spec(
        "svdvals",
        lambda x: lm.linalg.svdvals(apart(x)),
        each(lambda a: rotated(apart(a))[1]),
        matrices(*TALL, *WIDE),
        covers=("svd",),
    ),
    spec(
        "eigh",
        lambda x: signed_eigh(apart(x, symmetric=True)),
        each(lambda a: signed_diagonalized(apart(a, symmetric=True))),
        matrices((1, 1), (2, 2), (3, 3), (2, 3, 3), (0, 2, 2)),
    ),
    spec(
        "eigvalsh",
        lambda x: lm.linalg.eigvalsh(apart(x, symmetric=True)),
        each(lambda a: diagonalized(apart(a, symmetric=True))[0]),
        matrices(*SQUARE),
        covers=("eigh",),
    ),
    spec(
        "pinv",
        lambda x: lm.linalg.pinv(apart(x)),
        lambda x: pseudo_inverse(apart(x)),
        matrices(*TALL, *WIDE),
    ),
    spec(
        "lstsq",
        lambda a, b: lm.linalg.lstsq(apart(a), b)[:2],
        columns_of(lambda a, b: least_squares(apart(a), b)),
        lstsq_cases,
        covers=("pinv",),
    ),
    spec(
        "matrix_rank",
        lm.linalg.matrix_rank,
        np.linalg.matrix_rank,
        matrices(*TALL, *WIDE),
        result=lambda dtype: lm.int64,
        differentiable=False,
    ),
    spec(
        "matrix_power",
        small_power,
        lambda x, n: power(x if x.dtype.kind == "i" else x / 3, n),
        powers_cases,
        dtypes=NUMBERS,
        covers=("matmul",),
        tolerance=10,
    ),
    spec(
        "cross",
        lm.linalg.cross,
        lambda x, y, axis: np.cross(*np.broadcast_arrays(x, y), axis=axis),
        cross_cases,
        dtypes=NUMBERS,
        covers=("concat", "multiply"),
        tolerance=10,
    ),
    spec(
        "vecdot",
        lm.vecdot,
        lambda x, y, axis: np.asarray(
            (np.moveaxis(x, axis, -1) * np.moveaxis(y, axis, -1)).sum(-1)
        ),
        vecdot_cases,
        dtypes=NUMBERS,
        tolerance=10,
    ),
]
