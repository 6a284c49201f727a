"""pack: constant weights of products of few rows are stored transposed."""

import numpy as np

from lumus.compile.passes.dce import dce
from lumus.compile.passes.layout import layout
from lumus.compile.passes.pack import pack
from lumus.compile.passes.verify import verified
from lumus.trace.program import Program, Var
from tests.compile.build import Build, arrays, text
from tests.compile.interpret import same_results

WEIGHT = np.arange(12.0, dtype=np.float32).reshape(4, 3) / 7


def packed(program: Program) -> str:
    after = verified(dce)(verified(pack)(program))
    assert same_results(program, after, arrays(program))
    return str(after)


def product(rows: int, *, constant: bool = True) -> tuple[Build, Var, Var]:
    build = Build()
    x = build.input("x", rows, 3)
    w = build.capture("w", WEIGHT, constant=constant)
    return build, w, build.op("matmul", x, build.op("permute_dims", w, axes=(1, 0)))


def flagged(build: Build, *results: Var) -> Program:
    return dce(layout(build.program(*results)))


def test_the_weight_of_one_row_is_turned() -> None:
    build, _, y = product(1)
    program = flagged(build, y)
    assert str(program) == text("""
        f(x: float32[1, 3]):
            w: float32[4, 3] = constant
            a: float32[1, 4] = matmul[transposed](x, w)
            return a
        """)
    assert packed(program) == text("""
        f(x: float32[1, 3]):
            w: float32[3, 4] = constant
            a: float32[1, 4] = matmul(x, w)
            return a
        """)


def test_what_is_left_alone() -> None:
    many, _, y = product(9)
    varying, _, z = product(1, constant=False)
    shared, w, u = product(1)
    v = shared.op("multiply", w, w)
    for program in (flagged(many, y), flagged(varying, z), flagged(shared, u, v)):
        assert packed(program) == str(program)
