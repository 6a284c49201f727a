"""Random programs: elementwise ops of all dtypes with reductions, products and views in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lumus as lm
from lumus.core import dtypes as d
from lumus.core.broadcast import broadcasts_to
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.scalar.tangent import vjp
from lumus.trace.program import Program, Var
from tests.compile.build import Build

# Four numbers say what is added: which op, and which values and parameters it takes.
Step = tuple[int, int, int, int]

SHAPES = ((4, 70), (4, 70), (70,), (4, 1), (), (2, 4, 70))
FLOATS = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot")
INTS = ("add", "subtract", "multiply", "maximum", "bitwise_xor", "floor_divide")
UNARY = ("negative", "exp", "abs", "square", "tanh", "sqrt", "floor", "relu", "sign")
COMPARISONS = ("less", "greater_equal", "equal", "not_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor", "bitwise_and")
MAPS = (
    expression(lambda x: 0.1),
    expression(lambda x: 3),
    expression(lambda x, y: x * 0 + y * 1 - x / 4),
    expression(lambda x, y: scalar.where(x > y, x**3, -y) * -1),
    vjp(expression(lambda x: scalar.floor(x)), 0),
    vjp(expression(lambda x: scalar.tanh(x)), 0),
    vjp(expression(lambda x: x**3), 0),
    vjp(expression(lambda x: scalar.where(x > 0, x, 0)), 0),
)


def random_program(dtypes: Sequence[d.DType[Any]], steps: Sequence[Step]) -> Program:
    """A program of inputs with these dtypes, with an equation for each step that has operands."""
    build = Build("random")
    values = [
        build.input(f"x{number}", *SHAPES[number % len(SHAPES)], dtype=dtype)
        for number, dtype in enumerate(dtypes)
    ]
    results: list[Var] = []
    for step in steps:
        made = _add(build, values, *step)
        if made is not None and made.spec.size <= 2000:
            values.append(made)
            if step[0] % 5 == 0:
                results.append(made)
    results.append(values[-1])
    # NumPy does not know bfloat16, so its NaNs could not be told from numbers.
    outputs = [
        build.op("astype", var, dtype=d.float32) if var.spec.dtype is d.bfloat16 else var
        for var in dict.fromkeys(results)
    ]
    return build.program(*outputs)


def random_arrays(program: Program, seed: int) -> list[Any]:
    """Inputs with everything that floats can be among them."""
    rng = np.random.default_rng(seed)
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e-42, 70000.0]
    made = []
    for var in program.inputs:
        shape, dtype = var.spec.shape, var.spec.dtype
        if dtype.kind == "float":
            values = np.where(
                rng.random(shape) < 0.1, rng.choice(odd, shape), rng.normal(size=shape)
            )
            made.append(lm.astype(lm.tensor(values, dtype=lm.float64), dtype).data)
        else:
            low = 0 if dtype.kind == "bool" or dtype is d.uint8 else -100
            high = 2 if dtype.kind == "bool" else 100
            made.append(lm.astype(lm.tensor(rng.integers(low, high, shape)), dtype).data)
    return made


def _add(build: Build, values: list[Var], what: int, one: int, two: int, three: int) -> Any:
    # Late values more often: chains get long.
    x = values[-1 - one % min(len(values), 4)] if one % 2 else values[one % len(values)]
    kind = x.spec.dtype.kind
    alike = [var for var in values if var.spec.dtype.kind == kind and _fit(x, var)]
    y = alike[two % len(alike)]
    choice = what % 14
    if choice < 5:
        return _arithmetic(build, values, x, y, choice, three)
    if choice == 5:
        return build.op("astype", x, dtype=d.ALL[two % len(d.ALL)])
    if choice == 6:
        return _compared(build, x, y, kind, three)
    if choice == 7:
        masks = [var for var in values if var.spec.dtype.kind == "bool" and _fit(x, var)]
        masks = [
            mask for mask in masks if _fit(y, mask) and broadcasts_to(mask.spec.shape, (2, 4, 70))
        ]
        return build.op("where", masks[three % len(masks)], x, y) if masks else None
    if choice in (8, 9):
        return _reduced(build, x, two, three)
    return _moved(build, values, x, choice, two, three)


def _fit(x: Var, y: Var) -> bool:
    try:
        np.broadcast_shapes(x.spec.shape, y.spec.shape)
    except ValueError:
        return False
    return True


def _arithmetic(build: Build, values: list[Var], x: Var, y: Var, choice: int, which: int) -> Any:
    match x.spec.dtype.kind:
        case "float":
            if choice == 0:
                return build.op(UNARY[which % len(UNARY)], x)
            if choice == 1:
                rule = MAPS[which % len(MAPS)]
                return build.op("map", *(x, y)[: rule.num_inputs], expression=rule)
            return build.op(FLOATS[which % len(FLOATS)], x, y)
        case "int":
            if choice == 0:
                return build.op(("negative", "abs", "square")[which % 3], x)
            return build.op(INTS[which % len(INTS)], x, y)
        case _:
            return build.op(LOGICAL[which % len(LOGICAL)], x, y)


def _compared(build: Build, x: Var, y: Var, kind: str, which: int) -> Any:
    if kind == "bool":
        return build.op("logical_not", x)
    if which % 5 == 4:
        return build.op("isfinite", x) if kind == "float" else None
    return build.op(COMPARISONS[which % len(COMPARISONS)], x, y)


def _reduced(build: Build, x: Var, axes: int, which: int) -> Any:
    rank = x.spec.ndim
    chosen = tuple(axis for axis in range(rank) if axes >> axis & 1)
    kinds = {
        "float": ("sum", "mean", "prod", "max", "min"),
        "int": ("sum", "prod", "max"),
        "bool": ("sum", "any", "all"),
    }[x.spec.dtype.kind]
    return build.op(kinds[which % len(kinds)], x, axes=chosen, keepdims=which % 2 == 0)


def _moved(build: Build, values: list[Var], x: Var, choice: int, which: int, other: int) -> Any:
    shape = x.spec.shape
    if choice == 10:
        larger = [one for one in SHAPES if broadcasts_to(shape, one)]
        return build.op("broadcast_to", x, shape=larger[which % len(larger)]) if larger else None
    if choice == 11:
        shapes = {280: ((4, 70), (280,), (1, 4, 70), (4, 70, 1)), 70: ((70,), (1, 70), (1, 1, 70))}
        fitting = shapes.get(x.spec.size, ((*shape, 1),) if x.spec.ndim < 4 else (shape,))
        return build.op("reshape", x, shape=fitting[which % len(fitting)])
    if choice == 12 and x.spec.ndim:
        if which % 2:
            return build.op("permute_dims", x, axes=tuple(reversed(range(x.spec.ndim))))
        sizes = (*shape[:-1], (shape[-1] + 1) // 2)
        ones = (1,) * (x.spec.ndim - 1)
        return build.op("slice", x, starts=(0,) * x.spec.ndim, sizes=sizes, steps=(*ones, 2))
    squares = [var for var in values if var.spec.dtype.kind == "float" and var.spec.ndim == 2]
    squares = [var for var in squares if x.spec.ndim == 2 and var.spec.shape[0] == shape[1]]
    if x.spec.dtype.kind != "float" or not squares:
        return None
    return build.op("matmul", x, squares[other % len(squares)])
