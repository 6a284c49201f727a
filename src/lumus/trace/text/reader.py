"""A saved program from its text, which may say anything.

Each line is checked as it is read; what is wrong raises FileFormatError, which names the line.
Nothing is made but what tables name, and nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lumus.core.device import Data, Device
from lumus.core.dtypes import int64
from lumus.core.site import Line
from lumus.core.spec import Spec
from lumus.core.tree import Branch, Tree
from lumus.errors import FileFormatError, LumusError
from lumus.ops.create.tensor import tensor
from lumus.ops.random.generator import KeySource, default_generator
from lumus.ops.shape.reshape import reshape
from lumus.trace.program import Capture, Equation, HostInput, Program, Var, Write
from lumus.trace.text.cursor import Cursor, MalformedError
from lumus.trace.text.kernels import read_kernel
from lumus.trace.text.saved import MAX_INLINE, SavedProgram
from lumus.trace.text.trees import read_tree
from lumus.trace.text.values import read_plain, read_spec
from lumus.trace.text.writer import HEAD, VERSION

Check = Callable[[Equation], None]
"""Raises for an equation whose kernel does not take these operands, or gives something else."""

_ORDER = (
    "name", "weights", "argument", "weight", "random", "%", "write", "arguments", "return", "end",
)  # fmt: skip
_SECTIONS = {
    **{kind: place for place, kind in enumerate(_ORDER)},
    "state": _ORDER.index("weight"),
    "constant": _ORDER.index("weight"),
}
_ONCE = {"name", "weights", "arguments", "return", "end"}
_NEEDED = ("name", "arguments", "return", "end")


class Draft:
    """A program that has been read, but for its weights.

    `weights` are the arrays that it wants, by their names in the file of weights, whose SHA-256 was
    `digest` when the program was saved.
    """

    def __init__(self, text: str, path: str, device: Device, check: Check) -> None:
        self.path = path
        self.weights: dict[str, Spec] = {}
        self.digest: str | None = None
        self._device = device
        self._check = check
        self._name = ""
        self._values: list[Var] = []
        self._inputs: list[Var] = []
        self._captures: list[tuple[Var, str | Data, str]] = []
        self._hosts: list[HostInput] = []
        self._equations: list[Equation] = []
        self._writes: list[Write] = []
        self._writable: set[Var] = set()
        self._written: set[Var] = set()
        self._outputs: list[Var] = []
        self._passed: list[int | None] = []
        self._arguments: Branch | None = None
        self._results: Tree = None
        self._read(text)

    def finished(self, weights: Mapping[str, Data]) -> SavedProgram:
        """The program with its weights."""
        captures = [
            Capture(var, weights[place] if isinstance(place, str) else place, kind == "constant")
            for var, place, kind in self._captures
        ]
        program = Program(
            self._name,
            self._inputs,
            captures,
            self._hosts,
            self._equations,
            self._outputs,
            self._writes,
        )
        assert self._arguments is not None
        return SavedProgram(program, self._arguments, self._results, tuple(self._passed))

    # Lines ----------------------------------------------------------------------------------------

    def _read(self, text: str) -> None:
        lines = text.split("\n")
        self._read_head(lines[0])
        section, seen = -1, set[str]()
        for number, line in enumerate(lines[1:], 2):
            if "end" in seen:
                if line or number < len(lines):
                    raise self._error(number, "it goes on after its end")
                break
            if not line and number == len(lines):
                break  # it was cut between two lines
            try:
                cursor = Cursor(line)
                token = cursor.next
                kind = "%" if token.kind == "value" else token.text
                place = _SECTIONS.get(kind)
                if place is None or place < section or (kind in seen and kind in _ONCE):
                    cursor.fail("another line")
                section = place
                seen.add(kind)
                self._line(kind, cursor)
                cursor.end()
            except MalformedError as error:
                raise self._error(number, str(error)) from None
            except (LumusError, TypeError, ValueError, ArithmeticError, LookupError) as error:
                raise self._error(number, str(error) or type(error).__name__) from None
            except AssertionError as error:
                raise self._error(number, str(error) or "operands do not fit") from None
        missing = [kind for kind in _NEEDED if kind not in seen]
        if missing:
            raise self._error(len(lines), f"it ends before it has said its {missing[0]}")

    def _read_head(self, line: str) -> None:
        words = line.split(" ")
        if words[:-1] != HEAD.split(" ") or not words[-1].isdecimal():
            raise self._error(1, f"it does not begin with `{HEAD}`")
        if words[-1] != str(VERSION):
            raise FileFormatError(
                f"{self.path} is a program of format {words[-1][:20]}; this lumus reads format "
                f"{VERSION}",
                hint="update lumus, or save the program again with this one",
                path=self.path,
            )

    def _error(self, number: int, what: str) -> FileFormatError:
        return FileFormatError(
            f"{self.path} is no valid saved program: line {number}: {what}", path=self.path
        )

    def _line(self, kind: str, cursor: Cursor) -> None:
        if kind != "%":
            cursor.word()
        match kind:
            case "name":
                self._name = cursor.string()
            case "weights":
                cursor.expect("sha256")
                self.digest = cursor.string()
            case "argument":
                self._inputs.append(self._labelled(cursor))
                self._writable.add(self._inputs[-1])
            case "weight" | "state" | "constant":
                self._capture(kind, cursor)
            case "random":
                self._random(cursor)
            case "%":
                self._equation(cursor)
            case "write":
                self._write(cursor)
            case "arguments":
                self._read_arguments(cursor)
            case "return":
                self._read_results(cursor)
            case _:
                pass  # end

    # Values ---------------------------------------------------------------------------------------

    def _declared(self, cursor: Cursor) -> Var:
        """A new value: they are numbered in order."""
        wanted = f"%{len(self._values)}"
        if cursor.next.text != wanted:
            cursor.fail(wanted)
        cursor.token("value", wanted)
        cursor.expect(":")
        var = Var(read_spec(cursor, self._device))
        self._values.append(var)
        return var

    def _labelled(self, cursor: Cursor) -> Var:
        var = self._declared(cursor)
        var.label = cursor.string()
        return var

    def _value(self, cursor: Cursor, known: int | None = None) -> Var:
        """One of the values so far, or of the first `known` ones."""
        column, text = cursor.next.column, cursor.token("value", "a value")
        number = int(text[1:])
        if number >= (len(self._values) if known is None else known) or text != f"%{number}":
            raise MalformedError(f"column {column}: {text} is not made before it is read")
        return self._values[number]

    def _capture(self, kind: str, cursor: Cursor) -> None:
        var = self._labelled(cursor)
        if kind == "state":
            self._writable.add(var)
        if kind == "constant" and cursor.skip("="):
            self._captures.append((var, self._elements(cursor, var.spec), kind))
            return
        if var.label in self.weights:
            raise MalformedError(f"two weights are named {var.label!r}")
        self.weights[var.label] = var.spec
        self._captures.append((var, var.label, kind))

    def _elements(self, cursor: Cursor, spec: Spec) -> Data:
        column = cursor.next.column
        cursor.expect("[")
        values = cursor.items(lambda: read_plain(cursor), "]")
        kind = {"float": float, "int": int, "bool": bool}[spec.dtype.kind]
        if len(values) != spec.size or spec.size > MAX_INLINE:
            raise MalformedError(f"column {column}: {len(values)} elements for {spec!r}")
        if any(type(value) is not kind for value in values):
            raise MalformedError(f"column {column}: elements that are not of {spec.dtype.name}")
        made = tensor(values, dtype=spec.dtype, device=spec.device)
        return reshape(made, spec.shape).data

    def _random(self, cursor: Cursor) -> None:
        var = self._declared(cursor)
        blocks = cursor.integer()
        if var.spec.shape != (2,) or var.spec.dtype is not int64 or not 0 < blocks < 2**60:
            raise MalformedError(f"{var.spec!r} of {blocks} blocks is no random key")
        self._hosts.append(HostInput(var, KeySource(default_generator, blocks)))

    # Equations and writes -------------------------------------------------------------------------

    def _equation(self, cursor: Cursor) -> None:
        known = len(self._values)
        outputs = [self._declared(cursor)]
        while cursor.skip(","):
            outputs.append(self._declared(cursor))
        cursor.expect("=")
        op = cursor.word() if cursor.next.kind == "word" else cursor.string()
        kernel = read_kernel(cursor)
        cursor.expect("of", "(")
        inputs = cursor.items(lambda: self._value(cursor, known), ")")
        one = Equation(op, None, kernel, tuple(inputs), tuple(outputs), self._sites(cursor))
        self._check(one)
        self._equations.append(one)

    def _sites(self, cursor: Cursor) -> tuple[Line, ...]:
        found: list[Line] = []
        while cursor.skip("," if found else "#"):
            found.append(Line(cursor.string(), cursor.integer()))
        return tuple(found)

    def _write(self, cursor: Cursor) -> None:
        target = self._value(cursor)
        cursor.expect("=")
        value = self._value(cursor)
        cursor.expect("by")
        op, sites = cursor.string(), self._sites(cursor)
        if target not in self._writable:
            raise MalformedError("it writes what is neither an argument nor state")
        if target.spec is not value.spec:
            raise MalformedError(f"it writes {value.spec!r} to {target.spec!r}")
        if target in self._written:
            raise MalformedError("it writes an array for the second time")
        self._written.add(target)
        self._writes.append(Write(target, value, op, sites[0] if sites else None))

    # Arguments and results ------------------------------------------------------------------------

    def _read_arguments(self, cursor: Cursor) -> None:
        for var, _, kind in self._captures:
            if kind == "state" and var not in self._written:
                raise MalformedError(f"the state {var.label!r} is not written")
        following = iter(self._inputs)

        def leaf(cursor: Cursor) -> None:
            column = cursor.next.column
            if self._value(cursor) is not next(following, None):
                raise MalformedError(f"column {column}: it is not the next argument")

        tree = read_tree(cursor, leaf)
        if not _is_call(tree):
            raise MalformedError("they are not (positional, {name: value})")
        if next(following, None) is not None:
            raise MalformedError("an argument is missing")
        self._arguments = tree

    def _read_results(self, cursor: Cursor) -> None:
        def leaf(cursor: Cursor) -> None:
            column = cursor.next.column
            if not cursor.skip("same"):
                self._outputs.append(self._value(cursor))
                self._passed.append(None)
                return
            var = self._value(cursor)
            if var not in self._inputs:
                raise MalformedError(f"column {column}: it is not an argument")
            self._passed.append(self._inputs.index(var))

        self._results = read_tree(cursor, leaf)


def _is_call(tree: Tree) -> bool:
    """Whether a tree is (args, kwargs)."""
    return (
        isinstance(tree, Branch)
        and tree.kind is tuple
        and [getattr(item, "kind", None) for item in tree.items] == [tuple, dict]
        and all(isinstance(key, str) for key in tree.items[1].keys)
    )
