"""Random programs give the same bits before and after every pass, and after all of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumus as lm
from lumus.compile.passes import epilogue as epilogue_module
from lumus.compile.passes import recompute as recompute_module
from lumus.compile.passes.cse import cse
from lumus.compile.passes.dce import dce
from lumus.compile.passes.epilogue import epilogue
from lumus.compile.passes.fold import fold
from lumus.compile.passes.fuse import fuse
from lumus.compile.passes.layout import layout
from lumus.compile.passes.lifetimes import Lifetimes
from lumus.compile.passes.order import order
from lumus.compile.passes.recompute import recompute
from lumus.compile.passes.simplify import simplify
from lumus.compile.passes.verify import verified
from lumus.compile.pipeline import optimised
from lumus.core.construct import new_tensor
from lumus.core.dtypes import ALL
from lumus.core.scalar import functions as scalar
from lumus.core.spec import spec_of
from lumus.errors import LumusError
from lumus.trace.program import Pass, Program, Var
from tests.compile.build import CPU, Build, arrays
from tests.compile.interpret import same_results

SHAPES = [(), (1,), (3,), (1, 3), (3, 3), (4, 3), (3, 4), (2, 4, 3), (2, 0)]
STEPS = ["unary", "binary", "binary", "reduce", "view", "view", "cast", "map", "turned"]
DTYPES = [lm.float32, lm.float32, lm.float64, lm.float16, lm.int32, lm.uint8]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 0.1, float("inf"), float("nan")]

UNARY = ["negative", "abs", "square", "relu", "tanh", "exp", "copy"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "less", "equal", "pow", "matmul"]
REDUCTIONS = ["sum", "mean", "max", "prod"]


class Drawn:
    """A program in the making, of what Hypothesis draws."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.build = Build()
        self.values: list[Var] = []

    def one_of(self, options: Any) -> Any:
        return self.data.draw(st.sampled_from(options))

    def value(self) -> Var:
        return self.one_of(self.values)

    def axes(self, rank: int) -> tuple[int, ...]:
        return tuple(sorted(self.data.draw(st.sets(st.integers(0, rank - 1)))) if rank else ())

    def given(self) -> Var:
        kind = self.one_of(["input", "capture", "constant", "number"])
        dtype = self.one_of(DTYPES)
        if kind == "number":
            numbers = NUMBERS if dtype.kind == "float" else [0, 1, 2, 200]
            return self.build.number(self.one_of(numbers), dtype)
        shape = self.one_of(SHAPES)
        if kind == "input":
            return self.build.input("x", *shape, dtype=dtype)
        values = (np.arange(int(np.prod(shape))) % 100).reshape(shape) - 2 * (dtype.kind == "float")
        return self.build.capture("w", values, constant=kind == "constant", dtype=dtype)

    def equation(self) -> Any:
        x, build = self.value(), self.build
        shape = x.spec.shape
        axes: tuple[int, ...] = self.axes(x.spec.ndim)
        match self.one_of(STEPS):
            case "unary":
                return build.op(self.one_of(UNARY), x)
            case "binary":
                return build.op(self.one_of(BINARY), x, self.value())
            case "cast":
                return build.op("astype", x, dtype=self.one_of(DTYPES))
            case "reduce":
                keepdims = self.data.draw(st.booleans())
                return build.op(self.one_of(REDUCTIONS), x, axes=axes, keepdims=keepdims)
            case "map":
                return build.map(
                    lambda a, b, c: scalar.where(a < b, a * c, scalar.exp(b) - 1.5),
                    x,
                    self.value(),
                    self.value(),
                )
            case "turned":
                return self.turned(x)
            case _:
                return self.view(x, shape)

    def turned(self, x: Var) -> Any:
        """A product with a transposed value, or a function of one that is made dense first."""
        rank = x.spec.ndim
        if rank < 2:
            return self.build.op("negative", x)
        axes = (*range(rank - 2), rank - 1, rank - 2)
        y = self.build.op("permute_dims", x, axes=axes)
        if self.data.draw(st.booleans()):
            return self.build.op("matmul", x, y)
        flat = self.build.op("reshape", y, shape=(x.spec.size,))
        return self.build.op(self.one_of(UNARY), flat)

    def view(self, x: Var, shape: tuple[int, ...]) -> Any:
        match self.one_of(["permute", "flat", "column", "broadcast", "slice"]):
            case "permute":
                order = self.data.draw(st.permutations(range(len(shape))))
                return self.build.op("permute_dims", x, axes=tuple(order))
            case "flat":
                return self.build.op("reshape", x, shape=(x.spec.size,))
            case "column":
                at = self.data.draw(st.integers(0, len(shape)))
                return self.build.op("reshape", x, shape=(*shape[:at], 1, *shape[at:]))
            case "broadcast":
                return self.build.op("broadcast_to", x, shape=(2, *shape))
            case _:
                back = [self.data.draw(st.booleans()) and length > 0 for length in shape]
                starts = tuple(
                    length - 1 if b else 0 for b, length in zip(back, shape, strict=True)
                )
                steps = tuple(-1 if b else 1 for b in back)
                return self.build.op("slice", x, starts=starts, sizes=shape, steps=steps)

    def program(self) -> Program:
        for _ in range(self.data.draw(st.integers(1, 4))):
            self.values.append(self.given())
        for _ in range(self.data.draw(st.integers(1, 14))):
            try:
                self.values.append(self.equation())
            except LumusError:  # kinds or shapes that the op does not take
                continue
        made = [var for one in self.build.equations for var in one.outputs] or self.values
        for one in self.build.captures:
            fits = [var for var in made if var.spec is one.var.spec and var is not one.var]
            if fits and not one.constant and self.data.draw(st.booleans()):
                self.build.write(one.var, self.one_of(fits))
        count = self.data.draw(st.integers(1, 3))
        return self.build.program(*[self.one_of(made) for _ in range(count)])


PASSES: dict[str, Pass] = {
    "dce": dce,
    "cse": cse,
    "simplify": simplify,
    "fold": fold,
    "layout": layout,
    "fuse": fuse,
    "epilogue": epilogue,
    "order": order,
    "recompute": recompute,
    "optimised": optimised,
}


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=15)
@given(data=st.data())
def test_a_pass_keeps_every_bit(name: str, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recompute_module, "MIN_BYTES", 1)
        patch.setattr(epilogue_module, "MIN_BYTES", 0)
        check(PASSES[name], data)


@settings(max_examples=50)
@given(data=st.data())
def test_all_passes_together_keep_every_bit(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(sorted(PASSES)), min_size=2, max_size=8))

    def all_of_them(program: Program) -> Program:
        for name in chosen:
            program = verified(PASSES[name])(program)
        return program

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recompute_module, "MIN_BYTES", 1)
        patch.setattr(epilogue_module, "MIN_BYTES", 0)
        check(all_of_them, data)


def turned(array: Any) -> Any:
    """The same elements with the axes the other way round in memory."""
    backwards = tuple(reversed(range(len(array.shape))))
    tensor = new_tensor(array, spec_of(array.shape, ALL[array.dtype], CPU))
    return tensor.permute_dims(backwards).copy().permute_dims(backwards).data


def check(pass_: Callable[[Program], Program], data: st.DataObject) -> None:
    program = Drawn(data).program()
    after = verified(pass_)(program)
    inputs = [turned(array) if data.draw(st.booleans()) else array for array in arrays(program)]
    assert same_results(program, after, inputs), f"{program}\n---\n{after}"
    if pass_ in (order, recompute):
        assert Lifetimes(after).peak <= Lifetimes(program).peak
