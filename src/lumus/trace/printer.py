"""A program as text that reads like code: one line an equation, with the user's line behind it.

Values have the names that the user knows, or letters; constants of one element are their number.
Of parameters and attributes in brackets, those that are False or None are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from lumus import _native
from lumus.core.dtypes import float64
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.product import WithEpilogue
from lumus.core.kernels.reduction import Reduce
from lumus.core.scalar.expressions import Expression, substitute
from lumus.core.scalar.nodes import Call, Constant, Input, Scalar, postorder
from lumus.core.scalar.printer import render
from lumus.core.site import Line, Site, describe

if TYPE_CHECKING:
    from lumus.trace.program import Capture, Equation, Program, Var

Number = float | int | bool

_INDENT = "    "
_MAX_PARAMETER = 60
_RESULT = "_"  # of a kernel, within its epilogue
_MAX_LINES = 3


def program_text(program: Program) -> str:
    """All of a program: what it is given, its equations, what it writes and returns."""
    names = Names(program)
    inputs = ", ".join(names.declared(var) for var in program.inputs)
    lines = [f"{program.name}({inputs}):"]
    for capture in program.captures:
        if capture.var not in names.numbers:
            kind = "constant" if capture.constant else "captured"
            lines.append(f"{_INDENT}{names.declared(capture.var)} = {kind}")
    lines += [f"{_INDENT}{names.declared(host.var)} = given" for host in program.hosts]
    for one in program.equations:
        lines += [_INDENT + line for line in equation_text(one, names).split("\n")]
    for write in program.writes:
        where = f"  # {write.op}" + (f" at {describe(write.site)}" if write.site else "")
        lines.append(f"{_INDENT}{names[write.target]} <- {names[write.value]}{where}")
    if program.outputs:
        lines.append(f"{_INDENT}return {', '.join(names[var] for var in program.outputs)}")
    return "\n".join(lines)


class Names:
    """A name for each value of a program; for constants of one number, without axes, the number.

    Values that the program does not have are named `?`, so that a broken one can be shown.
    """

    def __init__(self, program: Program) -> None:
        self.numbers: dict[Var, Number] = {}
        for capture in program.captures:
            number = number_of(capture)
            if number is not None:
                self.numbers[capture.var] = number
        self._names: dict[Var, str] = {}
        made = [var for one in program.equations for var in one.outputs]
        named = [var for var in (*program.given(), *made) if var not in self.numbers]
        taken: set[str] = set()
        for var in named:
            if var.label and var not in self._names:
                self._add(var, _numbered(var.label), taken)
        letters = _letters()
        for var in named:
            if var not in self._names:
                self._add(var, letters, taken)

    def _add(self, var: Var, names: Iterator[str], taken: set[str]) -> None:
        name = next(name for name in names if name not in taken)
        self._names[var] = name
        taken.add(name)

    def __getitem__(self, var: Var) -> str:
        number = self.numbers.get(var)
        if number is None:
            return self._names.get(var, "?")
        return repr(number if var.spec.dtype is float64 else _short(number))

    def declared(self, var: Var) -> str:
        """A value's name with its type."""
        return f"{self[var]}: {var.spec!r}"

    def expression(self, expression: Expression, operands: tuple[Var | str, ...]) -> str:
        """An expression of these operands, which are values or names."""
        nodes: list[Scalar] = [
            Constant(self.numbers[one])
            if not isinstance(one, str) and one in self.numbers
            else Input(index)
            for index, one in enumerate(operands)
        ]
        names = [one if isinstance(one, str) else self[one] for one in operands]
        for index in range(len(operands), expression.num_inputs):
            nodes.append(Input(index))
            names.append("?")
        outputs = substitute(expression.outputs, nodes)
        if not any(not isinstance(one, str) and one.spec.dtype is float64 for one in operands):
            outputs = _with_short_constants(outputs)
        return render(outputs, names)


def _with_short_constants(outputs: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    shown: dict[Scalar, Scalar] = {}
    for node in postorder(outputs):
        match node:
            case Constant(value):
                shown[node] = Constant(_short(value))
            case Call(function, args, dtype):
                shown[node] = Call(function, tuple([shown[arg] for arg in args]), dtype)
            case _:
                shown[node] = node
    return tuple([shown[output] for output in outputs])


def _short(number: Number) -> Number:
    """The shortest decimals that are this float32; other numbers are themselves."""
    if not isinstance(number, float):
        return number
    with np.errstate(over="ignore"):
        single = np.float32(number)
    return float(str(single)) if float(single) == number else number


def number_of(capture: Capture) -> Number | None:
    """The number that a constant without axes holds; None of others, and where it is not at hand.

    An array of another device than the host's would have to be copied for it.
    """
    data: Any = capture.data
    if capture.constant and capture.var.spec.shape == () and isinstance(data, _native.Array):
        return data.item()
    return None


def equation_text(equation: Equation, names: Names) -> str:
    """``a: float32[3] = kernel[parameters](x)  # file:line``."""
    left = ", ".join(names.declared(var) for var in equation.outputs)
    right = _computed(equation, names).split("\n")
    lines = _lines(equation.sites)
    right[-1] += f"  # {lines}" if lines else ""
    if len(right) == 1:
        return f"{left} = {right[0]}"
    return "\n".join([f"{left} =", *[_INDENT + line for line in right]])


def _computed(equation: Equation, names: Names) -> str:
    match equation.kernel:
        case Elementwise(expression):
            return names.expression(expression, equation.inputs)
        case Reduce(kind, axes, keepdims, Expression() as prologue):
            head = kind + _parameters([("axes", axes), ("keepdims", keepdims)])
            *above, last = names.expression(prologue, equation.inputs).split("\n")
            return "\n".join([*above, f"{head}({last})"])
        case WithEpilogue(product, epilogue) as kernel:
            own, others = kernel.split(equation.inputs)
            made = _called(equation, product, own, names)
            return f"{_RESULT} = {made}\n{names.expression(epilogue, (_RESULT, *others))}"
        case kernel:
            return _called(equation, kernel, equation.inputs, names)


def _called(equation: Equation, kernel: Kernel, operands: tuple[Var, ...], names: Names) -> str:
    said: Any = kernel if equation.attrs is None else equation.attrs
    fields = ((name, getattr(said, name)) for name in said.field_names)
    return f"{equation.op}{_parameters(fields)}({', '.join(names[var] for var in operands)})"


def _parameters(fields: Iterable[tuple[str, Any]]) -> str:
    said: list[str] = []
    for name, value in fields:
        if value is True:
            said.append(name)
        elif value is not False and value is not None:
            text = str(value)
            if len(text) > _MAX_PARAMETER:
                text = text[: _MAX_PARAMETER - 3] + "..."
            said.append(f"{name}={text}")
    return f"[{', '.join(said)}]" if said else ""


def _lines(sites: Iterable[Site | Line]) -> str:
    """The first few different lines that an equation comes from."""
    lines = list(dict.fromkeys(describe(site) for site in sites))
    more = ", ..." if len(lines) > _MAX_LINES else ""
    return ", ".join(lines[:_MAX_LINES]) + more


def _letters() -> Iterator[str]:
    """a, b, ..., z, aa, ab, ..."""
    for length in count(1):
        for letters in product(ascii_lowercase, repeat=length):
            yield "".join(letters)


def _numbered(label: str) -> Iterator[str]:
    """label, label_2, label_3, ..."""
    yield label
    for number in count(2):
        yield f"{label}_{number}"
