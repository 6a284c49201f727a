"""Functions that only check values are compiled; what they check is told when the plan runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, IndexRangeError, LumusError, ShapeError, TraceError

F = lm.nn.functional
ints = lm.tensor
FRAMES = lm.random.normal((6, 2, 4), generator=lm.random.Generator(0))
TABLE = lm.random.normal((5, 3), generator=lm.random.Generator(1))
STEPS = lm.random.normal((5, 2, 3), generator=lm.random.Generator(2))
X = lm.random.normal((4, 3), generator=lm.random.Generator(3))
LSTM = lm.nn.LSTM(3, 4, bidirectional=True, generator=lm.random.Generator(4))
BAG = lm.nn.EmbeddingBag(5, 3, include_last_offset=True, generator=lm.random.Generator(5))


def ctc(x: Any, targets: Any, counted: Any, lengths: Any) -> Any:
    return F.ctc_loss(x.log_softmax(axis=-1), targets, counted, lengths, reduction="none")


def mean_ctc(x: Any, targets: Any, counted: Any, lengths: Any) -> Any:
    return F.ctc_loss(x.log_softmax(axis=-1), targets, counted, lengths)


def bags(mode: str) -> Callable[..., Any]:
    def of(table: Any, ids: Any, offsets: Any) -> Any:
        return F.embedding_bag(ids, table, offsets, mode=mode, padding_idx=4)

    return of


def written(x: Any, mask: Any, value: Any) -> Any:
    y = x.copy()
    y[mask] = value
    return y


IDS, FEW = ints([0, 3, 4, 3, 1]), ints([0, 2, 2])
ROWS, PLACES = X[:, 0] > 0.0, X > 0.0

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "ctc": (
        ctc,
        (FRAMES, ints([[1, 2, 3], [2, -7, 9]]), ints([6, 5]), ints([3, 1])),
    ),
    "mean ctc": (
        mean_ctc,
        (FRAMES, ints([[1, 2, 3], [2, 2, 0]]), ints([6, 5]), ints([3, 2])),
    ),
    "ctc in one axis": (
        mean_ctc,
        (FRAMES, ints([1, 2, 3, 2, 2]), ints([6, 5]), ints([3, 2])),
    ),
    "ctc of nothing": (
        mean_ctc,
        (FRAMES, lm.zeros((0,), dtype=lm.int64), ints([6, 5]), ints([0, 0])),
    ),
    "ctc of one": (ctc, (FRAMES[:, 0], ints([1, 2, 3]), ints([6]), ints([2]))),
    "sums of bags": (bags("sum"), (TABLE, IDS, FEW)),
    "means of bags": (bags("mean"), (TABLE, IDS, FEW)),
    "bags with an end": (
        lambda table, ids, at: BAG(ids, at) * table[0],
        (TABLE, IDS, ints([0, 2, 5])),
    ),
    "lstm": (lambda x, lengths: LSTM(x, lengths=lengths)[0], (STEPS, ints([5, 2]))),
    "mask set": (lambda x, mask: x.at[mask].set(2.0), (X, PLACES)),
    "mask add": (lambda x, mask: x.at[mask].add(x[0, 0]), (X, PLACES)),
    "rows set": (lambda x, mask: x.at[mask].set(x[1]), (X, ROWS)),
    "rows add": (lambda x, mask: x.at[mask].add(x[1:2]), (X, ROWS)),
    "rows set to a column": (lambda x, mask: x.at[mask].set(x[:1, :1]), (X, ROWS)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_eager(name: str) -> None:
    function, given = CASES[name]

    def both(x: Any, *rest: Any) -> Any:
        x = x.detach().requires_grad_()
        y = function(x, *rest)
        return y, (y * y).sum().backward()[x]

    compiled = lm.compile(both)
    for _ in range(2):
        for got, want in zip(compiled(*given), both(*given), strict=True):
            np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=1e-6, atol=1e-7)
    assert len(compiled.cache_info().variants) == 1


CUBE = lm.random.normal((2, 3, 4), generator=lm.random.Generator(6))
TABLES, LINE = CUBE[0] > 0.0, CUBE[0, 0] > 0.0


@pytest.mark.parametrize(
    ("index", "value"),
    [
        ((slice(None), TABLES), 2.0),
        ((slice(None), TABLES), lm.ones((2, 1))),
        ((..., TABLES), lm.ones((2, 1))),
        ((..., LINE), CUBE[:, :, :1]),
        ((slice(None), slice(None), LINE), CUBE[:1, :, :1]),
        ((slice(None), CUBE[0, :, 0] > 0.0, slice(None)), CUBE[:, :1]),
        ((slice(None), CUBE[0, :, 0] > 0.0, ...), CUBE[0, 0]),
        ((CUBE[:, :, 0] > 0.0, ...), CUBE[0, :1]),
        ((..., CUBE > 0.0), 1.0),
        ((slice(None), TABLES, ...), 1.0),
    ],
)
def test_masks_beside_whole_axes_write_what_numpy_writes(index: Any, value: Any) -> None:
    def set_and_added(x: Any) -> Any:
        return x.at[index].set(value), x.at[index].add(value), written(x, index, value)

    places = tuple(np.asarray(one) if isinstance(one, lm.Tensor) else one for one in index)
    replaced, added = CUBE.numpy().copy(), CUBE.numpy().copy()
    replaced[places] = np.asarray(value)
    added[places] += np.asarray(value, np.float32)
    for function in (set_and_added, lm.compile(set_and_added)):
        found = function(CUBE)
        for got, want in zip(found, (replaced, added, replaced), strict=True):
            np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize(("mask", "value"), [(PLACES, -1.0), (ROWS, X[2]), (ROWS, X[2:3, :1])])
def test_what_a_mask_selects_is_written(mask: Any, value: Any) -> None:
    compiled = lm.compile(written)
    for _ in range(2):
        assert compiled(X, mask, value).tolist() == written(X, mask, value).tolist()


RAISING: list[tuple[str, int, Any, type[LumusError], str]] = [
    ("ctc", 1, ints([[1, 2, 0], [2, 0, 0]]), ArgumentError, "target 0 is the blank"),
    (
        "ctc",
        1,
        ints([[1, 4, 3], [2, 0, 0]]),
        IndexRangeError,
        "target 4 is no class",
    ),
    ("ctc", 2, ints([7, 5]), ArgumentError, r"input_lengths: length 7 is not in 0\.\.6"),
    ("ctc", 3, ints([3, -1]), ArgumentError, r"target_lengths: length -1 is not in 0\.\.3"),
    ("ctc in one axis", 3, ints([3, 1]), ShapeError, r"targets of shape \(5,\) do not fit"),
    (
        "sums of bags",
        1,
        ints([0, 3, 4, 3, 5]),
        IndexRangeError,
        "embedding: 5 at position .4. is no row",
    ),
    (
        "sums of bags",
        2,
        ints([0, 3, 2]),
        ArgumentError,
        "offsets must ascend from 0",
    ),
    (
        "sums of bags",
        2,
        ints([1, 2, 3]),
        ArgumentError,
        "offsets must ascend from 0",
    ),
    (
        "sums of bags",
        2,
        ints([0, 2, 6]),
        ArgumentError,
        "offsets must ascend from 0",
    ),
    (
        "bags with an end",
        2,
        ints([0, 2, 4]),
        ShapeError,
        "the last offset must be",
    ),
    ("lstm", 1, ints([6, 2]), ArgumentError, r"length 6 is not in 0\.\.5"),
]


@pytest.mark.parametrize(("name", "place", "wrong", "error", "told"), RAISING)
def test_what_is_checked_raises_when_the_plan_runs_and_the_next_call_is_right(
    name: str, place: int, wrong: Any, error: type[LumusError], told: str
) -> None:
    function, given = CASES[name]
    with pytest.raises(error):
        function(*given[:place], wrong, *given[place + 1 :])
    compiled = lm.compile(function)
    want = compiled(*given).tolist()
    with pytest.raises(error, match=told):
        compiled(*given[:place], wrong, *given[place + 1 :])
    assert compiled(*given).tolist() == want
    assert len(compiled.cache_info().variants) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0.0],
        lambda x: x.at[x > 0.0].set(lm.ones((2,))),
        lambda x: x.at[1, x[0] > 0.0].set(0.0),
        lambda x: F.embedding_bag(
            ints([0, 1]), TABLE, (x[0, :2] * 0.0).astype(lm.int64), mode="max"
        ),
        lambda x: lm.unique(x),
        lambda x: lm.bincount(x[0].astype(lm.int64)),
        lambda x: F.one_hot(x.astype(lm.int64)),
        lambda x: x.repeat((x[:, 0] * 0.0).astype(lm.int64), axis=0),
    ],
)
def test_what_values_decide_the_shape_of_is_refused(function: Callable[[Any], Any]) -> None:
    told = r"^(index|embedding_bag|unique|repeat|bincount|one_hot): .* depends on values.*\.py:\d+"
    with pytest.raises(TraceError, match=told):
        lm.compile(function)(X)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda ids: F.embedding(ids, lm.ones((3, 2))), "embedding: 7 at position [1] is no row"),
        (lambda ids: F.one_hot(ids, 3), "one_hot: 7 at position [1] is no class"),
        (lambda ids: F.cross_entropy(lm.ones((2, 3)), ids), "cross_entropy: target 7 at"),
        (lambda ids: lm.ones((3, 2))[ids] * 2.0, "index: index 7 is out of range for axis 0"),
        (lambda ids: lm.ones((3, 2)).at[ids].set(0.0), "index_put: index 7 is out of range"),
        (
            lambda ids: lm.ones((2, 2)).tanh().take_along_axis(ids.expand_dims(1), axis=1),
            "take_along_axis: index 7 is out of range for axis 1",
        ),
    ],
)
def test_an_index_out_of_range_names_op_and_line(function: Callable[[Any], Any], told: str) -> None:
    compiled = lm.compile(function)
    with pytest.raises(IndexRangeError) as caught:
        compiled(lm.tensor([0, 7]))
    assert str(caught.value).startswith(told)
    line = function.__code__.co_firstlineno
    assert f"; in <lambda>, at tests/compile/test_checked_values.py:{line}" in str(caught.value)
    assert (caught.value.index, caught.value.bound) in {(7, 3), (7, 2)}
