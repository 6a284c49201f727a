"""What an equation costs: operations, bytes, and the least time that they take on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

from lumus.core import kernels
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32
from lumus.core.frozen import frozen
from lumus.core.mode import eagerly
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.nodes import Call, postorder
from lumus.core.spec import Spec
from lumus.ops.create.full import ones
from lumus.trace.program import Equation

PRODUCT = 512
"""Rows and columns of the matrices whose product is timed."""

ELEMENTS = 1 << 22
"""Of the arrays whose sum is timed."""

TRIES = 5


@frozen
class Rates:
    """What the machine does in a second: operations of large products, bytes of large sums."""

    operations: float
    nbytes: float


@cache
def machine_rates() -> Rates:
    """Measured once for the process, in some tens of milliseconds, with the threads set then."""
    with eagerly():
        matrix = ones((PRODUCT, PRODUCT), dtype=float32)
        line = ones((ELEMENTS,), dtype=float32)
        product = _fastest(lambda: apply("matmul", matrix, matrix))
        total = _fastest(lambda: apply("add", line, line))
    return Rates(2 * PRODUCT**3 / product, 3 * 4 * ELEMENTS / total)


def _fastest(run: Callable[[], Any]) -> float:
    times: list[float] = []
    for _ in range(TRIES):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


@frozen
class Cost:
    """Floating-point operations (a product and its sum count two), and bytes read and written."""

    operations: int
    nbytes: int
    multiplies: bool

    def bound_s(self, rates: Rates) -> float:
        """Seconds that it takes at least: those of its products, or of what it moves."""
        products = self.operations / rates.operations if self.multiplies else 0.0
        return max(products, self.nbytes / rates.nbytes)


def cost_of(equation: Equation) -> Cost:
    """The cost of an equation. Each operand is read, or written, once."""
    inputs = [var.spec for var in equation.inputs]
    outputs = [var.spec for var in equation.outputs]
    nbytes = sum(spec.nbytes for spec in (*inputs, *outputs))
    products = _products(equation.kernel, inputs, outputs[0])
    if products is not None:
        finish = _finish(equation.kernel, outputs[0])
        return Cost(2 * products + finish, nbytes, True)
    return Cost(_elementwise(equation, inputs, outputs), nbytes, False)


def _products(kernel: kernels.Kernel, inputs: list[Spec], output: Spec) -> int | None:
    """How many numbers are multiplied and added up; None for what is no product."""
    match kernel:
        case kernels.MatMul() | kernels.WithEpilogue():
            return output.size * inputs[0].shape[-1]
        case kernels.Convolution():
            return output.size * _window(inputs[1])
        case kernels.ConvolutionTranspose():
            return inputs[0].size * _window(inputs[1])
        case kernels.ConvolutionWeight():
            return inputs[1].size * _window(output)
        case kernels.Attention(is_causal=is_causal):
            return _attention(inputs[0], inputs[1], 2, is_causal)
        case kernels.AttentionGrad(is_causal=is_causal):
            return _attention(inputs[1], inputs[2], 5, is_causal)
        case _:
            return None


def _window(weight: Spec) -> int:
    return weight.size // max(weight.shape[0], 1)


def _attention(query: Spec, key: Spec, products: int, is_causal: bool) -> int:
    count = products * query.size * key.shape[-2]
    return count // 2 if is_causal else count


def _finish(kernel: kernels.Kernel, output: Spec) -> int:
    """The operations of an epilogue, if there is one."""
    return _calls(kernel.epilogue) * output.size if isinstance(kernel, kernels.WithEpilogue) else 0


def _calls(expression: Expression) -> int:
    return sum(isinstance(node, Call) for node in postorder(expression.outputs))


def _elementwise(equation: Equation, inputs: list[Spec], outputs: list[Spec]) -> int:
    match equation.kernel:
        case kernels.Elementwise(expression):
            return _calls(expression) * outputs[0].size
        case kernels.Copy() | kernels.Reshape() | kernels.Cast():
            return 0
        case _:
            return max(spec.size for spec in (*inputs, *outputs))
