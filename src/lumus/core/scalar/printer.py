"""Scalar expressions as text that reads like Python, with no parenthesis that is not needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lumus.core.scalar.nodes import Call, Constant, Input, Scalar, postorder

# Python's precedences. A comparison takes neither side of another one bare: that would be a chain.
_COMPARISON, _OR, _XOR, _AND, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(9)
_INFIX = {
    "equal": ("==", _COMPARISON),
    "not_equal": ("!=", _COMPARISON),
    "less": ("<", _COMPARISON),
    "less_equal": ("<=", _COMPARISON),
    "greater": (">", _COMPARISON),
    "greater_equal": (">=", _COMPARISON),
    "logical_or": ("|", _OR),
    "logical_xor": ("^", _XOR),
    "logical_and": ("&", _AND),
    "add": ("+", _SUM),
    "subtract": ("-", _SUM),
    "multiply": ("*", _PRODUCT),
    "divide": ("/", _PRODUCT),
    "floor_divide": ("//", _PRODUCT),
    "remainder": ("%", _PRODUCT),
    "power": ("**", _POWER),
}
_PREFIX = {"negative": "-", "logical_not": "~"}
_CALLED = {"select": "where", "absolute": "abs"}

# Beyond this many nodes written out, what is used more than once gets a name and a line of its own.
_LARGE = 200


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    precedence: int

    def within(self, precedence: int) -> str:
        """The text as an operand that must bind at least as tightly as `precedence`."""
        return self.text if self.precedence >= precedence else f"({self.text})"


def render(outputs: Sequence[Scalar], names: Sequence[str]) -> str:
    """The text of `outputs`, with `names` for the inputs; several outputs are a tuple."""
    order = postorder(outputs)
    named = _shared_calls(order) if _size_written_out(order) > _LARGE else set[Scalar]()
    texts: dict[Scalar, _Text] = {}
    lines: list[str] = []
    for node in order:
        text = _text(node, texts, names)
        if node in named:
            lines.append(f"t{len(lines)} = {text.text}")
            text = _Text(f"t{len(lines) - 1}", _ATOM)
        texts[node] = text
    results = [texts[output].text for output in outputs]
    lines.append(results[0] if len(results) == 1 else f"({', '.join(results)})")
    return "\n".join(lines)


def _text(node: Scalar, texts: dict[Scalar, _Text], names: Sequence[str]) -> _Text:
    match node:
        case Input(index):
            return _Text(names[index], _ATOM)
        case Constant(value):
            return _Text(repr(value), _UNARY if repr(value).startswith("-") else _ATOM)
        case Call(function, (left, right), None) if function in _INFIX:
            symbol, precedence = _INFIX[function]
            tight_left = precedence in {_COMPARISON, _POWER}
            # The exponent of ** may carry a sign; elsewhere operators group from the left.
            tight_right = _UNARY if precedence == _POWER else precedence + 1
            first = texts[left].within(precedence + tight_left)
            return _Text(f"{first} {symbol} {texts[right].within(tight_right)}", precedence)
        case Call(function, (arg,), None) if function in _PREFIX:
            return _Text(_PREFIX[function] + texts[arg].within(_UNARY), _UNARY)
        case Call(function, args, dtype):
            operands = [texts[arg].text for arg in args] + ([dtype.name] if dtype else [])
            return _Text(f"{_CALLED.get(function, function)}({', '.join(operands)})", _ATOM)
        case _:
            raise TypeError(f"not a node of a scalar expression: {node!r}")


def _shared_calls(order: Sequence[Scalar]) -> set[Scalar]:
    uses = Counter(arg for node in order if isinstance(node, Call) for arg in node.args)
    return {node for node, count in uses.items() if count > 1 and isinstance(node, Call)}


def _size_written_out(order: Sequence[Scalar]) -> int:
    sizes: dict[Scalar, int] = {}
    for node in order:
        args = node.args if isinstance(node, Call) else ()
        sizes[node] = min(1 + sum(sizes[arg] for arg in args), _LARGE + 1)
    return max(sizes.values(), default=0)
