"""epilogue: what finishes a product, what stays an equation of its own, and that bits are kept."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.compile.passes import epilogue as epilogue_module
from lumus.compile.passes.epilogue import MAX_COST, MAX_INPUTS, MIN_BYTES, epilogue
from lumus.compile.passes.verify import verified
from lumus.core.dtypes import DType
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.product import WithEpilogue
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.nodes import Input
from lumus.trace.program import Program
from tests.compile.build import Build, arrays, text
from tests.compile.interpret import same_results


@pytest.fixture
def of_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epilogue_module, "MIN_BYTES", 0)


def finished(program: Program) -> Program:
    """The program after the pass, which gives the same bits."""
    result = verified(epilogue)(program)
    assert same_results(program, result, arrays(program))
    return result


def is_joined(program: Program) -> bool:
    """Whether the pass finds an epilogue; if not, it returns the very same program."""
    result = finished(program)
    found = any(isinstance(one.kernel, WithEpilogue) for one in result.equations)
    assert found == (result is not program)
    return found


pytestmark = pytest.mark.usefixtures("of_every_size")


# --------------------------------------------------------------------------------- what is joined


def test_an_activation_finishes_the_product() -> None:
    build = Build()
    x, w, b = build.input("x", 3, 4), build.input("w", 5, 4), build.input("b", 5)
    y = build.op("relu", build.op("linear", x, w, b))
    assert str(finished(build.program(y))) == text("""
        f(x: float32[3, 4], w: float32[5, 4], b: float32[5]):
            a: float32[3, 5] =
                _ = linear[transposed, bias](x, w, b)
                where(_ <= 0, 0, _)
            return a
        """)


def test_columns_and_numbers_are_read_besides_the_product() -> None:
    build = Build()
    x, y = build.input("x", 2, 3, 4), build.input("y", 4, 5)
    scale, shift = build.input("scale", 5), build.input("shift", 1, 1)
    product = build.op("matmul", x, y)
    made = build.map(lambda a, p, b: p * a + b * p, scale, product, shift)
    assert str(finished(build.program(made))) == text("""
        f(x: float32[2, 3, 4], y: float32[4, 5], scale: float32[5], shift: float32[1, 1]):
            a: float32[2, 3, 5] =
                _ = matmul(x, y)
                _ * scale + shift * _
            return a
        """)


def test_of_two_products_each_may_be_finished() -> None:
    build = Build()
    x, y = build.input("x", 4, 4), build.input("y", 4, 4)
    first = build.op("square", build.op("matmul", x, y))
    second = build.op("multiply", build.op("matmul", first, y), build.number(0.5))
    assert str(finished(build.program(second))) == text("""
        f(x: float32[4, 4], y: float32[4, 4]):
            a: float32[4, 4] =
                _ = matmul(x, y)
                _ * _
            b: float32[4, 4] =
                _ = matmul(a, y)
                _ * 0.5
            return b
        """)


def test_a_product_may_be_read_twice_by_one_equation() -> None:
    build = Build()
    product = build.op("matmul", build.input("x", 3, 4), build.input("y", 4, 5))
    assert is_joined(build.program(build.op("multiply", product, product)))


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 7), (7, 1), (13, 70), (2, 5, 9)])
def test_every_bit_is_kept(dtype: DType[Any], shape: tuple[int, ...]) -> None:
    build = Build()
    x = build.input("x", *shape[:-1], 6, dtype=dtype)
    y = build.input("y", 6, shape[-1], dtype=dtype)
    z = build.input("z", shape[-1], dtype=dtype)
    product = build.op("matmul", x, y)
    rule = expression(lambda p, z: scalar.where(p <= z, z, p * 3))
    made = build.joined(Elementwise(rule), product, z, outputs=(product.spec,))
    assert is_joined(build.program(made))


def test_expressions_that_are_one_object_stay_one_object() -> None:
    build = Build()
    x, y = build.input("x", 4, 4), build.input("y", 4, 4)
    products = [build.op("matmul", x, y), build.op("matmul", y, x)]
    made = [build.op("relu", one) for one in products]
    first, second = (one.kernel for one in finished(build.program(*made)).equations)
    assert isinstance(first, WithEpilogue)
    assert isinstance(second, WithEpilogue)
    assert first.epilogue is second.epilogue


# -------------------------------------------------------------------------------- what stays alone


def test_a_product_that_something_else_reads_is_kept() -> None:
    build = Build()
    x, y = build.input("x", 4, 4), build.input("y", 4, 4)
    product = build.op("matmul", x, y)
    made = build.op("relu", product)
    assert not is_joined(build.program(made, product))
    assert not is_joined(build.program(made, build.op("sum", product, axes=(0,), keepdims=False)))


def test_other_shapes_and_dtypes_stay_alone() -> None:
    build = Build()
    product = build.op("matmul", build.input("x", 3, 4), build.input("y", 4, 5))
    wide = build.op("add", product, build.input("z", 2, 3, 5))
    assert not is_joined(build.program(wide))
    build = Build()
    product = build.op("matmul", build.input("x", 3, 4), build.input("y", 4, 5))
    assert not is_joined(build.program(build.op("isfinite", product)))
    build = Build()
    product = build.op("matmul", build.input("x", 4), build.input("y", 4))
    assert not is_joined(build.program(build.op("relu", product)))


@pytest.mark.parametrize("dtype", [lm.float16, lm.bfloat16, lm.int32])
def test_dtypes_that_are_computed_slowly_stay_alone(dtype: DType[Any]) -> None:
    build = Build()
    x, y = build.input("x", 3, 4, dtype=dtype), build.input("y", 4, 5, dtype=dtype)
    assert not is_joined(build.program(build.op("square", build.op("matmul", x, y))))


@pytest.mark.parametrize("shape", [(3, 5), (3, 1)])
def test_operands_that_differ_from_row_to_row_stay_alone(shape: tuple[int, ...]) -> None:
    build = Build()
    product = build.op("matmul", build.input("x", 3, 4), build.input("y", 4, 5))
    assert not is_joined(build.program(build.op("add", product, build.input("z", *shape))))


def test_a_product_does_not_wait_for_what_comes_after_it() -> None:
    build = Build()
    x, y = build.input("x", 3, 4), build.input("y", 4, 5)
    product = build.op("matmul", x, y)
    mean = build.op("mean", y, axes=(0,), keepdims=False)
    assert not is_joined(build.program(build.op("subtract", product, mean)))


def test_an_expression_that_takes_longer_than_memory_stays_alone() -> None:
    build = Build()
    product = build.op("matmul", build.input("x", 3, 4), build.input("y", 4, 5))
    assert not is_joined(build.program(build.op("tanh", product)))

    def sums(count: int) -> Program:
        build = Build()
        product = build.op("matmul", build.input("x", 3, 4), build.input("y", 4, 5))

        def repeated(p: Any) -> Any:
            for number in range(count):
                p = p + number / 4
            return p

        return build.program(build.map(repeated, product))

    assert [is_joined(sums(count)) for count in (MAX_COST, MAX_COST + 1)] == [True, False]


@pytest.mark.parametrize(("count", "joins"), [(MAX_INPUTS, True), (MAX_INPUTS + 1, False)])
def test_more_operands_than_the_kernel_takes_stay_alone(count: int, joins: bool) -> None:
    build = Build()
    product = build.op("matmul", build.input("x", 3, 4), build.input("y", 4, 5))
    others = [build.input(f"z{number}", 5) for number in range(count - 1)]
    names = tuple([f"x{place}" for place in range(count)])
    rule = Expression(names, (scalar.maximum(Input(0), Input(count - 1)),))
    made = build.map(rule, product, *others)
    assert is_joined(build.program(made)) == joins


def test_what_is_written_over_an_operand_of_the_product_stays_alone() -> None:
    build = Build()
    x = build.capture("x", np.ones((4, 4), np.float32))
    y = build.input("y", 4, 4)
    made = build.op("relu", build.op("matmul", x, y))
    build.write(x, made)
    assert not is_joined(build.program())
    build = Build()
    target = build.capture("target", np.ones((4, 4), np.float32))
    build.write(target, build.op("relu", build.op("matmul", y, build.input("x", 4, 4))))
    build.inputs.insert(0, y)
    assert is_joined(build.program())


def test_small_products_stay_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epilogue_module, "MIN_BYTES", MIN_BYTES)
    rows = MIN_BYTES // 4 // 1024

    def program(rows: int) -> Program:
        build = Build()
        product = build.op("matmul", build.input("x", rows, 1), build.input("y", 1, 1024))
        return build.program(build.op("relu", product))

    assert [is_joined(program(count)) for count in (rows - 1, rows)] == [False, True]


# ------------------------------------------------------------------------------------- compiled


def test_compiled_functions_have_the_bits_of_eager_ones() -> None:
    def function(x: Any, w: Any, b: Any) -> Any:
        return (x @ w).relu() * b, lm.nn.functional.linear(x, w.T, b).clip(-1.0, 2.0)

    x, w, b = (lm.random.normal(shape) for shape in ((65, 30), (30, 70), (70,)))
    compiled = lm.compile(function)
    kernels = [one.kernel for one in compiled.optimised(x, w, b).equations]
    assert sum(isinstance(one, WithEpilogue) for one in kernels) == 2
    for found, wanted in zip(compiled(x, w, b), function(x, w, b), strict=True):
        assert found.numpy().tobytes() == wanted.numpy().tobytes()
    assert "linear -> float32[65, 70] then " in compiled.explain(x, w, b)


def test_compiled_functions_write_the_result_where_it_is_wanted() -> None:
    target = lm.zeros((6, 5))

    @lm.compile
    def step(x: Any, y: Any) -> None:
        target.copy_((x @ y).relu())

    x, y = lm.random.normal((6, 4)), lm.random.normal((4, 5))
    step(x, y)
    assert target.numpy().tobytes() == (x @ y).relu().numpy().tobytes()


def test_the_reference_device_has_epilogues() -> None:
    x = lm.random.normal((6, 4)).to_device("reference")
    compiled = lm.compile(lambda x: (x @ x.T).relu())
    assert any(isinstance(one.kernel, WithEpilogue) for one in compiled.optimised(x).equations)
    np.testing.assert_array_equal(compiled(x).numpy(), (x @ x.T).relu().numpy())
