"""The public names of lumus."""

import inspect
import types

import pytest

import lumus


def test_public_names_are_sorted_and_unique() -> None:
    assert list(lumus.__all__) == sorted(set(lumus.__all__))


def test_public_names_have_no_underscores_in_front() -> None:
    assert [name for name in lumus.__all__ if name.startswith("_")] == []


def test_every_public_name_resolves() -> None:
    missing = [name for name in lumus.__all__ if not hasattr(lumus, name)]
    assert not missing


def test_every_name_that_can_be_seen_is_declared_public() -> None:
    rooms = {
        name for name, value in vars(lumus).items() if isinstance(value, types.ModuleType)
    }  # importing a room's file makes the room visible, declared or not
    visible = {name for name in vars(lumus) if not name.startswith("_")} - rooms
    assert visible <= set(lumus.__all__), sorted(visible - set(lumus.__all__))


@pytest.mark.parametrize("name", sorted(lumus.__all__))
def test_public_name_is_documented(name: str) -> None:
    value = getattr(lumus, name)
    if callable(value) or isinstance(value, types.ModuleType):
        assert inspect.getdoc(value), f"lumus.{name} has no docstring"
