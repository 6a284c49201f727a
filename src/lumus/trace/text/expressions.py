"""Scalar expressions of a saved program as text, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumus.core.dtypes import BY_NAME
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.functions import FUNCTIONS, Binary, Unary
from lumus.core.scalar.nodes import ONE, ZERO, Call, Constant, Input, Scalar, postorder
from lumus.trace.text.cursor import Cursor, MalformedError
from lumus.trace.text.values import WORDS, plain_text, read_flag

_NUMBER_OF_ARGUMENTS = {
    name: 1 if isinstance(function, Unary) else 2
    for name, function in FUNCTIONS.items()
    if isinstance(function, (Unary, Binary))
} | {"select": 3}
_TEMPORARY = re.compile(r"t\d+", re.ASCII)
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def expression_text(expression: Expression) -> str:
    """``[x, w: t0 = multiply(x, w), t1 = tanh(t0) -> t1]``: a call a name, results at the end."""
    names = _parameter_names(expression.parameters)
    texts: dict[Scalar, str] = {}
    steps: list[str] = []
    for node in postorder(expression.outputs):
        match node:
            case Input(index):
                texts[node] = names[index]
            case Constant(value):
                texts[node] = _constant_text(node, value)
            case Call(function, args, dtype):
                called = function if dtype is None else dtype.name
                texts[node] = f"t{len(steps)}"
                steps.append(f"{texts[node]} = {called}({', '.join(texts[arg] for arg in args)})")
            case _:
                raise MalformedError(f"{node!r} cannot be saved")
    results = ", ".join(texts[output] for output in expression.outputs)
    given, body = ", ".join(names), ", ".join(steps)
    return f"[{given}: {body} -> {results}]" if body else f"[{given}: -> {results}]"


def _parameter_names(parameters: Sequence[str]) -> Sequence[str]:
    """Those of the expression if they can be told from all else that stands in it."""
    clear = all(
        NAME.fullmatch(name) and not _TEMPORARY.fullmatch(name) and name not in _RESERVED
        for name in parameters
    )
    if clear and len(set(parameters)) == len(parameters):
        return parameters
    return [f"x{index}" for index in range(len(parameters))]


def _constant_text(node: Scalar, value: float) -> str:
    if node is ZERO or node is ONE:  # of differentiation: see `lumus.core.scalar.simplifier`
        return "zero" if node is ZERO else "one"
    text = plain_text(value)
    if text is None:
        raise MalformedError(f"the number {value} cannot be saved")
    return text


_RESERVED = {"zero", "one", "inf", "nan", *WORDS}


def read_expression(cursor: Cursor) -> Expression:
    """An expression that `expression_text` wrote."""
    cursor.expect("[")
    known: dict[str, Scalar] = {"zero": ZERO, "one": ONE}
    parameters: list[str] = []
    while not cursor.skip(":"):
        if parameters:
            cursor.expect(",")
        parameters.append(_new_name(cursor, known))
        known[parameters[-1]] = Input(len(parameters) - 1)
    while not cursor.skip("->"):
        if len(known) > 2 + len(parameters):
            cursor.expect(",")
        name = _new_name(cursor, known)
        cursor.expect("=")
        known[name] = _read_call(cursor, known)
    column = cursor.next.column
    outputs = cursor.items(lambda: _read_operand(cursor, known), "]")
    if not outputs:
        raise MalformedError(f"column {column}: an expression without results")
    return Expression(tuple(parameters), tuple(outputs))


def _new_name(cursor: Cursor, known: dict[str, Scalar]) -> str:
    if cursor.next.text in known or cursor.next.text in _RESERVED:
        cursor.fail("a new name")
    return cursor.word("a new name")


def _read_call(cursor: Cursor, known: dict[str, Scalar]) -> Scalar:
    column, name = cursor.next.column, cursor.word("a function")
    dtype = BY_NAME.get(name)
    wanted = 1 if dtype is not None else _NUMBER_OF_ARGUMENTS.get(name)
    if wanted is None:
        raise MalformedError(f"column {column}: {name[:40]} is no function of numbers")
    cursor.expect("(")
    args = tuple(cursor.items(lambda: _read_operand(cursor, known), ")"))
    if len(args) != wanted:
        raise MalformedError(f"column {column}: {name} takes {wanted} operands, got {len(args)}")
    return Call("cast" if dtype is not None else name, args, dtype)


def _read_operand(cursor: Cursor, known: dict[str, Scalar]) -> Scalar:
    token = cursor.next
    if token.kind == "number":
        return Constant(cursor.number())
    if token.text in ("True", "False"):
        return Constant(read_flag(cursor))
    if token.text not in known:
        cursor.fail("a value of the expression")
    return known[cursor.word()]
