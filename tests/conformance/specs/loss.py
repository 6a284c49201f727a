"""Losses: row by row in Python from their definitions."""

import math
from collections.abc import Iterable
from typing import Any

import mpmath
import numpy as np

import lumus as lm
from lumus.nn import functional
from lumus.testing.op_spec import Case, Edge, OpSpec, Source

FLOATS = (lm.float64, lm.float32, lm.float16, lm.bfloat16)
INF = math.inf


def rows(scores: Any, targets: Any) -> Any:
    """(row of scores, its target) for each target, in row-major order."""
    if scores.ndim == 1:
        return [(scores, int(targets))]
    moved = np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1])
    return zip(moved, (int(one) for one in targets.ravel()), strict=True)


def log_softmax(row: Any) -> list[Any]:
    with mpmath.workdps(30):
        exact = [mpmath.mpf(float(one)) for one in row]
        total = mpmath.log(sum(mpmath.exp(one) for one in exact))
        return [one - total for one in exact]


def cross_entropy(
    scores: Any,
    targets: Any,
    weight: Any = None,
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    are_logits: bool = True,
) -> Any:
    classes = scores.shape[0 if scores.ndim == 1 else 1]
    weights = [1.0] * classes if weight is None else [float(one) for one in weight]
    losses, divisor = [], 0.0
    for row, target in rows(scores, targets):
        if target == ignore_index:
            losses.append(0.0)
            continue
        logs = log_softmax(row) if are_logits else [float(one) for one in row]
        even = (
            sum(w * log for w, log in zip(weights, logs, strict=True)) * label_smoothing / classes
        )
        losses.append(float(-(1 - label_smoothing) * weights[target] * logs[target] - even))
        divisor += weights[target]
    if reduction == "none":
        return np.array(losses).reshape(targets.shape)
    total = math.fsum(losses)
    if reduction == "sum":
        return np.array(total)
    if not losses:
        return np.array(math.nan)
    return np.array(total / divisor if divisor else 0.0)


def nll(scores: Any, targets: Any, weight: Any = None, **kwargs: Any) -> Any:
    return cross_entropy(scores, targets, weight, are_logits=False, **kwargs)


def squared_error(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    squares = (prediction - target) ** 2
    if reduction == "none":
        return squares
    total = math.fsum(squares.ravel())
    if reduction == "sum":
        return np.array(total)
    return np.array(total / squares.size if squares.size else math.nan)


SMOOTHED = {"label_smoothing": 0.1}
CALLS: tuple[tuple[tuple[int, ...], bool, dict[str, Any]], ...] = (
    ((4, 3), False, {}),
    ((4, 3), False, {"reduction": "none"}),
    ((4, 3), False, {"reduction": "sum", "ignore_index": 1}),
    ((4, 3), True, {}),
    ((4, 3), True, {"ignore_index": 2}),
    ((4, 3), True, {"reduction": "none", "ignore_index": 0}),
    ((3,), False, {}),
    ((3,), True, {"reduction": "sum"}),
    ((2, 3, 4), False, {}),
    ((2, 3, 2, 2), True, {"ignore_index": -100}),
    ((0, 3), False, {"reduction": "sum"}),
    ((5, 1), False, {}),
)


def classified_cases(source: Source) -> Iterable[Case]:
    for shape, is_weighted, kwargs in CALLS:
        yield classified(source, shape, is_weighted, kwargs)
    yield Case("nothing", (source.draw((0, 3)), np.zeros((0,), np.int64)), {}, smooth=False)


def classified(
    source: Source, shape: tuple[int, ...], is_weighted: bool, kwargs: dict[str, Any]
) -> Case:
    classes = shape[0] if len(shape) == 1 else shape[1]
    targets = source.random.integers(0, classes, (shape[0], *shape[2:]) if len(shape) > 1 else ())
    if kwargs.get("ignore_index") == -100:
        targets.ravel()[::2] = -100
    weight = (np.linspace(0.5, 2.0, classes),) if is_weighted else ()
    inputs = (source.draw(shape), np.asarray(targets), *weight)
    return Case(f"shape {shape}, weighted {is_weighted}, {kwargs}", inputs, kwargs)


def smoothed_cases(source: Source) -> Iterable[Case]:
    yield from classified_cases(source)
    for shape, is_weighted, kwargs in CALLS:
        yield classified(source, shape, is_weighted, {**kwargs, **SMOOTHED})


def pair_cases(source: Source) -> Iterable[Case]:
    for shape, kwargs in (
        ((), {}), ((5,), {}), ((2, 3), {"reduction": "sum"}), ((2, 3), {"reduction": "none"}),
        ((0,), {"reduction": "sum"}),
    ):  # fmt: skip
        yield Case(f"shape {shape}, {kwargs}", (source.draw(shape), source.draw(shape)), kwargs)
    yield Case("nothing", (source.draw((0,)), source.draw((0,))), {}, smooth=False)


def with_weight(function: Any) -> Any:
    """The loss with the weight as an input, so that it is differentiated, too."""
    return lambda scores, targets, weight=None, **kwargs: function(
        scores, targets, weight=weight, **kwargs
    )


SPECS = [
    OpSpec(
        name="cross_entropy",
        function=with_weight(functional.cross_entropy),
        formula=cross_entropy,
        cases=smoothed_cases,
        covers=("cross_entropy_grad",),
        dtypes=FLOATS,
        fixed=(1,),
        absolute=True,
        tolerance=4,
        edges=(
            Edge(
                "all ignored", ([[1.0, 2.0]], [7]), ([[0.0, 0.0]], None), kwargs={"ignore_index": 7}
            ),
            Edge("far apart", ([[0.0, 1e4]], [0]), ([[-1.0, 1.0]], None)),
            Edge(
                "an ignored row of infinities",
                ([[INF, INF], [0.0, 0.0]], [9, 1]),
                ([[0.0, 0.0], [0.5, -0.5]], None),
                kwargs={"ignore_index": 9},
            ),
        ),
    ),
    OpSpec(
        name="nll_loss",
        function=with_weight(functional.nll_loss),
        formula=nll,
        cases=classified_cases,
        dtypes=FLOATS,
        fixed=(1,),
        absolute=True,
        tolerance=4,
        edges=(
            Edge(
                "all ignored",
                ([[-1.0, -2.0]], [7]),
                ([[0.0, 0.0]], None),
                kwargs={"ignore_index": 7},
            ),
        ),
    ),
    OpSpec(
        name="mse_loss",
        function=functional.mse_loss,
        formula=squared_error,
        cases=pair_cases,
        dtypes=FLOATS,
        covers=("elementwise_loss",),
        absolute=True,
        tolerance=4,
        edges=(Edge("equal", ([2.0, 3.0], [2.0, 3.0]), ([0.0, 0.0], [0.0, 0.0])),),
    ),
]
