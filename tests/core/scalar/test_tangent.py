"""Derivatives of every scalar function, against differences and at edges."""

import math
from itertools import pairwise

import numpy as np
import pytest

from lumus.core.dtypes import bool_, float32, float64, int64
from lumus.core.scalar import functions as f
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.nodes import postorder
from lumus.core.scalar.tangent import derivative, vjp
from lumus.devices.reference.scalar import evaluate

INF, NAN = math.inf, math.nan


def values(e: Expression, *inputs) -> np.ndarray:
    arrays = [np.asarray(x, bool if isinstance(x, bool) else np.float64) for x in inputs]
    return evaluate(e, arrays, [float64] * len(e.outputs))[0]


def difference(e: Expression, index: int, inputs: list[np.ndarray]) -> np.ndarray:
    """The derivative by central differences with one Richardson step: error of order h**4."""

    def slope(h: float) -> np.ndarray:
        up, down = list(inputs), list(inputs)
        up[index], down[index] = inputs[index] + h, inputs[index] - h
        return (values(e, *up) - values(e, *down)) / (2 * h)

    return (4 * slope(5e-4) - slope(1e-3)) / 3


RANDOM = np.random.default_rng(7)
ANY = RANDOM.normal(size=40) * 2
POSITIVE = RANDOM.uniform(0.2, 4, size=40)
OTHER = RANDOM.uniform(0.3, 3, size=40)
UNIT = RANDOM.uniform(-0.7, 0.7, size=40)
# Away from whole numbers, where rounding jumps.
BETWEEN = RANDOM.integers(-4, 4, size=40) + RANDOM.uniform(0.1, 0.9, size=40)

SMOOTH = {
    "add": (f.add, ANY, OTHER),
    "subtract": (f.subtract, ANY, OTHER),
    "multiply": (f.multiply, ANY, OTHER),
    "divide": (f.divide, ANY, OTHER),
    "floor_divide": (f.floor_divide, BETWEEN, np.full(40, 1.0)),
    "remainder": (f.remainder, BETWEEN, np.full(40, 3.3)),
    "power": (f.power, POSITIVE, ANY),
    "maximum": (f.maximum, ANY, OTHER),
    "minimum": (f.minimum, ANY, OTHER),
    "negative": (f.negative, ANY),
    "absolute": (f.absolute, ANY),
    "sign": (f.sign, ANY),
    "square": (f.square, ANY),
    "reciprocal": (f.reciprocal, POSITIVE),
    "sqrt": (f.sqrt, POSITIVE),
    "rsqrt": (f.rsqrt, POSITIVE),
    "floor": (f.floor, BETWEEN),
    "ceil": (f.ceil, BETWEEN),
    "round": (f.round, BETWEEN / 2 + 0.25),
    "trunc": (f.trunc, BETWEEN),
    "exp": (f.exp, ANY),
    "expm1": (f.expm1, ANY),
    "log": (f.log, POSITIVE),
    "log1p": (f.log1p, POSITIVE),
    "sin": (f.sin, ANY),
    "cos": (f.cos, ANY),
    "tanh": (f.tanh, ANY),
    "sigmoid": (f.sigmoid, ANY),
    "erf": (f.erf, ANY),
    "erfc": (f.erfc, ANY),
    "erfinv": (f.erfinv, UNIT),
    "exp2": (f.exp2, ANY),
    "log2": (f.log2, POSITIVE),
    "log10": (f.log10, POSITIVE),
    "tan": (f.tan, UNIT),
    "asin": (f.asin, UNIT),
    "acos": (f.acos, UNIT),
    "atan": (f.atan, ANY),
    "atan2": (f.atan2, ANY, OTHER),
    "sinh": (f.sinh, ANY),
    "cosh": (f.cosh, ANY),
    "asinh": (f.asinh, ANY),
    "acosh": (f.acosh, 1.2 + POSITIVE),
    "atanh": (f.atanh, UNIT),
    "hypot": (f.hypot, ANY, OTHER),
    "fmod": (f.fmod, BETWEEN, np.full(40, 3.3)),
    "lgamma": (f.lgamma, POSITIVE),
    "digamma": (f.digamma, 0.3 + POSITIVE),
    "zeta": (lambda q: f.zeta(3, q), 0.5 + POSITIVE),
}


def test_every_function_with_a_number_result_is_covered() -> None:
    numeric = {
        name
        for name, function in f.FUNCTIONS.items()
        if not function.is_bool and function.operands != "int"
    }
    assert numeric - {"select", "cast"} == set(SMOOTH)


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_agree_with_differences_to_third_order(name: str) -> None:
    function, *inputs = SMOOTH[name]
    e = expression(function)
    for i in range(e.num_inputs):
        first = derivative(e, i)
        np.testing.assert_allclose(
            values(first, *inputs), difference(e, i, inputs), rtol=2e-6, atol=2e-6
        )
        for j in range(e.num_inputs):
            second = derivative(first, j)
            np.testing.assert_allclose(
                values(second, *inputs), difference(first, j, inputs), rtol=2e-6, atol=2e-6
            )
            third = derivative(second, i)
            np.testing.assert_allclose(
                values(third, *inputs), difference(second, i, inputs), rtol=1e-5, atol=1e-5
            )


COMPOSED = [
    lambda x: 0.5 * x * f.erfc(-x * math.sqrt(0.5)),
    lambda x: x * f.sigmoid(1.5957691216057308 * (x + 0.044715 * x**3)),
    lambda x: f.log1p(f.exp(-abs(x))) + f.maximum(x, 0),
    lambda x: f.where(x > 0.3, f.sqrt(abs(x)), x**4 / 8),
    lambda x: f.rsqrt(1 + f.square(x)) * f.sin(x) ** 3,
    lambda x: f.where(x < 0, f.expm1(x), f.tanh(x) * f.exp(-f.square(x))),
]


@pytest.mark.parametrize("function", COMPOSED)
def test_composed_expressions_agree_with_differences_to_third_order(function) -> None:
    e = expression(function)
    x = ANY[np.abs(ANY) > 0.01]
    x = x[np.abs(x - 0.3) > 0.01]
    for _ in range(3):
        d = derivative(e, 0)
        np.testing.assert_allclose(values(d, x), difference(e, 0, [x]), rtol=1e-5, atol=1e-5)
        e = d


def at(function, index: int, *inputs) -> list[float]:
    d = derivative(expression(function) if isinstance(function, f.Function) else function, index)
    return np.asarray(values(d, *inputs)).tolist()


def test_A3_ties_of_maximum_and_minimum_split_evenly() -> None:
    a, b = [1.0, 4.0, 2.0], [1.0, 2.0, 3.0]
    assert at(f.maximum, 0, a, b) == [0.5, 1, 0]
    assert at(f.maximum, 1, a, b) == [0.5, 0, 1]
    assert at(f.minimum, 0, a, b) == [0.5, 0, 1]
    assert at(f.minimum, 1, a, b) == [0.5, 1, 0]
    assert at(f.maximum, 0, [INF, -INF], [INF, -INF]) == [0.5, 0.5]


def test_A7_gradient_of_a_maximum_with_nan_is_zero_on_both_sides() -> None:
    for function in (f.maximum, f.minimum):
        for index in (0, 1):
            assert at(function, index, [NAN, 0.0, NAN], [0.0, NAN, NAN]) == [0, 0, 0]


def test_A9_slope_of_abs_and_sign_at_zero_is_zero() -> None:
    assert at(f.absolute, 0, [-2.0, 0.0, -0.0, 3.0]) == [-1, 0, 0, 1]
    assert at(f.sign, 0, [-2.0, 0.0, 3.0]) == [0, 0, 0]


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "trunc"])
def test_rounding_is_flat_everywhere(name: str) -> None:
    assert at(getattr(f, name), 0, [-1.0, 0.5, 2.0, INF]) == [0, 0, 0, 0]


EXPONENTS = [0.0, 1.0, 2.0, 0.5, -1.0]


def test_B9_power_by_its_base_at_zero() -> None:
    expected = [0, 1, 0, INF, -INF]
    assert at(f.power, 0, np.zeros(5), EXPONENTS) == expected
    for p, slope in zip(EXPONENTS, expected, strict=True):
        assert at(expression(lambda x, p=p: f.power(x, p)), 0, 0.0) == slope
        assert (
            at(expression(lambda x, p=p: f.power(x, int(p) if p == int(p) else p)), 0, 0.0) == slope
        )


def test_B10_power_by_its_exponent_is_zero_at_base_zero() -> None:
    assert at(f.power, 1, np.zeros(4), [2.0, 0.0, 0.5, 1.0]) == [0, 0, 0, 0]
    assert at(f.power, 1, -np.zeros(2), [2.0, 0.0]) == [0, 0]


def test_power_has_no_nan_where_the_true_gradient_is_finite() -> None:
    assert at(f.power, 1, INF, -1.0) == 0
    assert at(f.power, 0, INF, 0.0) == 0
    assert at(f.power, 0, 5e-324, 0.0) == 0
    assert at(f.power, 0, INF, 0.5) == 0
    # Mixed second derivative at p = 0, x = 2: d/dp (p x**(p-1)) = 1/x.
    by_x = derivative(expression(f.power), 0)
    assert at(by_x, 1, 2.0, 0.0) == 0.5
    by_p = derivative(expression(f.power), 1)
    assert at(by_p, 0, 2.0, 0.0) == 0.5


def test_B11_power_of_a_negative_base_does_not_evaluate_its_logarithm() -> None:
    assert at(f.power, 0, -2.0, 3.0) == 12
    functions = {
        getattr(n, "function", "") for n in postorder(derivative(expression(f.power), 0).outputs)
    }
    assert "log" not in functions


def test_B14_slope_of_sqrt_at_zero_is_infinite() -> None:
    assert at(f.sqrt, 0, [0.0, 4.0]) == [INF, 0.25]


def test_D1_unselected_branch_contributes_exactly_zero() -> None:
    e = expression(lambda x: f.where(x > 0, f.sqrt(x), x))
    np.testing.assert_allclose(at(e, 0, [0.0, -4.0, 9.0]), [1, 1, 1 / 6], rtol=1e-15)
    second = derivative(derivative(e, 0), 0)
    np.testing.assert_allclose(values(second, [0.0, -4.0, 9.0]), [0, 0, -0.25 / 27], rtol=1e-15)
    overflowing = expression(lambda x: f.where(x <= 0, f.exp(x), 1 + x))
    assert at(overflowing, 0, 2000.0) == 1
    after = expression(lambda x: 3 * f.where(x > 0, f.log(x), x))
    assert at(after, 0, [0.0, -4.0]) == [3, 3]


def test_D3_where_with_a_nan_constant() -> None:
    e = expression(lambda m, x: f.where(m, x, math.nan))
    assert at(e, 1, True, 1.0) == 1
    assert at(e, 1, False, 1.0) == 0


def test_vjp_lets_nothing_of_an_infinite_gradient_through_an_unselected_branch() -> None:
    e = vjp(expression(lambda x: f.where(x > 0, x, 0)), 0)
    assert str(e) == "where(x > 0, grad, 0)"
    assert values(e, INF, -1.0) == 0
    assert values(e, INF, 1.0) == INF


def test_vjp_of_several_outputs_adds_their_parts() -> None:
    e = expression(lambda x, y: (x * y, f.exp(x)))
    assert str(vjp(e, 0)) == "grad0 * y + grad1 * exp(x)"
    assert str(vjp(e, 1)) == "grad0 * x"


def test_vjp_names_its_gradient_apart_from_the_inputs() -> None:
    once = vjp(expression(f.exp), 0)
    assert once.parameters == ("grad", "x")
    assert vjp(once, 1).parameters == ("grad_", "grad", "x")


def test_F4_sigmoid_gradient_in_the_tails() -> None:
    x = np.array([-1000, 1000, -88.9], np.float32)
    (y,) = evaluate(derivative(expression(f.sigmoid), 0), [x], [float32])
    np.testing.assert_allclose(y, [0, 0, 2.4616e-39], rtol=1e-4)


def test_multiplication_by_a_zero_of_the_user_keeps_nan() -> None:
    e = expression(lambda x: x * 0 * x)
    assert math.isnan(at(e, 0, INF))


def test_derivative_by_an_unused_or_discrete_input_is_zero() -> None:
    assert str(derivative(expression(lambda x, y: x + 1), 1)) == "0"
    assert str(derivative(expression(lambda x: f.where(x > 0, 1.0, 2.0)), 0)) == "0"
    assert str(derivative(expression(lambda x: f.cast(f.cast(x, int64), float64)), 0)) == "0"
    assert str(derivative(expression(lambda m: f.where(m, 1.0, 2.0)), 0)) == "0"


def test_derivative_of_a_cast_is_cast() -> None:
    e = vjp(expression(lambda x: f.cast(x, float32)), 0)
    assert str(e) == "cast(grad, float32)"


def test_derivative_out_of_range_raises() -> None:
    with pytest.raises(IndexError, match="inputs x, y"):
        derivative(expression(lambda x, y: x + y), 2)


def test_asking_again_gives_the_same_object() -> None:
    e = expression(lambda x, y: x * y)
    assert derivative(e, 0) is derivative(e, 0)
    assert vjp(e, 1) is vjp(e, 1)
    assert vjp(e, 0) is not vjp(e, 1)


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("grad * (1 - tanh(x) * tanh(x))", f.tanh),
        ("grad * exp(x)", f.exp),
        ("grad / x", f.log),
        ("grad * 2", lambda x: x * 2 + 1),
        ("grad * (2 * x)", lambda x: x**2),
        ("grad * (3 * square(x))", lambda x: x**3),
        ("grad * (0.5 * x ** -0.5)", lambda x: x**0.5),
        ("-(grad * sin(x))", f.cos),
        ("-grad", lambda x: 1 - x),
        ("grad * 0.5", lambda x: x / 2),
        ("grad", lambda x: x + 1),
        ("grad * exp(x) * cos(exp(x))", lambda x: f.sin(f.exp(x))),
        ("grad / (1 + x)", f.log1p),
        ("grad * where(x > 0, 1, 2)", lambda x: f.where(x > 0, 1, 2) * x),
    ],
)
def test_gradients_are_simplified(text, function) -> None:
    assert str(vjp(expression(function), 0)) == text


def test_higher_derivatives_of_a_shared_graph_stay_small() -> None:
    e = expression(lambda x: f.tanh(f.sin(f.exp(x) * x) * x))
    sizes = []
    for _ in range(4):
        e = derivative(e, 0)
        sizes.append(len(postorder(e.outputs)))
    assert sizes[1] < 100
    assert all(later < 4 * earlier for earlier, later in pairwise(sizes))


def test_long_chain_differentiates_without_recursion() -> None:
    (x,) = expression(lambda x: x).outputs
    for _ in range(3000):
        x = f.sin(x)
    e = derivative(Expression(("x",), (x,)), 0)
    assert len(postorder(e.outputs)) < 10_000


def test_bool_outputs_have_zero_derivatives() -> None:
    e = expression(lambda x: x > 0)
    assert str(derivative(e, 0)) == "0"
    assert evaluate(e, [np.asarray(1.0)], [bool_])[0]


def test_zeta_has_no_derivative_by_its_exponent() -> None:
    with pytest.raises(TypeError, match="its derivative by s is not known"):
        derivative(expression(f.zeta), 0)


def test_hypot_keeps_its_derivative_where_squares_overflow_or_vanish() -> None:
    x, y = [0.0, 3e300, 3e-320, INF, INF, 1.0], [0.0, 4e300, 4e-320, 1.0, -INF, -INF]
    root = math.sqrt(0.5)
    np.testing.assert_allclose(at(f.hypot, 0, x, y), [0, 0.6, 0.6, 1, root, 0], rtol=1e-3)
    np.testing.assert_allclose(at(f.hypot, 1, x, y), [0, 0.8, 0.8, 0, -root, -1], rtol=1e-3)


def test_atan2_is_flat_at_the_origin_and_at_infinity() -> None:
    y, x = [0.0, -0.0, INF, 1.0, 3e200], [0.0, -0.0, INF, -INF, 4e200]
    assert at(f.atan2, 0, y, x)[:4] == [0, 0, 0, 0]
    assert at(f.atan2, 1, y, x)[:4] == [0, 0, 0, 0]
    assert at(f.atan2, 0, y, x)[4] == pytest.approx(0.16e-200)
