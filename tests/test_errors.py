"""The exceptions: the drawn tree is the real one, and each fits where its builtin is expected."""

import pickle
import re

import pytest

from lumus import errors
from lumus.errors import LumusError

CLASSES = [
    one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, LumusError) and one is not LumusError
]


def drawn_tree() -> dict[str, tuple[str, ...]]:
    """The bases of each class in the drawing: the one it hangs from, the builtin in brackets."""
    found: dict[str, tuple[str, ...]] = {}
    above = "LumusError"
    for line in errors.__doc__.splitlines():
        match = re.match(r" {4}(│   )?[├└]── (\w+)(?: \((\w+)\))?: \S", line)
        if match is None:
            continue
        nested, name, builtin = match.groups()
        found[name] = (above if nested else "LumusError", *([builtin] if builtin else []))
        above = above if nested else name
    return found


def test_the_drawn_tree_is_that_of_the_classes():
    real = {one.__name__: tuple(base.__name__ for base in one.__bases__) for one in CLASSES}
    assert drawn_tree() == real


@pytest.mark.parametrize("error", CLASSES, ids=lambda one: one.__name__)
def test_every_error_is_documented_keeps_its_fields_and_can_be_pickled(error):
    assert error.__doc__
    made = error("add: no", hint="do", op="add", axis=1)
    assert str(made) == "add: no\nhint: do"
    for one in (made, pickle.loads(pickle.dumps(made))):
        assert (str(one), one.op, one.axis) == (str(made), "add", 1)
