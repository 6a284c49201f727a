"""Losses of several classes: soft targets, margins and CTC, row by row from their definitions."""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.nn import functional
from lumus.testing.op_spec import Case, Domain, Edge, OpSpec, Source
from tests.conformance.specs.elementwise_loss import POSITIVE, reduced, softplus
from tests.conformance.specs.loss import log_softmax

FLOATS = (lm.float64, lm.float32, lm.float16, lm.bfloat16)
INF = math.inf


def weighted(function: Any) -> Any:
    """The loss with the weight as an input after the others."""
    return lambda x, t, weight=None, **kwargs: function(x, t, weight=weight, **kwargs)


# ------------------------------------------------------------------------- cross-entropy of shares


def of_shares(
    logits: Any,
    shares: Any,
    weight: Any = None,
    *,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    axis = 0 if logits.ndim == 1 else 1
    classes = logits.shape[axis]
    x, t = (np.moveaxis(one, axis, -1) for one in (logits, shares))
    weights = [1.0] * classes if weight is None else weight
    losses = np.zeros(x.shape[:-1])
    for place in np.ndindex(*losses.shape):
        logarithms = log_softmax(x[place])
        losses[place] = -sum(
            float(w * ((1 - label_smoothing) * share + label_smoothing / classes) * logarithm)
            for w, share, logarithm in zip(weights, t[place], logarithms, strict=True)
        )
    return reduced(losses, reduction)


def share_cases(source: Source) -> Iterable[Case]:
    unit = Domain(low=0.1, high=0.9)
    for shape, is_weighted, kwargs in (
        ((3, 4), False, {}),
        ((3, 4), True, {"label_smoothing": 0.2, "reduction": "none"}),
        ((4,), True, {"reduction": "sum"}),
        ((2, 3, 2), False, {"label_smoothing": 0.1}),
        ((0, 3), False, {"reduction": "sum"}),
    ):
        classes = shape[0] if len(shape) == 1 else shape[1]
        weight = (source.draw((classes,), POSITIVE),) if is_weighted else ()
        inputs = (source.draw(shape), source.draw(shape, unit), *weight)
        yield Case(f"{shape}, weighted {is_weighted}, {kwargs}", inputs, kwargs)


def by_shares(logits: Any, shares: Any, weight: Any = None, **kwargs: Any) -> Any:
    return functional.cross_entropy(logits, shares, weight=weight, **kwargs)


# --------------------------------------------------------------------------------------- margins


def multi_margin(
    x: Any, t: Any, weight: Any = None, *, p: int = 1, margin: float = 1.0, reduction: str = "mean"
) -> Any:
    rows, targets = np.atleast_2d(x), np.atleast_1d(t)
    losses = [
        (1.0 if weight is None else weight[target])
        * sum(max(0.0, margin - row[target] + one) ** p for j, one in enumerate(row) if j != target)
        / len(row)
        for row, target in zip(rows, targets, strict=True)
    ]
    return reduced(np.reshape(losses, t.shape), reduction)


def multi_margin_cases(source: Source) -> Iterable[Case]:
    for shape, is_weighted, kwargs in (
        ((4, 3), False, {}),
        ((4, 3), True, {"p": 2, "margin": 3.0, "reduction": "none"}),
        ((3,), False, {"reduction": "sum"}),
        ((0, 3), True, {"reduction": "sum"}),
    ):
        targets = np.asarray(source.random.integers(0, 3, shape[:-1]))
        weight = (source.draw((3,), POSITIVE),) if is_weighted else ()
        inputs = (source.draw(shape), targets, *weight)
        yield Case(f"{shape}, weighted {is_weighted}, {kwargs}", inputs, kwargs)


def multilabel_margin(x: Any, t: Any, reduction: str = "mean") -> Any:
    losses = []
    for row, targets in zip(np.atleast_2d(x), np.atleast_2d(t).tolist(), strict=True):
        listed = targets[: targets.index(-1)] if -1 in targets else targets
        others = [one for j, one in enumerate(row) if j not in listed]
        losses.append(
            sum(max(0.0, 1 - row[target] + one) for target in listed for one in others) / len(row)
        )
    return reduced(np.reshape(losses, x.shape[:-1]), reduction)


def multilabel_margin_cases(source: Source) -> Iterable[Case]:
    targets = np.array([[2, 0, -1, 1], [-1, 0, 0, 0], [0, 1, 2, 3], [3, 3, -1, -1]])
    for reduction in ("mean", "sum", "none"):
        yield Case(reduction, (source.draw((4, 4)), targets), {"reduction": reduction})
    yield Case("one row", (source.draw((4,)), targets[0]), {})


def multilabel_soft(x: Any, t: Any, weight: Any = None, reduction: str = "mean") -> Any:
    terms = [
        (1 - share) * softplus(one) + share * softplus(-one)
        for one, share in zip(x.ravel().tolist(), t.ravel().tolist(), strict=True)
    ]
    terms = np.reshape(terms, x.shape) * (1.0 if weight is None else weight)
    return reduced(terms.mean(axis=-1), reduction)


def multilabel_soft_cases(source: Source) -> Iterable[Case]:
    unit = Domain(low=0.1, high=0.9)
    for shape, is_weighted, reduction in (
        ((3, 4), False, "mean"), ((3, 4), True, "none"), ((4,), False, "sum"),
    ):  # fmt: skip
        weight = (source.draw((4,), POSITIVE),) if is_weighted else ()
        inputs = (source.draw(shape), source.draw(shape, unit), *weight)
        yield Case(f"{shape}, {is_weighted}, {reduction}", inputs, {"reduction": reduction})


# ------------------------------------------------------------------------------------------- CTC


def spelled(path: tuple[int, ...], blank: int) -> list[int]:
    """What a path spells: repetitions merged, blanks dropped."""
    merged = [one for place, one in enumerate(path) if place == 0 or one != path[place - 1]]
    return [one for one in merged if one != blank]


def ctc(
    targets: Any,
    frames: Any,
    input_lengths: list[int],
    target_lengths: list[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """By trying every path."""
    rows = frames if frames.ndim == 3 else frames[:, None]
    listed = targets.tolist()
    losses = []
    for row, (count, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        if targets.ndim == 2:
            target = listed[row][:length]
        else:
            target, listed = listed[:length], listed[length:]
        total = -INF
        for path in itertools.product(range(rows.shape[2]), repeat=count):
            if spelled(path, blank) == target:
                total = np.logaddexp(total, sum(rows[t, row, one] for t, one in enumerate(path)))
        losses.append(0.0 if zero_infinity and total == -INF else -total)
    if reduction == "mean":
        losses = list(np.divide(losses, np.maximum(target_lengths, 1)))
    return reduced(losses if frames.ndim == 3 else losses[0], reduction)


def ctc_cases(source: Source) -> Iterable[Case]:
    padded = np.array([[1, 2, 0], [1, 1, 2], [2, 0, 0]])
    for shape, targets, counts, lengths, options in (
        ((5, 3, 3), padded, [5, 5, 2], [2, 3, 1], {}),
        ((4, 3, 3), padded, [4, 4, 3], [2, 2, 0], {"reduction": "none"}),
        ((4, 2, 4), np.array([3, 0, 1]), [4, 3], [2, 1], {"blank": 2, "reduction": "sum"}),
        ((4, 3), np.array([1, 1]), [4], [2], {"reduction": "none"}),
        ((3, 2, 3), padded[:2], [0, 3], [0, 3], {"zero_infinity": True}),
    ):
        kwargs = {"input_lengths": counts, "target_lengths": lengths, **options}
        yield Case(f"{shape}, {kwargs}", (targets, source.draw(shape)), kwargs)
    # No path of three frames spells 1, 1, 2: a blank between the ones is a fourth.
    kwargs = {"input_lengths": [3, 0], "target_lengths": [3, 1], "reduction": "none"}
    yield Case("too short", (padded[1::-1], source.draw((3, 2, 3))), kwargs, smooth=False)


def call_ctc(targets: Any, frames: Any, **kwargs: Any) -> Any:
    return functional.ctc_loss(frames, targets, **kwargs)


SPECS = [
    OpSpec(
        name="cross_entropy of shares",
        function=by_shares,
        formula=of_shares,
        cases=share_cases,
        dtypes=FLOATS,
        absolute=True,
        tolerance=4,
        edges=(
            Edge(
                "no share of a class without probability",
                ([[2.0, -INF, 2.0]], [[0.5, 0.0, 0.5]]),
                ([[0.0, 0.0, 0.0]], None),
            ),
            Edge("no share", ([0.0, 0.0], [0.0, 1.0]), ([0.5, -0.5], [math.log(2)] * 2)),
        ),
    ),
    OpSpec(
        name="multi_margin_loss",
        function=weighted(functional.multi_margin_loss),
        formula=multi_margin,
        cases=multi_margin_cases,
        dtypes=FLOATS,
        fixed=(1,),
        absolute=True,
        tolerance=4,
        edges=(Edge("the margin", ([[2.0, 1.0]], [0]), ([[0.0, 0.0]], None)),),
    ),
    OpSpec(
        name="multilabel_margin_loss",
        function=functional.multilabel_margin_loss,
        formula=multilabel_margin,
        cases=multilabel_margin_cases,
        dtypes=FLOATS,
        fixed=(1,),
        absolute=True,
        tolerance=4,
        edges=(Edge("the margin", ([2.0, 1.0], [0, -1]), ([0.0, 0.0], None)),),
    ),
    OpSpec(
        name="multilabel_soft_margin_loss",
        function=weighted(functional.multilabel_soft_margin_loss),
        formula=multilabel_soft,
        cases=multilabel_soft_cases,
        dtypes=FLOATS,
        absolute=True,
        tolerance=4,
    ),
    OpSpec(
        name="ctc_loss",
        function=call_ctc,
        formula=ctc,
        cases=ctc_cases,
        dtypes=FLOATS,
        fixed=(0,),
        absolute=True,
        tolerance=8,
        covers=("ctc", "ctc_grad"),
        edges=(
            Edge(
                "too short",
                ([[1, 1]], [[[-1.0, -2.0]], [[-3.0, -4.0]]]),
                (None, np.zeros((2, 1, 2))),
                kwargs={"input_lengths": [2], "target_lengths": [2]},
            ),
            Edge(
                "a class without probability",
                ([[1]], [[[0.0, -INF]], [[-INF, 0.0]]]),
                (None, [[[-1.0, 0.0]], [[0.0, -1.0]]]),
                kwargs={"input_lengths": [2], "target_lengths": [1]},
            ),
        ),
    ),
]
