"""Numbers built into expressions: ``x * y`` with a constant y of 0.5 as ``x * 0.5``.

The result must have the bits that it has with the number as an operand. So the number must be
computed with in the dtype that it has as an operand, and what depends on numbers alone must stay
what it was: an expression's numbers are folded in double precision, operands are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumus import _native
from lumus.core.broadcast import broadcast_shapes
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import Reduce
from lumus.core.scalar.expressions import Expression, substitute
from lumus.core.scalar.nodes import Call, Constant, Input, Scalar, postorder
from lumus.core.scalar.program import Types
from lumus.core.scalar.simplifier import Simplifier
from lumus.errors import LumusError
from lumus.trace.program import Capture, Equation, Var

Number = float | int | bool


class BuiltIn:
    """Builds numbers in. Equal expressions with equal numbers give one expression."""

    def __init__(self, *, fast_math: bool) -> None:
        self._fast_math = fast_math
        self._known: dict[Any, Expression | None] = {}

    def applied(self, one: Equation, constants: Mapping[Var, Capture]) -> Equation:
        """The equation without the operands that are numbers, as far as the bits stay."""
        expression = _expression_of(one.kernel)
        if expression is None:
            return one
        inputs = list(one.inputs)
        for index in reversed(range(len(inputs))):
            number = _number(constants.get(inputs[index]))
            rest = inputs[:index] + inputs[index + 1 :]
            if number is None or not _same_shape(rest, inputs):
                continue
            built = self._built(expression, index, number, one, inputs)
            if built is not None:
                expression, inputs = built, rest
        if len(inputs) == len(one.inputs):
            return one
        kernel = _with_expression(one.kernel, expression)
        return Equation(one.op, None, kernel, tuple(inputs), one.outputs, one.sites)

    def _built(
        self, expression: Expression, index: int, number: Number, one: Equation, inputs: list[Var]
    ) -> Expression | None:
        dtypes = tuple([var.spec.dtype for var in inputs])
        # repr tells -0.0 from 0.0 and 1 from 1.0, and finds NaN.
        key = (expression, index, repr(number), dtypes)
        if key not in self._known:
            self._known[key] = _with_number(expression, index, number, dtypes, self._fast_math)
        return self._known[key]


def _expression_of(kernel: Kernel) -> Expression | None:
    match kernel:
        case Elementwise(expression):
            return expression
        case Reduce(prologue=prologue):
            return prologue
        case _:
            return None


def _with_expression(kernel: Kernel, expression: Expression) -> Kernel:
    if isinstance(kernel, Reduce):
        return Reduce(kernel.kind, kernel.axes, kernel.keepdims, expression)
    return Elementwise(expression)


def _number(capture: Capture | None) -> Number | None:
    """The number of a constant of one element; of Bool none: it may choose what is folded."""
    if capture is None or capture.var.spec.size != 1 or capture.var.spec.dtype.kind == "bool":
        return None
    return capture.data.item() if isinstance(capture.data, _native.Array) else None


def _same_shape(rest: list[Var], inputs: list[Var]) -> bool:
    """Whether the operands that are left have the shape of all."""
    if not rest:
        return False
    left = broadcast_shapes("elementwise", *[var.spec.shape for var in rest])
    return left == broadcast_shapes("elementwise", *[var.spec.shape for var in inputs])


def _with_number(
    expression: Expression, index: int, number: Number, dtypes: tuple[Any, ...], fast_math: bool
) -> Expression | None:
    """The expression with `number` in the place of input `index`; None if bits might differ."""
    constant = Constant(number)
    nodes: list[Scalar] = [Input(at - (at > index)) for at in range(expression.num_inputs)]
    nodes[index] = constant
    simplify = Simplifier()
    outputs = [simplify(output) for output in expression.outputs]
    before = postorder(outputs)
    after = substitute(before, nodes)
    left = (*dtypes[:index], *dtypes[index + 1 :])
    if any(isinstance(output, Input) and output.index == index for output in outputs):
        return None
    if not fast_math and _is_power(after, constant):
        return None
    if not _computes_alike(before, after, dtypes, left):
        return None
    parameters = expression.parameters
    return Expression((*parameters[:index], *parameters[index + 1 :]), substitute(outputs, nodes))


def _is_power(nodes: tuple[Scalar, ...], constant: Constant) -> bool:
    """Whether a power would become products, which round otherwise."""
    return constant.value in (1, 2, 3, 4) and any(
        isinstance(node, Call) and node.function == "power" and node.args[1] is constant
        for node in nodes
    )


def _computes_alike(
    before: list[Scalar], after: tuple[Scalar, ...], dtypes: tuple[Any, ...], left: tuple[Any, ...]
) -> bool:
    """Whether each node computes in the dtype it did, and from operands if it did."""
    try:
        old, new = Types(before, dtypes), Types(postorder(after), left)
    except (TypeError, LumusError):
        return False
    from_numbers = [_from_numbers(before), _from_numbers(after)]
    return all(
        old.operands[was] is new.operands[now]
        and (was in from_numbers[0]) == (now in from_numbers[1])
        for was, now in zip(before, after, strict=True)
        if isinstance(was, Call)
    )


def _from_numbers(order: Sequence[Scalar]) -> set[Scalar]:
    """The nodes that are numbers, or computed of numbers alone."""
    found: set[Scalar] = set()
    for node in order:
        if isinstance(node, Constant) or (
            isinstance(node, Call) and all(arg in found for arg in node.args)
        ):
            found.add(node)
    return found
