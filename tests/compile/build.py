"""Programs built by hand: what the tracer would write down for a few ops."""

from typing import Any

import numpy as np

import lumus as lm
from lumus.core.device import device_named
from lumus.core.dtypes import DType, float32
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.op import OPS
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.spec import Spec, spec_of
from lumus.trace.program import Capture, Equation, HostInput, Program, Var, Write

CPU = device_named("cpu")


def f32(*shape: int) -> Spec:
    return spec_of(shape, float32, CPU)


class Given:
    """Numbers that are the same at each call."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers
        self.commits = 0

    def values(self) -> tuple[float, ...]:
        return self.numbers

    def commit(self) -> None:
        self.commits += 1


class Build:
    """A program in the making. Every method returns the value that it adds."""

    def __init__(self, name: str = "f") -> None:
        self.name = name
        self.inputs: list[Var] = []
        self.captures: list[Capture] = []
        self.hosts: list[HostInput] = []
        self.equations: list[Equation] = []
        self.writes: list[Write] = []

    def input(self, label: str, *shape: int, dtype: DType[Any] = float32) -> Var:
        self.inputs.append(Var(spec_of(shape, dtype, CPU), label))
        return self.inputs[-1]

    def capture(self, label: str, values: Any, *, constant: bool = False, dtype: Any = None) -> Var:
        tensor = lm.tensor(values, dtype=dtype)
        var = Var(tensor.spec, label)
        self.captures.append(Capture(var, tensor.data, constant))
        return var

    def number(self, value: Any, dtype: DType[Any] = float32) -> Var:
        return self.capture("", value, constant=True, dtype=dtype)

    def host(self, label: str, *numbers: float, dtype: DType[Any] = float32) -> Var:
        var = Var(spec_of((len(numbers),), dtype, CPU), label)
        self.hosts.append(HostInput(var, Given(*numbers)))
        return var

    def op(self, name: str, *inputs: Var, label: str = "", **attrs: Any) -> Any:
        """An equation of an op; its output, or a tuple of them."""
        op = OPS[name]
        specs = tuple(var.spec for var in inputs)
        values = op.attrs(**attrs) if op.attrs else None
        given = op.infer(specs, values)
        outputs = (given,) if isinstance(given, Spec) else given
        return self.add(name, op.kernel(specs, values), inputs, outputs, values, label)

    def joined(self, kernel: Kernel, *inputs: Var, outputs: tuple[Spec, ...], op: str = "") -> Any:
        """An equation as a pass makes it of several ops."""
        return self.add(op or "joined", kernel, inputs, outputs, None)

    def map(self, function: Any, *inputs: Var) -> Var:
        """An elementwise op with this expression."""
        made = function if isinstance(function, Expression) else expression(function)
        return self.op("map", *inputs, expression=made)

    def update(self, op: str, rule: Any, targets: tuple[Var, ...], *inputs: Var) -> Any:
        """An optimiser's update: its results are written to the targets."""
        outputs = tuple(target.spec for target in targets)
        made = self.add(op, Elementwise(expression(rule)), inputs, outputs, None)
        for target, var in zip(targets, made if isinstance(made, tuple) else (made,), strict=True):
            self.write(target, var, op)
        return made

    def add(
        self,
        op: str,
        kernel: Kernel,
        inputs: tuple[Var, ...],
        outputs: tuple[Spec, ...],
        attrs: Any,
        label: str = "",
    ) -> Any:
        made = tuple(Var(spec, label) for spec in outputs)
        self.equations.append(Equation(op, attrs, kernel, inputs, made))
        return made if len(made) > 1 else made[0]

    def write(self, target: Var, value: Var, op: str = "copy_") -> None:
        self.writes.append(Write(target, value, op, None))

    def program(self, *outputs: Var) -> Program:
        return Program(
            self.name, self.inputs, self.captures, self.hosts, self.equations, outputs, self.writes
        )


def text(block: str) -> str:
    """The text of a golden program, written indented in a test."""
    lines = block.strip("\n").split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[margin:] for line in lines).rstrip()


def chain(length: int) -> Program:
    """A long program: sums of a value with itself, a matrix product now and then."""
    build = Build("chain")
    x = build.input("x", 4, 4)
    for number in range(length):
        x = build.op("matmul", x, x) if number % 7 == 0 else build.op("add", x, x)
    return build.program(x)


def arrays(program: Program, seed: int = 0) -> list[Any]:
    """Inputs for a program: normal numbers, with zeros of both signs among them, or small ints."""
    rng = np.random.default_rng(seed)
    made = []
    for var in program.inputs:
        shape, dtype = var.spec.shape, var.spec.dtype
        if dtype.kind == "float":
            values = rng.normal(size=shape)
            values = np.where(rng.random(shape) < 0.1, -0.0, values)
            made.append(lm.tensor(values, dtype=lm.float64).astype(dtype).data)
        else:
            high = 2 if dtype.kind == "bool" else 7
            made.append(lm.tensor(rng.integers(0, high, shape)).astype(dtype).data)
    return made
