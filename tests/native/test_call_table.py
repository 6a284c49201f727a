"""Which calls a table finds again: by the specs, layouts and nodes of tensors, and by values."""

import gc
import weakref
from typing import Any

import pytest

import lumus as lm
from lumus import _native

X = lm.ones((2, 3))


def found(args: tuple[Any, ...], kwargs: dict[str, Any], *given: Any, **named: Any) -> Any:
    """What a table with the call (args, kwargs) finds for another one, with recording on."""
    table = _native.CallTable()
    table.put(args, kwargs, True, "target")
    return table.find(given, named, True)


def test_tensors_of_the_same_spec_are_of_one_kind() -> None:
    y = lm.zeros((2, 3))
    assert found((X,), {}, y) == ("target", (y,))
    assert found((X,), {}, lm.zeros((3, 2))) is None
    assert found((X,), {}, X.astype(lm.float64)) is None
    assert found((X,), {}, X, X) is None
    assert found((X,), {}, 1.0) is None
    assert found((1.0,), {}, X) is None


def test_tensors_that_are_not_dense_are_left_to_others() -> None:
    turned = lm.zeros((3, 2)).T
    assert found((X,), {}, turned) is None
    assert found((turned,), {}, turned) is None


def test_leaves_are_another_kind_while_recording() -> None:
    leaf, other = (lm.ones((2, 3)).requires_grad_() for _ in range(2))
    assert found((leaf,), {}, other) is not None
    assert found((leaf,), {}, X) is None
    assert found((X,), {}, leaf) is None
    assert found((leaf,), {}, leaf * 2.0) is None
    table = _native.CallTable()
    table.put((leaf,), {}, False, "target")
    assert table.find((X,), {}, False) is not None
    assert table.find((X,), {}, True) is None


@pytest.mark.parametrize(
    ("value", "equal", "other"),
    [
        (1000, int("1000"), 1001),
        (0.5, float("0.5"), -0.5),
        (0.0, float("0.0"), -0.0),
        ("same", str(b"same", "ascii"), "name"),
        (True, True, 1),
        (None, None, False),
        (1, int("1"), 1.0),
    ],
)
def test_values_are_compared_with_their_types(value: Any, equal: Any, other: Any) -> None:
    assert found((X, value), {}, X, equal) == ("target", (X,))
    assert found((X, value), {}, X, other) is None
    assert found((value,), {"x": X}, equal, x=X) == ("target", (X,))


def test_objects_are_compared_by_identity() -> None:
    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    one, two = Equal(), Equal()
    assert found((one,), {}, one) == ("target", ())
    assert found((one,), {}, two) is None


def test_arguments_by_name_come_in_their_order() -> None:
    y = lm.ones((2, 3))
    assert found((), {"x": X, "y": y}, x=X, y=y) == ("target", (X, y))
    assert found((), {"x": X, "y": y}, y=y, x=X) is None
    assert found((), {"x": X}, X) is None
    assert found((X,), {}, x=X) is None


def test_containers_are_compared_item_by_item() -> None:
    y = lm.zeros((2, 3))
    batch = {"ids": X, "pair": (y, [3, "text"])}
    z = lm.zeros((2, 3))
    assert found((batch, X), {}, {"ids": y, "pair": (z, [3, "text"])}, y) == ("target", (y, z, y))
    assert found((batch, X), {}, {"ids": y, "pair": (X, [3, "text"])}, X) is None
    assert found((batch, X), {}, {"ids": y, "pair": (X, [3, "text"])}, z) is None
    for other in (
        {"ids": y, "pair": (X, [4, "text"])},
        {"ids": y, "pair": (X, (3, "text"))},
        {"ids": y, "pair": (X, [3])},
        {"ids": y, "pair": (X, [3, "text", None])},
        {"ids": y},
        {"pair": (X, [3, "text"]), "ids": y},
        {"ids": y, "pairs": (X, [3, "text"])},
        {"ids": y.T, "pair": (X, [3, "text"])},
        [("ids", y)],
        y,
    ):
        assert found((batch, X), {}, other, X) is None
    assert found(([],), {}, []) == ("target", ())
    assert found(([],), {}, ()) is None
    assert found((), {"batch": [X]}, batch=[y]) == ("target", (y,))
    assert found(([X.T],), {}, [X.T]) is None


def test_what_is_put_last_is_found() -> None:
    table = _native.CallTable()
    table.put((X,), {}, True, "first")
    table.put((X, X), {}, True, "other")
    table.put((X,), {}, True, "second")
    assert table.find((X,), {}, True) == ("second", (X,))
    assert table.find((X, X), {}, True) == ("other", (X, X))
    table.clear()
    assert table.find((X,), {}, True) is None


def test_a_table_in_a_cycle_is_collected() -> None:
    class Owner:
        table: Any

    owner = Owner()
    owner.table = _native.CallTable()
    owner.table.put((owner,), {}, True, owner)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
