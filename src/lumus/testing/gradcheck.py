"""Derivatives checked against differences of the function itself, to any order.

The first order compares, for each input and along random directions d,

    <gradient, d>   with   (phi(x + h d) - phi(x - h d)) / 2h,   phi(x) = <f(x), w>

for a random incoming gradient w (the difference is taken with four points, so that its error is
of the order h**4). The gradient is itself a function, of x and of w: the second order is the
first order of that function, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumus.core.device import Device
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, CheckError
from lumus.ops.create.full import zeros_like
from lumus.ops.create.tensor import tensor

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[..., Any]

MAX_ELEMENTS_REPORTED = 4096


@dataclass(frozen=True, slots=True)
class _Settings:
    num_directions: int
    step: float
    rtol: float
    atol: float
    random: np.random.Generator

    def close(self, analytic: float, numeric: float) -> bool:
        allowed = self.atol + self.rtol * max(abs(analytic), abs(numeric))
        return abs(analytic - numeric) <= allowed  # False for NaN


def gradcheck(
    function: Function,
    inputs: Sequence[Tensor[Any]],
    *,
    order: int = 2,
    num_directions: int = 2,
    seed: int = 0,
    step: float = 1e-4,
    rtol: float = 1e-6,
    atol: float = 1e-7,
) -> None:
    """Checks the derivatives of `function` at `inputs` numerically, up to `order`.

    `function` takes tensors and returns a Float tensor or a sequence of them. Float inputs must
    be float64, and are the ones differentiated; others are passed on. Keep away from kinks: the
    function is evaluated up to ``2 * step`` from each element. The strides of the inputs are
    kept.

    **Raises.** CheckError, which names the order, the input, the direction, the element that is
    furthest off, and both values; ArgumentError for Float inputs that are not float64.

    >>> import lumus as lm
    >>> from lumus.testing import gradcheck
    >>> x = lm.tensor([0.5, 2.0], dtype=lm.float64)
    >>> gradcheck(lambda x: x.log() * x, [x])
    """
    for position, one in enumerate(inputs):
        if one.dtype.kind == "float" and one.dtype.name != "float64":
            raise ArgumentError(
                f"gradcheck: input {position} is {one.dtype.name}; differences need float64",
                hint="create it with dtype=lumus.float64",
            )
    settings = _Settings(num_directions, step, rtol, atol, np.random.default_rng(seed))
    arguments = list(inputs)
    for number in range(1, order + 1):
        cotangents = _check_first(function, arguments, settings, number)
        function = _vjp_of(function, len(arguments))
        arguments = [*arguments, *cotangents]


def _check_first(
    function: Function, inputs: list[Tensor[Any]], settings: _Settings, order: int
) -> list[Tensor[Float]]:
    """Checks the first derivative of `function`; returns the incoming gradients that it used."""
    leaves = [_leaf(one) for one in inputs]
    outputs = _outputs(function(*leaves))
    device = inputs[0].device
    weights = [settings.random.uniform(-1, 1, one.shape) for one in outputs]
    cotangents = [_float64(weight, device) for weight in weights]
    grads = _gradients(outputs, cotangents, leaves, create_graph=False)

    def phi(position: int, values: Array) -> float:
        changed = list(inputs)
        changed[position] = _float64(values, device)
        results = _outputs(function(*changed))
        pairs = zip(results, weights, strict=True)
        return float(sum((_array(result) * weight).sum() for result, weight in pairs))

    for position, (leaf, grad) in enumerate(zip(leaves, grads, strict=True)):
        if grad is None or not leaf.size:
            continue
        slope = _Slope(phi, position, _array(leaf.detach()), settings.step)
        for number in range(settings.num_directions):
            direction = settings.random.uniform(-1, 1, leaf.shape)
            analytic, numeric = float((_array(grad) * direction).sum()), slope(direction)
            if not settings.close(analytic, numeric):
                raise _failure(order, position, number, (analytic, numeric), _array(grad), slope)
    return cotangents


@dataclass(frozen=True, slots=True)
class _Slope:
    """The derivative of phi along a direction of one input, by differences."""

    phi: Callable[[int, Array], float]
    position: int
    values: Array
    step: float

    def __call__(self, direction: Array) -> float:
        near, far = (
            self._at(count * self.step * direction) - self._at(-count * self.step * direction)
            for count in (1, 2)
        )
        return (8 * near - far) / (12 * self.step)

    def _at(self, change: Array) -> float:
        return self.phi(self.position, self.values + change)


def _vjp_of(function: Function, count: int) -> Function:
    """The function of (inputs, incoming gradients) that returns the Float inputs' gradients."""

    def vjp(*arguments: Tensor[Any]) -> list[Tensor[Float]]:
        leaves = [_leaf(one) for one in arguments[:count]]
        outputs = _outputs(function(*leaves))
        grads = _gradients(outputs, arguments[count:], leaves, create_graph=True)
        return [grad for grad in grads if grad is not None]

    return vjp


def _gradients(
    outputs: Sequence[Tensor[Float]],
    cotangents: Sequence[Tensor[Float]],
    inputs: Sequence[Tensor[Any]],
    *,
    create_graph: bool,
) -> list[Tensor[Float] | None]:
    """The gradient of each Float input, zeros where there is none; None for other inputs."""
    on_graph = [
        (output, cotangent)
        for output, cotangent in zip(outputs, cotangents, strict=True)
        if output.requires_grad
    ]
    store: Any = {}
    if len(on_graph) == 1:
        # No op in between: a seed of its own is what the op's vjp gets.
        output, cotangent = on_graph[0]
        store = output.backward(cotangent, create_graph=create_graph)
    elif on_graph:
        total = sum(((output * cotangent).sum() for output, cotangent in on_graph), start=0.0)
        store = total.backward(create_graph=create_graph)  # type: ignore[union-attr]
    return [
        None if one.dtype.kind != "float" else store[one] if one in store else zeros_like(one)
        for one in inputs
    ]


def _outputs(result: Any) -> list[Tensor[Float]]:
    return list(result) if isinstance(result, list | tuple) else [result]


def _leaf(one: Tensor[Any]) -> Tensor[Any]:
    """`one` itself if it is on a graph, else a leaf on the same memory."""
    if one.dtype.kind != "float" or one.requires_grad:
        return one
    return one.detach().requires_grad_()


def _array(one: Tensor[Float]) -> Array:
    array: Array = one.detach().numpy()
    return array


def _float64(values: Array, device: Device) -> Tensor[Float]:
    made: Tensor[Float] = tensor(np.asarray(values, np.float64), device=device)
    return made


def _failure(
    order: int,
    position: int,
    number: int,
    slopes: tuple[float, float],
    grad: Array,
    slope: _Slope,
) -> CheckError:
    """The error, with the element that is furthest off."""
    analytic, numeric = slopes
    shape = f"float64{list(grad.shape)}"
    lines = [
        f"gradcheck: the derivative of order {order} by input {position} ({shape}) is wrong",
        f"  along direction {number}: analytic {analytic:.12g}, numeric {numeric:.12g}",
    ]
    if grad.size <= MAX_ELEMENTS_REPORTED:
        place, element = _worst_element(grad, slope)
        lines.append(
            f"  worst element {list(place)} (input {slope.values[place]:.12g}): "
            f"analytic {grad[place]:.12g}, numeric {element:.12g}"
        )
    if order > 1:
        lines.append(
            "  (that is of the gradients, by the inputs and then by the incoming gradients)"
        )
    return CheckError("\n".join(lines), order=order, input=position)


def _worst_element(grad: Array, slope: _Slope) -> tuple[tuple[int, ...], float]:
    numeric = np.empty(grad.shape)
    for place in np.ndindex(grad.shape):
        direction = np.zeros(grad.shape)
        direction[place] = 1.0
        numeric[place] = slope(direction)
    off = np.nan_to_num(np.abs(grad - numeric), nan=np.inf)
    worst = tuple(int(one) for one in np.unravel_index(int(off.argmax()), grad.shape))
    return worst, float(numeric[worst])
