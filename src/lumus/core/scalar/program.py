"""Compiles an expression for given dtypes to the register program that native code runs.

Registers are in the order of their definition: inputs, constants, instructions. Half-precision
values live only in inputs, outputs and casts; what computes on them computes in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from lumus.core.dtypes import DType, bool_, float32, float64, is_half, promote
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.functions import FUNCTIONS
from lumus.core.scalar.nodes import Call, Constant, Input, Scalar, postorder
from lumus.core.scalar.simplifier import Simplifier

AnyDType: TypeAlias = DType[Any]
Number: TypeAlias = float | int | bool


class ScalarProgram(NamedTuple):
    """The arguments of a native program: ``_native.Program(*compile_program(...))``.

    An instruction is (opcode, dtype, registers of its arguments); the dtype is that of the
    operands, for a cast its target, for a select that of the two branches.
    """

    inputs: list[int]
    constants: list[tuple[int, Number]]
    instructions: list[tuple[str, int, tuple[int, ...]]]
    outputs: list[int]


def compile_program(
    expression: Expression, input_dtypes: Sequence[AnyDType], output_dtypes: Sequence[AnyDType]
) -> ScalarProgram:
    """The program of `expression`; common parts are computed once, unused ones not at all.

    All float inputs compute in one dtype, float32 at least; all int inputs in the one that they
    promote to. Numbers take the dtype of what they meet.
    """
    if len(input_dtypes) != expression.num_inputs or len(output_dtypes) != len(expression.outputs):
        raise TypeError(
            f"{expression!r} has {expression.num_inputs} inputs and {len(expression.outputs)} "
            f"outputs, not {len(input_dtypes)} and {len(output_dtypes)}"
        )
    simplify = Simplifier(powers_as_products=True)
    outputs = [simplify(output) for output in expression.outputs]
    order = postorder(outputs)
    types = Types(order, input_dtypes)
    types.demand(outputs, output_dtypes)
    emitter = _Emitter(types, input_dtypes)
    for node in order:
        emitter.emit(node)
    return emitter.program(outputs, output_dtypes)


class Types:
    """The dtype of each node.

    A number, and what is computed of numbers alone, has none of its own: it is computed in each
    dtype that its uses demand.
    """

    def __init__(self, order: Sequence[Scalar], input_dtypes: Sequence[AnyDType]) -> None:
        self.order = order
        self.compute = _compute_dtypes(input_dtypes)
        self.results: dict[Scalar, AnyDType | None] = {}
        self.operands: dict[Scalar, AnyDType | None] = {}
        self.demands: dict[Scalar, list[AnyDType]] = {}
        for node in order:
            match node:
                case Input(index):
                    self.results[node] = self.compute[input_dtypes[index].kind]
                case Constant(value):
                    self.results[node] = bool_ if isinstance(value, bool) else None
                case Call():
                    self._infer(node)
                case _:
                    raise TypeError(f"not a node of a scalar expression: {node!r}")

    def _infer(self, node: Call) -> None:
        if node.dtype is not None:
            operand = self.results[node.args[0]]
            self.results[node], self.operands[node] = node.dtype, operand or float64
            return
        function = FUNCTIONS[node.function]
        dtype = self._joined(node)
        if function.is_bool:
            # Of numbers alone: what cannot be folded is compared in double precision.
            dtype = dtype or (bool_ if function.operands == "bool" else float64)
        _check_kind(node, function.operands, dtype)
        self.operands[node] = dtype
        self.results[node] = bool_ if function.is_bool else dtype

    def _joined(self, node: Call) -> AnyDType | None:
        args = node.args
        if node.function == "select":
            if self.results[args[0]] is not bool_:
                raise TypeError("where: the condition is not Bool")
            args = args[1:]
        dtype: AnyDType | None = None
        for arg in args:
            result = self.results[arg]
            if result is not None:
                result = float32 if is_half(result) else result
                dtype = promote(dtype, result, node.function) if dtype else result
        return dtype

    def demand(self, outputs: Sequence[Scalar], output_dtypes: Sequence[AnyDType]) -> None:
        """Tells every node without a dtype of its own in which dtypes it is wanted."""
        for output, dtype in zip(outputs, output_dtypes, strict=True):
            self._want(output, float32 if is_half(dtype) else dtype)
        for node in reversed(self.order):
            if isinstance(node, Call):
                for dtype in self.dtypes_of_operands(node):
                    for arg in node.args[1:] if node.function == "select" else node.args:
                        self._want(arg, dtype)

    def dtypes_of_operands(self, node: Call) -> list[AnyDType]:
        """The dtypes in which a call is computed: one, unless it is of numbers alone."""
        dtype = self.operands[node]
        return [dtype] if dtype else self.demands.get(node, [])

    def _want(self, node: Scalar, dtype: AnyDType) -> None:
        if self.results[node] is None:
            wanted = self.demands.setdefault(node, [])
            if dtype not in wanted:
                wanted.append(dtype)


def _compute_dtypes(input_dtypes: Sequence[AnyDType]) -> dict[str, AnyDType]:
    compute: dict[str, AnyDType] = {}
    for dtype in input_dtypes:
        wide = float32 if is_half(dtype) else dtype
        known = compute.get(dtype.kind)
        compute[dtype.kind] = promote(known, wide, "scalar expression") if known else wide
    return compute


def _check_kind(node: Call, operands: str, dtype: AnyDType | None) -> None:
    if dtype is None or operands == "any":
        return
    fits = dtype.kind != "bool" if operands == "number" else dtype.kind == operands
    if not fits:
        raise TypeError(f"{node.function} of {dtype.name}: it takes {operands} operands")


# Registers while constants are still being found: (space, number in it).
_INPUT, _CONSTANT, _INSTRUCTION = range(3)
_Register: TypeAlias = tuple[int, int]
# On ints these keep every value (the result is the operand) or are the same for every value.
_KEEPS_INT = {"floor", "ceil", "round", "trunc"}
_SAME_FOR_INT = {"isnan": "not_equal", "isinf": "not_equal", "isfinite": "equal"}
# Not maximum and minimum: of two zeros they may give the first one.
_COMMUTES = {
    "add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor",
}  # fmt: skip


class _Emitter:
    def __init__(self, types: Types, input_dtypes: Sequence[AnyDType]) -> None:
        self.types = types
        self.input_dtypes = input_dtypes
        self.constants: dict[tuple[int, str], tuple[_Register, Number]] = {}
        self.instructions: dict[tuple[str, int, tuple[_Register, ...]], _Register] = {}
        # What a node's value is held in, and as which dtype. A half-precision input or cast is held
        # as stored; reading it as float32 adds a cast, once.
        self.held: dict[Scalar, tuple[_Register, AnyDType]] = {}
        self.in_dtype: dict[tuple[Scalar, AnyDType], _Register] = {}

    def emit(self, node: Scalar) -> None:
        if isinstance(node, Input):
            self.held[node] = ((_INPUT, node.index), self.input_dtypes[node.index])
        elif isinstance(node, Constant):
            for dtype in [bool_] if self.types.results[node] else self.types.demands.get(node, []):
                self.in_dtype[node, dtype] = self._constant(node.value, dtype)
        elif isinstance(node, Call):
            for dtype in self.types.dtypes_of_operands(node):
                register = self._call(node, dtype)
                result = self.types.results[node]
                if result is None:
                    self.in_dtype[node, dtype] = register
                else:
                    self.held[node] = (register, result)

    def _call(self, node: Call, dtype: AnyDType) -> _Register:
        if node.dtype is not None:
            register, held = self._as_held(node.args[0], dtype)
            return self._cast(register, held, node.dtype)
        first = [self._read(node.args[0], bool_)] if node.function == "select" else []
        registers = (*first, *[self._read(arg, dtype) for arg in node.args[len(first) :]])
        function = node.function
        if dtype.kind == "int":
            if function in _KEEPS_INT:
                return registers[0]
            if function in _SAME_FOR_INT:
                function, registers = _SAME_FOR_INT[function], registers * 2
        return self._instruction(function, dtype, registers)

    def _as_held(self, node: Scalar, dtype: AnyDType) -> tuple[_Register, AnyDType]:
        return self.held[node] if node in self.held else (self._read(node, dtype), dtype)

    def _read(self, node: Scalar, dtype: AnyDType) -> _Register:
        """The register that holds `node` as `dtype`."""
        key = (node, dtype)
        if key not in self.in_dtype:
            self.in_dtype[key] = self._cast(*self.held[node], dtype)
        return self.in_dtype[key]

    def _cast(self, register: _Register, source: AnyDType, target: AnyDType) -> _Register:
        return register if source is target else self._instruction("cast", target, (register,))

    def _instruction(
        self, opcode: str, dtype: AnyDType, registers: tuple[_Register, ...]
    ) -> _Register:
        if opcode in _COMMUTES:
            registers = tuple(sorted(registers))
        key = (opcode, dtype.code, registers)
        return self.instructions.setdefault(key, (_INSTRUCTION, len(self.instructions)))

    def _constant(self, value: Number, dtype: AnyDType) -> _Register:
        typed = _typed_constant(value, dtype)
        key = (dtype.code, repr(typed))
        fresh = (_CONSTANT, len(self.constants))
        return self.constants.setdefault(key, (fresh, typed))[0]

    def program(
        self, outputs: Sequence[Scalar], output_dtypes: Sequence[AnyDType]
    ) -> ScalarProgram:
        results = [
            self._output(output, dtype)
            for output, dtype in zip(outputs, output_dtypes, strict=True)
        ]
        num_inputs = len(self.input_dtypes)
        starts = (0, num_inputs, num_inputs + len(self.constants))
        return ScalarProgram(
            [dtype.code for dtype in self.input_dtypes],
            [(code, value) for (code, _), (_, value) in self.constants.items()],
            [
                (opcode, code, tuple([starts[space] + i for space, i in registers]))
                for opcode, code, registers in self.instructions
            ],
            [starts[space] + i for space, i in results],
        )

    def _output(self, node: Scalar, dtype: AnyDType) -> _Register:
        register, held = self._as_held(node, float32 if is_half(dtype) else dtype)
        if held.kind != dtype.kind:
            raise TypeError(f"a {held.name} result cannot be stored as {dtype.name}: cast it")
        return self._cast(register, held, dtype)


def _typed_constant(value: Number, dtype: AnyDType) -> Number:
    if dtype.kind == "float":
        return float(value)
    if dtype.kind == "int" and isinstance(value, int):
        return value
    if dtype.kind == "bool" and isinstance(value, bool):
        return value
    raise TypeError(f"the number {value!r} has no value of dtype {dtype.name}")
