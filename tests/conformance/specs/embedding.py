"""Rows and classes by their numbers."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dispatch import apply
from lumus.nn.functional import embedding, embedding_bag, one_hot
from lumus.testing.op_spec import Case, Edge, OpSpec, Source

SHAPES = (((4,), (3, 2)), ((2, 3), (5, 17)), ((), (2, 1)), ((0,), (3, 2)), ((2,), (2, 0)),
          ((40,), (3, 4)), ((0,), (0, 2)))  # fmt: skip


def embedding_cases(source: Source) -> Iterable[Case]:
    for shape, table in SHAPES:
        ids = source.random.integers(0, max(table[0], 1), shape)
        yield Case(f"{shape} of {table}", (ids, source.draw(table)))
    ids = np.array([[2, 0, 2], [1, 2, 2]])
    # What is left out or averaged of a gradient is no derivative: see the edges.
    for kwargs in ({"padding_idx": -1}, {"scale_grad_by_freq": True}):
        yield Case(f"{kwargs}", (ids, source.draw((4, 2))), kwargs, smooth=False)
    yield Case("special values", (ids, np.array([[np.inf], [np.nan], [-0.0]])), smooth=False)


def rows(ids: Any, weight: Any, **_: Any) -> Any:
    return np.array([weight[one] for one in ids.ravel()]).reshape(*ids.shape, weight.shape[1])


def sum_cases(source: Source) -> Iterable[Case]:
    for shape, table in SHAPES:
        for options in ((-1, False), (0, False), (-1, True), (0, True)):
            if table[0] == 0 and options[0] == 0:
                continue
            ids = source.random.integers(0, max(table[0], 1), shape)
            kwargs = dict(zip(("skipped", "averages"), options, strict=True))
            inputs = (source.draw((*shape, table[1])), ids)
            yield Case(f"{shape} into {table}, {kwargs}", inputs, {"num_rows": table[0], **kwargs})


def summed_rows(grad: Any, ids: Any, num_rows: int, skipped: int, averages: bool) -> Any:
    table = np.zeros((num_rows, grad.shape[-1]))
    np.add.at(table, ids.ravel(), grad.reshape(ids.size, grad.shape[-1]))
    if averages:
        table /= np.maximum(np.bincount(ids.ravel(), minlength=num_rows), 1)[:, None]
    table[skipped if skipped >= 0 else num_rows :][:1] = 0
    return table


def bag_cases(source: Source) -> Iterable[Case]:
    random = source.random
    for mode in ("sum", "mean", "max"):
        for shape, table in (
            ((3, 4), (5, 2)),
            ((2, 0), (3, 2)),
            ((0, 3), (3, 2)),
            ((1, 1), (2, 1)),
        ):
            kwargs = {"mode": mode}
            ids = random.permuted(np.arange(shape[0] * shape[1]) % table[0]).reshape(shape)
            yield Case(f"{shape} of {table}, {mode}", (ids, source.draw(table)), kwargs)
        for offsets in ([0, 2, 2, 5], [0, 4, 5, 5], [0], [0, 7]):
            kwargs = {"mode": mode, "offsets": np.array(offsets)}
            ids = random.permutation(7)
            yield Case(f"{offsets}, {mode}", (ids, source.draw((7, 3))), kwargs)
        kwargs = {"mode": mode, "padding_idx": 1}
        ids = np.array([[0, 1, 2], [1, 1, 1]])
        yield Case(f"padding, {mode}", (ids, source.draw((4, 2))), kwargs)
        kwargs = {"mode": mode, "padding_idx": 0, "offsets": np.array([0, 3, 3, 4])}
        ids = np.array([0, 1, 2, 0, 3, 0])
        yield Case(f"padding of bags, {mode}", (ids, source.draw((4, 2))), kwargs)
    weighted = (np.array([[0, 1], [1, 2]]), source.draw((3, 2)), source.draw((2, 2)))
    yield Case("weights", weighted, {"mode": "sum"})


def bag_of(ids: Any, weight: Any, *weights: Any, offsets: Any = None, **kwargs: Any) -> Any:
    given = None if offsets is None else lm.tensor(offsets, device=ids.device)
    samples = weights[0] if weights else None
    return embedding_bag(ids, weight, given, per_sample_weights=samples, **kwargs)


def bags(
    ids: Any, weight: Any, *weights: Any, mode: str, offsets: Any = None, padding_idx: Any = None
) -> Any:
    each = list(ids) if offsets is None else np.split(ids, offsets[1:])
    result = np.zeros((len(each), weight.shape[1]))
    for number, bag in enumerate(each):
        rows = np.array([weight[one] for one in bag if one != padding_idx])
        if not len(rows):
            continue
        if weights:
            rows = rows * weights[0][number][:, None]
        result[number] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](rows, axis=0)
    return result


def one_hot_cases(source: Source) -> Iterable[Case]:
    for shape, classes in (((3,), 4), ((2, 3), 3), ((), 2), ((0, 2), 3), ((2, 0), 0), ((5,), None)):
        ids = source.random.integers(0, classes or 3, shape)
        yield Case(f"{shape} of {classes}", (ids,), {"num_classes": classes})


def indicators(ids: Any, num_classes: int | None) -> Any:
    count = ids.max() + 1 if num_classes is None else num_classes
    return (ids[..., None] == range(count)).astype(np.int64).reshape(*ids.shape, count)


SPECS = [
    OpSpec(
        name="embedding",
        function=embedding,
        formula=rows,
        cases=embedding_cases,
        fixed=(0,),
        tolerance=0,
        covers=("embedding_grad",),
        edges=(
            Edge(
                "I16 the padding row",
                ([[1, 0, 1]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
                (None, [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),
                kwargs={"padding_idx": 1},
            ),
            Edge(
                "repeats",
                ([2, 0, 2], [[1.0], [2.0], [3.0]]),
                (None, [[2.0], [0.0], [5.0]]),
                grad=[[1.0], [2.0], [4.0]],
            ),
            Edge(
                "repeats, averaged",
                ([2, 0, 2], [[1.0], [2.0], [3.0]]),
                (None, [[2.0], [0.0], [2.5]]),
                grad=[[1.0], [2.0], [4.0]],
                kwargs={"scale_grad_by_freq": True},
            ),
        ),
    ),
    OpSpec(
        name="embedding_grad",
        function=lambda grad, ids, **kwargs: apply("embedding_grad", grad, ids, **kwargs),
        formula=summed_rows,
        cases=sum_cases,
        fixed=(1,),
        absolute=True,
        tolerance=4,
        covers=("embedding",),
    ),
    OpSpec(
        name="embedding_bag",
        function=bag_of,
        formula=bags,
        cases=bag_cases,
        fixed=(0,),
        absolute=True,
        tolerance=4,
        covers=("embedding", "embedding_grad"),
    ),
    OpSpec(
        name="one_hot",
        function=one_hot,
        formula=indicators,
        cases=one_hot_cases,
        dtypes=(lm.int64, lm.int32, lm.uint8),
        result=lambda _: lm.int64,
        tolerance=0,
        differentiable=False,
    ),
]
