"""Snapshots of places in Python objects: another object is noticed, the same one is not."""

import gc
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from lumus import _native

Snapshot = _native.Snapshot


class Slotted:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = [0]


def cell_of(value: Any) -> tuple[Any, Callable[[Any], None]]:
    """A cell and what sets it."""

    def read() -> Any:
        return value

    def write(new: Any) -> None:
        nonlocal value
        value = new

    assert read.__closure__ is not None
    return read.__closure__[0], write


def check_place(add: Callable[[Any], Any], change: Callable[[], Any]) -> None:
    """That a snapshot of a place holds until the place is changed, and one taken then from then."""
    before, after = Snapshot(), Snapshot()
    add(before)
    assert before.holds()
    change()
    add(after)
    assert not before.holds()
    assert after.holds()


@pytest.mark.parametrize("owner", [SimpleNamespace(value=1.5), Slotted(), type("C", (), {})])
def test_attributes_of_objects_with_slots_and_of_classes(owner: Any) -> None:
    owner.value = 1.5
    check_place(lambda one: one.add_attribute(owner, "value"), lambda: setattr(owner, "value", 2.5))
    check_place(lambda one: one.add_attribute(owner, "value"), lambda: delattr(owner, "value"))
    check_place(lambda one: one.add_attribute(owner, "value"), lambda: setattr(owner, "value", 2.5))


def test_attributes_of_another_dict_are_noticed() -> None:
    class Owner:
        pass

    owner: Any = Owner()
    owner.value = 1.5
    other = {"value": 2.5}
    check_place(
        lambda one: one.add_attribute(owner, "value"), lambda: setattr(owner, "__dict__", other)
    )


def test_attributes_of_objects_that_give_another_dict_are_never_known() -> None:
    class Proxy:
        @property
        def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
            return {"value": 1.5}

    for owner in (Proxy(), threading.local()):
        snapshot = Snapshot()
        snapshot.add_attribute(owner, "value")
        assert not snapshot.holds()


def test_items_of_dicts() -> None:
    scope: dict[str, Any] = {"one": 1.5}
    check_place(lambda place: place.add_item(scope, "one"), lambda: scope.update(one=2.5))
    check_place(lambda place: place.add_item(scope, "two"), lambda: scope.update(two=2.5))
    check_place(lambda place: place.add_item(scope, "two"), lambda: scope.pop("two"))


def test_cells() -> None:
    cell, write = cell_of([1])
    check_place(lambda one: one.add_cell(cell), lambda: write([1]))
    with pytest.raises(TypeError, match="a cell"):
        Snapshot().add_cell([1])  # type: ignore[arg-type]


def test_defaults_of_functions() -> None:
    def function(x: int = 1, *, y: int = 2) -> int:
        return x + y

    def replace(**defaults: Any) -> None:
        for name, value in defaults.items():
            setattr(function, name, value)

    check_place(lambda one: one.add_defaults(function, False), lambda: replace(__defaults__=(3,)))
    check_place(
        lambda one: one.add_defaults(function, True), lambda: replace(__kwdefaults__={"y": 4})
    )
    check_place(lambda one: one.add_defaults(function, False), lambda: replace(__defaults__=None))
    with pytest.raises(TypeError, match="a function"):
        Snapshot().add_defaults([1], False)  # type: ignore[arg-type]


def test_code_of_functions() -> None:
    def function() -> int:
        return 1

    def other() -> int:
        return 2

    check_place(lambda one: one.add_code(function), lambda: setattr(function, *code_of(other)))
    with pytest.raises(TypeError, match="a function"):
        Snapshot().add_code([1])  # type: ignore[arg-type]


def code_of(function: Callable[[], int]) -> tuple[str, Any]:
    return "__code__", function.__code__


def test_classes_of_objects_and_what_they_inherit_from() -> None:
    first, second = type("First", (), {}), type("Second", (), {})
    middle = type("Middle", (first,), {})
    last, other = type("Last", (middle,), {}), type("Other", (), {})
    one = last()
    check_place(lambda place: place.add_ancestry(one), lambda: setattr(one, "__class__", other))
    one.__class__ = last
    for owner in (one, last):
        middle.__bases__ = (first,)

        def replace() -> None:
            middle.__bases__ = (second,)

        check_place(lambda place, owner=owner: place.add_ancestry(owner), replace)


def test_all_items_of_lists_and_dicts() -> None:
    listed, named = [[1], [2]], {"a": [1], "b": [2]}
    check_place(lambda one: one.add_items(listed, 9), lambda: listed.append([3]))
    check_place(lambda one: one.add_items(listed, 9), lambda: listed.__setitem__(1, [2]))
    check_place(lambda one: one.add_items(listed, 9), listed.reverse)
    check_place(lambda one: one.add_items(named, 9), lambda: named.update(a=[1]))
    check_place(lambda one: one.add_items(named, 9), lambda: named.update(c=[3]))
    check_place(lambda one: one.add_items(named, 9), named.popitem)
    check_place(lambda one: one.add_items(named, 9), lambda: named.update(a=named.pop("a")))


def test_of_many_items_only_the_number_is_watched() -> None:
    items = list(range(10))
    snapshot = Snapshot()
    snapshot.add_items(items, 9)
    items[0] = 5
    assert snapshot.holds()
    items.append(1)
    assert not snapshot.holds()


def test_containers_with_an_order_of_their_own_are_never_known() -> None:
    snapshot = Snapshot()
    snapshot.add_items(OrderedDict(a=1), 9)
    assert not snapshot.holds()


def test_equal_objects_are_not_the_same() -> None:
    scope = {"x": float("1.5")}
    snapshot = Snapshot()
    snapshot.add_item(scope, "x")
    scope["x"] = float("1.5")
    assert not snapshot.holds()


def test_a_snapshot_in_a_cycle_is_collected() -> None:
    class Owner:
        snapshot: Any

    owner = Owner()
    owner.snapshot = Snapshot()
    owner.snapshot.add_attribute(owner, "snapshot")
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_dicts_agree_by_equal_values() -> None:
    states = [{"step": 1000 + one - one} for one in range(3)]
    snapshot = Snapshot()
    snapshot.add_agreement(states, "step")
    assert snapshot.holds()
    for state in states:
        state["step"] += 1
    assert snapshot.holds()
    states[2]["step"] += 1
    assert not snapshot.holds()
    states[2]["step"] -= 1
    assert snapshot.holds()
    del states[1]["step"]
    assert not snapshot.holds()


def test_dicts_that_do_not_agree_are_no_snapshot() -> None:
    snapshot = Snapshot()
    snapshot.add_agreement([{"step": 1}, {"step": 2}], "step")
    assert not snapshot.holds()
    empty = Snapshot()
    empty.add_agreement([], "step")
    assert empty.holds()
