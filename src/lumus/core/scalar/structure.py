"""What an expression computes, as a key: equal for expressions that are written alike."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.nodes import ONE, ZERO, Call, Constant, Input, postorder


def structure(expression: Expression) -> Hashable:
    """The nodes of an expression in order, each by what it is and the places of its arguments.

    Numbers are told apart as they are printed, and from the zero and one of derivatives.
    """
    order = postorder(expression.outputs)
    places = {node: place for place, node in enumerate(order)}
    rows: list[tuple[Any, ...]] = []
    for node in order:
        match node:
            case Call(function, args, dtype):
                rows.append((function, dtype, *[places[arg] for arg in args]))
            case Constant(value):
                rows.append((type(value), repr(value), node is ZERO, node is ONE))
            case Input(index):
                rows.append((index,))
            case _:
                raise TypeError(f"not a node of a scalar expression: {node!r}")
    results = tuple([places[output] for output in expression.outputs])
    return expression.num_inputs, results, tuple(rows)
