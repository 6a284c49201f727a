"""`core` knows operations by name: each name leads somewhere; methods agree with functions."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lumus
from lumus.core.composite import COMPOSITES
from lumus.core.op import OPS
from tests.architecture.repository import PACKAGE, module_name, source_files, syntax_tree

# Functions that run the operation, or call the composite, whose name is their first argument.
BY_OP_NAME = {"apply", "apply_into", "_binary", "_reflected", "_reduce"}
BY_COMPOSITE_NAME = {"call"}


def names_called(path: Path, functions: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(syntax_tree(path)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
            continue
        first = node.args[0]
        if (
            node.func.id in functions
            and isinstance(first, ast.Constant)
            and isinstance(first.value, str)
        ):
            yield node.lineno, first.value


# The language of scalar expressions has an `apply` of its own.
CALLERS = [path for path in source_files() if "scalar" not in path.parent.name]


@pytest.mark.parametrize("path", CALLERS, ids=module_name)
def test_every_name_that_is_run_has_an_op_or_a_composite(path: Path) -> None:
    unknown = [(line, name) for line, name in names_called(path, BY_OP_NAME) if name not in OPS]
    unknown += [
        (line, name)
        for line, name in names_called(path, BY_COMPOSITE_NAME)
        if name not in COMPOSITES
    ]
    assert not unknown, unknown


def test_names_are_found_in_the_methods() -> None:
    path = PACKAGE / "core" / "tensor.py"
    assert len(list(names_called(path, BY_OP_NAME | BY_COMPOSITE_NAME))) > 50


@pytest.mark.parametrize("name", sorted(OPS))
def test_op_is_differentiable_or_says_why_not(name: str) -> None:
    op = OPS[name]
    assert op.differentiable != bool(op.reason), f"{name}: reason is {op.reason!r}"
    if op.differentiable:
        assert type(op).record is not lumus.core.op.Op.record, f"{name} has no record"


@pytest.mark.parametrize("name", sorted(OPS))
def test_record_states_its_derivative(name: str) -> None:
    """The record of an op is documented with the derivative, in the file of the op."""
    module = inspect.getmodule(type(OPS[name]))
    assert module is not None
    for value in vars(module).values():
        if (
            isinstance(value, type)
            and value.__name__.endswith("Record")
            and value.__module__ == (module.__name__)
        ):
            assert value.__doc__, f"{value.__name__} has no docstring"
            assert value.__doc__.startswith(("d ", "The derivative of ")), value.__doc__


def methods_like_functions() -> list[str]:
    """Methods whose docstring sends the reader to the function of the same name."""
    return [
        name
        for name, value in vars(lumus.Tensor).items()
        if inspect.isfunction(value)
        and re.match(rf"See `lumus\.{name}`", inspect.getdoc(value) or "")
    ]


# Lengths and axes may be given to these methods one by one.
ONE_BY_ONE = {"broadcast_to", "permute_dims", "reshape"}


@pytest.mark.parametrize("name", methods_like_functions())
def test_method_has_the_parameters_of_its_function(name: str) -> None:
    function = inspect.signature(getattr(lumus, name))
    method = inspect.signature(vars(lumus.Tensor)[name])
    of_function = [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in list(function.parameters.values())[1:]
    ]
    of_method = [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in list(method.parameters.values())[1:]
    ]
    if name in ONE_BY_ONE:
        assert [parameter[0] for parameter in of_method] == [
            parameter[0] for parameter in of_function
        ]
    else:
        assert of_method == of_function
