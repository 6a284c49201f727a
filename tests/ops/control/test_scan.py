"""scan: loops that carry a state."""

from typing import Any

import pytest

import lumus as lm
from lumus.errors import ArgumentError, DTypeError, ShapeError


def cell(state: Any, x: Any) -> tuple[Any, Any]:
    h, count = state
    h = (h * 0.5 + x).tanh()
    return (h, count + 1), {"h": h, "double": h * 2.0}


def test_scan_is_the_loop_it_stands_for_eager_and_compiled() -> None:
    xs = lm.random.normal((5, 3))
    init = (lm.zeros((3,)), lm.tensor(0))

    def run(xs: Any) -> Any:
        (h, count), ys = lm.scan(cell, init, xs)
        return h, count, ys["h"], ys["double"]

    state: Any = init
    rows = []
    for x in xs:
        state, output = cell(state, x)
        rows.append(output["h"].tolist())
    for function in (run, lm.compile(run)):
        h, count, hs, doubles = function(xs)
        assert h.tolist() == state[0].tolist()
        assert count.item() == 5
        assert hs.tolist() == rows
        assert doubles.tolist() == (hs * 2.0).tolist()


def test_reverse_keeps_outputs_at_their_place() -> None:
    total, sums = lm.scan(
        lambda s, x: (s + x, s + x), lm.tensor(0.0), lm.tensor([1.0, 2.0, 3.0]), reverse=True
    )
    assert total.item() == 6.0
    assert sums.tolist() == [6.0, 5.0, 3.0]


def test_gradient_goes_through_all_steps() -> None:
    w = lm.tensor(2.0, requires_grad=True)
    last, _ = lm.scan(lambda s, _: (s * w, s), lm.tensor(1.0), length=3)
    assert last.backward()[w].item() == 12.0
    slope = lm.compile(
        lm.grad(lambda v: lm.scan(lambda s, _: (s * v, s), lm.tensor(1.0), length=3)[0])
    )
    assert slope(lm.tensor(2.0)).item() == 12.0


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: lm.scan(cell, 0.0), ArgumentError, "length="),
        (lambda: lm.scan(lambda s, x: (s, x), lm.ones(()), lm.ones((0, 2))), ArgumentError, "one"),
        (lambda: lm.scan(lambda s, x: s, lm.ones(()), lm.ones((2,))), ArgumentError, "pair|state"),
        (lambda: lm.scan(lambda s, x: (x, x), lm.ones(()), lm.ones((2, 3))), ShapeError, r"\(3,\)"),
        (
            lambda: lm.scan(lambda s, x: ((x > 0), x), lm.ones(()), lm.ones((2,))),
            DTypeError,
            "bool",
        ),
        (lambda: lm.scan(lambda s, x: (s, s), lm.ones(()), lm.ones(())), ShapeError, r"shape \(\)"),
        (
            lambda: lm.scan(lambda s, x: (s, s), lm.ones(()), (lm.ones((2,)), lm.ones((3,)))),
            ShapeError,
            "2 steps",
        ),
        (
            lambda: lm.scan(lambda s, x: ([s], s), (lm.ones(()),), lm.ones((2,))),
            ArgumentError,
            "form",
        ),
    ],
)
def test_mistakes_are_told(call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call()
