"""An expression: one or more outputs as functions of named inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, overload

from lumus.core.scalar.nodes import Call, Input, Operand, Scalar, as_scalar, postorder
from lumus.core.scalar.printer import render


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expression:
    """Outputs over inputs that have the names `parameters`. Compared by identity: a key of caches.

    **Example**

    >>> from lumus.core.scalar.expressions import expression
    >>> print(expression(lambda grad, y: grad * (1 - y * y)))
    grad * (1 - y * y)
    """

    parameters: tuple[str, ...]
    outputs: tuple[Scalar, ...]
    # Derivatives asked for before, so that asking again gives the same object, and so hits caches.
    derived: dict[tuple[str, int], Expression] = field(
        default_factory=dict[tuple[str, int], "Expression"], init=False
    )

    @property
    def num_inputs(self) -> int:
        """How many inputs it takes; not each needs to be used."""
        return len(self.parameters)

    def inline(self, *operands: Operand) -> tuple[Scalar, ...]:
        """The outputs with `operands` in the place of the inputs: how expressions are joined."""
        if len(operands) != len(self.parameters):
            raise TypeError(f"{self!r} takes {self.num_inputs} inputs, not {len(operands)}")
        return substitute(self.outputs, [as_scalar(operand) for operand in operands])

    def __call__(self, *operands: Operand) -> Scalar:
        """The only output with `operands` in the place of the inputs."""
        (output,) = self.inline(*operands)
        return output

    def __str__(self) -> str:
        return render(self.outputs, self.parameters)

    def __repr__(self) -> str:
        return f"<expression {', '.join(self.parameters)}: {self}>"


def substitute(outputs: Sequence[Scalar], inputs: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """`outputs` with ``inputs[i]`` in the place of ``Input(i)``; sharing is kept."""
    replaced: dict[Scalar, Scalar] = {}
    for node in postorder(outputs):
        match node:
            case Input(index):
                replaced[node] = inputs[index]
            case Call(function, args, dtype):
                replaced[node] = Call(function, tuple([replaced[arg] for arg in args]), dtype)
            case _:
                replaced[node] = node
    return tuple([replaced[output] for output in outputs])


Result: TypeAlias = Operand | tuple[Operand, ...]
S: TypeAlias = Scalar


@overload
def expression(function: Callable[[], Result]) -> Expression: ...
@overload
def expression(function: Callable[[S], Result]) -> Expression: ...
@overload
def expression(function: Callable[[S, S], Result]) -> Expression: ...
@overload
def expression(function: Callable[[S, S, S], Result]) -> Expression: ...
@overload
def expression(function: Callable[[S, S, S, S], Result]) -> Expression: ...
@overload
def expression(function: Callable[[S, S, S, S, S], Result]) -> Expression: ...
@overload
def expression(function: Callable[[S, S, S, S, S, S], Result]) -> Expression: ...
@overload
def expression(function: Callable[[S, S, S, S, S, S, S], Result]) -> Expression: ...
@overload
def expression(function: Callable[[S, S, S, S, S, S, S, S], Result]) -> Expression: ...
def expression(function: Callable[..., Result]) -> Expression:
    """The expression that a Python function or lambda writes; a tuple gives several outputs.

    Its parameters are the inputs, but for those with a default, which keep it.
    """
    # A function of the table is an object: its parameters are those of its __call__, but for self.
    plain: Any = function if hasattr(function, "__code__") else type(function).__call__
    code, defaults = plain.__code__, plain.__defaults__ or ()
    parameters = tuple(code.co_varnames[plain is not function : code.co_argcount - len(defaults)])
    result = function(*[Input(index) for index in range(len(parameters))])
    outputs = result if isinstance(result, tuple) else (result,)
    return Expression(parameters, tuple([as_scalar(output) for output in outputs]))
