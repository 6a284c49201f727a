"""Symbolic derivatives of expressions, to any order.

Forward mode on the graph: one walk carries to each node how much it changes with one input. A
shared node is walked once and its rule uses the node itself, so the derivative of a graph of n
nodes has a small multiple of n nodes, at every order.
"""

from __future__ import annotations

from lumus.core.scalar.expressions import Expression, substitute
from lumus.core.scalar.functions import FUNCTIONS
from lumus.core.scalar.nodes import ONE, ZERO, Call, Input, Scalar, postorder
from lumus.core.scalar.simplifier import Simplifier


def derivative(expression: Expression, index: int) -> Expression:
    """The derivative of each output with respect to input `index`, over the same inputs.

    **Example**

    >>> from lumus.core.scalar.expressions import expression
    >>> from lumus.core.scalar.functions import tanh
    >>> print(derivative(expression(lambda x: tanh(x)), 0))
    1 - tanh(x) * tanh(x)
    """
    key = ("derivative", index)
    if key not in expression.derived:
        simplify = Simplifier()
        outputs = [
            _tangent(output, expression.parameters, index, ONE, simplify)
            for output in expression.outputs
        ]
        expression.derived[key] = Expression(expression.parameters, tuple(outputs))
    return expression.derived[key]


def vjp(expression: Expression, index: int) -> Expression:
    """The gradient for input `index`: inputs are one gradient for each output, then the inputs.

    The gradient enters where the input does, so a branch of ``where`` that is not selected gives
    exactly 0 even for an infinite gradient.

    **Example**

    >>> from lumus.core.scalar.expressions import expression
    >>> from lumus.core.scalar.functions import where
    >>> print(vjp(expression(lambda x: where(x > 0, x, 0)), 0))
    where(x > 0, grad, 0)
    """
    key = ("vjp", index)
    if key not in expression.derived:
        grads = _grad_names(expression)
        parameters = (*grads, *expression.parameters)
        inputs = [Input(len(grads) + i) for i in range(expression.num_inputs)]
        outputs = substitute(expression.outputs, inputs)
        simplify = Simplifier()
        total: Scalar = ZERO
        for i, output in enumerate(outputs):
            total += _tangent(output, parameters, len(grads) + index, Input(i), simplify)
        expression.derived[key] = Expression(parameters, (simplify(total),))
    return expression.derived[key]


def _grad_names(expression: Expression) -> list[str]:
    count = len(expression.outputs)
    names = ["grad"] if count == 1 else [f"grad{i}" for i in range(count)]
    while not set(names).isdisjoint(expression.parameters):
        names = [f"{name}_" for name in names]
    return names


def _tangent(
    output: Scalar, parameters: tuple[str, ...], index: int, seed: Scalar, simplify: Simplifier
) -> Scalar:
    """How much `output` changes when input `index` changes by `seed`."""
    if not 0 <= index < len(parameters):
        raise IndexError(f"no input {index}: the expression has inputs {', '.join(parameters)}")
    output = simplify(output)
    tangents: dict[Scalar, Scalar] = {}
    for node in postorder([output]):
        tangent: Scalar = ZERO
        if isinstance(node, Input) and node.index == index:
            tangent = seed
        elif isinstance(node, Call):
            tangent = simplify(_call_tangent(node, [tangents[arg] for arg in node.args]))
        tangents[node] = tangent
    return tangents[output]


def _call_tangent(node: Call, tangents: list[Scalar]) -> Scalar:
    if all(tangent is ZERO for tangent in tangents):
        return ZERO
    if node.dtype is not None:
        return Call("cast", (tangents[0],), node.dtype) if node.dtype.kind == "float" else ZERO
    rule = FUNCTIONS[node.function].rule
    return ZERO if rule is None else rule(*node.args, node, *tangents)
