"""Constants that follow one another, joined: (x * a) * b as x * (a * b). For `fast_math` alone.

Results differ in their last bits, and where a product in the middle is too large or too small.
"""

from __future__ import annotations

from lumus.core.kernels.elementwise import Elementwise
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.nodes import ZERO, Call, Constant, Scalar, postorder
from lumus.trace.program import Equation

_LARGEST = 1e30
"""What is joined to a number beyond this, or below its inverse, would leave float32."""


def reassociated(one: Equation) -> Equation:
    """The equation with constants joined in its expression; the same one if there are none.

    ``x * a * b`` becomes ``x * (a * b)``, ``x / a`` ``x * (1 / a)``, ``x + a + b`` ``x + (a + b)``,
    also where a number is subtracted. Of Float operands: integers keep their meaning.
    """
    if not isinstance(one.kernel, Elementwise):
        return one
    expression = one.kernel.expression
    if any(var.spec.dtype.kind != "float" for var in (*one.inputs, *one.outputs)):
        return one
    outputs = _joined(expression)
    if outputs is None:
        return one
    kernel = Elementwise(Expression(expression.parameters, outputs))
    return Equation(one.op, None, kernel, one.inputs, one.outputs, one.sites)


def _joined(expression: Expression) -> tuple[Scalar, ...] | None:
    """The outputs with constants joined; None if nothing changes."""
    made: dict[Scalar, Scalar] = {}
    changed = False
    for node in postorder(expression.outputs):
        made[node] = node
        if isinstance(node, Call):
            if node.dtype is not None and node.dtype.kind != "float":
                return None
            args = tuple([made[arg] for arg in node.args])
            rebuilt = node if args == node.args else Call(node.function, args, node.dtype)
            made[node] = _join(rebuilt)
            changed = changed or made[node] is not rebuilt
    return tuple([made[output] for output in expression.outputs]) if changed else None


def _join(node: Call) -> Scalar:
    """The call with its number joined to that of its argument, or as a product if it divides."""
    match _split(node):
        case (function, inner, number):
            joined: Scalar | None = None
            match _split(inner):
                case (same, x, first) if same == function:
                    joined = _applied(function, x, first, number)
                case _ if node.function == "divide":
                    joined = _applied(function, inner, 1.0, number)
                case _:
                    pass
            return node if joined is None else joined
        case _:
            return node


def _split(node: Scalar) -> tuple[str, Scalar, float] | None:
    """A call as x + number or x * number, if it is one."""
    if not isinstance(node, Call) or len(node.args) != 2:
        return None
    x, y = node.args
    number = _number(y)
    match node.function:
        case "multiply" | "add":
            if number is None:
                x, number = y, _number(x)
            return None if number is None else (node.function, x, number)
        case "subtract" if number is not None:
            return ("add", x, -number)
        case "divide" if number:
            return ("multiply", x, 1 / number)
        case _:
            return None


def _applied(function: str, x: Scalar, a: float, b: float) -> Scalar | None:
    joined = a * b if function == "multiply" else a + b
    if joined and not 1 / _LARGEST < abs(joined) < _LARGEST:
        return None
    return Call(function, (x, Constant(joined)))


def _number(node: Scalar) -> float | None:
    # ZERO is no number here: what it is multiplied with does not matter, not even NaN.
    if isinstance(node, Constant) and node is not ZERO and not isinstance(node.value, bool):
        return float(node.value)
    return None
