"""Derivatives of functions: `grad` and `value_and_grad`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from lumus.autograd.backward import Sweep, seed_of
from lumus.autograd.modes import enable_grad
from lumus.core.broadcast import integer, listed
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.kinds import A_TENSOR, Float
from lumus.core.mode import MODE
from lumus.core.record import Leaf
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, GradientError, KindError
from lumus.ops.broadcasting import zeros

Argnums = int | Sequence[int]


def value_and_grad(
    function: Callable[..., Tensor[Float]], argnums: Argnums = 0
) -> Callable[..., tuple[Tensor[Float], Any]]:
    """A function that returns ``(function(*args), gradient)``, by the positional arguments
    `argnums`.

    The gradient is one tensor for an int, a tuple for a sequence. An argument on which the result
    does not depend has a gradient of zeros. If the result depends on tensors that require grad, be
    they arguments or used inside (a model's parameters), value and gradient stay on their graph and
    can be differentiated again, so `grad` nests; under `no_grad` they do not.

    **Shapes.** The function must return a tensor with one element; gradients have the arguments'
    shapes.
    **Kinds.** The arguments are Float.
    **Raises.** GradientError for a result that is not one Float element, KindError for arguments
    that are not Float tensors, ArgumentError for a position out of range.

    >>> import lumus as lm
    >>> value, slope = lm.value_and_grad(lambda x: x**3.0)(lm.tensor(2.0))
    >>> value.item(), slope.item()
    (8.0, 12.0)
    """
    if not callable(function):
        raise ArgumentError(f"grad: expected a function, got {type(function).__name__}")
    several = isinstance(argnums, Iterable)
    positions = tuple([integer("grad", "argnums", one) for one in listed(argnums)])
    if not positions:
        raise ArgumentError("grad: argnums names no argument")

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> tuple[Tensor[Float], Any]:
        chosen = [_argument(args, position) for position in positions]
        if len({position % len(args) for position in positions}) < len(positions):
            raise ArgumentError(f"grad: argnums {positions} names an argument twice")
        records = MODE.get().records
        # Each argument enters through a node of its own, where this derivative ends; an outer one
        # goes on from there.
        token = MODE.set(MODE.get().deriving())
        try:
            inputs = [_entrance(arg, nested=records) for arg in chosen]
            values = list(args)
            for position, value in zip(positions, inputs, strict=True):
                values[position] = value
            result = function(*values, **kwargs)
        finally:
            MODE.reset(token)
        _check_result(result)
        nested = records and _leads_elsewhere(result, inputs)
        grads = _gradients(result, inputs, nested=nested)
        if not nested:
            result = result.detach()
            result.origin = None
        return result, tuple(grads) if several else grads[0]

    return run


def grad(function: Callable[..., Tensor[Float]], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the gradient of `function`; see `value_and_grad`.

    >>> import lumus as lm
    >>> lm.grad(lm.grad(lambda x: x**3.0))(lm.tensor(2.0)).item()
    12.0
    """
    both = value_and_grad(function, argnums)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return run


def _argument(args: tuple[Any, ...], position: int) -> Tensor[Float]:
    if not -len(args) <= position < len(args):
        raise ArgumentError(
            f"grad: there is no positional argument {position}; the call gave {len(args)}"
        )
    arg = args[position]
    if not isinstance(arg, Tensor):
        raise KindError(
            f"grad: argument {position} is {type(arg).__name__}, not a Float tensor",
            hint="make it one with lumus.tensor(...)",
        )
    if arg.dtype.kind != "float":
        raise KindError(
            f"grad: argument {position} is {A_TENSOR[arg.dtype.kind]} ({arg.dtype.name}), which "
            "has no gradient",
            hint="convert it with .astype(lumus.float32)",
        )
    return cast("Tensor[Float]", arg)


def _entrance(arg: Tensor[Float], *, nested: bool) -> Tensor[Float]:
    if nested and arg.requires_grad:
        return apply("copy", arg)
    fresh = arg.detach()
    fresh.origin = None
    return fresh.requires_grad_()


def _check_result(result: Any) -> None:
    if not isinstance(result, Tensor) or result.dtype.kind != "float" or result.size != 1:
        what = repr(result.spec) if isinstance(result, Tensor) else type(result).__name__
        raise GradientError(
            f"grad: the function must return a Float tensor of one element, it returned {what}",
            hint="end it with .sum() or .mean()" if isinstance(result, Tensor) else None,
        )


def _leads_elsewhere(result: Tensor[Float], inputs: Sequence[Tensor[Float]]) -> bool:
    """Whether the result depends on a leaf that is not one of the inputs' own."""
    if result.node is None:
        return False
    own = {one.node for one in inputs if isinstance(one.node, Leaf)}
    pending, seen = [result.node], {result.node}
    for node in pending:
        if isinstance(node, Leaf) and node not in own:
            return True
        for source, _ in node.edges:
            if source not in seen:
                seen.add(source)
                pending.append(source)
    return False


def _gradients(
    result: Tensor[Float], inputs: Sequence[Tensor[Float]], *, nested: bool
) -> list[Tensor[Float]]:
    edges = [tensor.origin for tensor in inputs if isinstance(tensor.origin, tuple)]
    if not isinstance(result.origin, tuple):
        return [zeros(tensor.spec).copy() for tensor in inputs]
    seed = seed_of(result, None)
    root, output = result.origin
    nodes = [node for node, _ in edges]
    sweep = Sweep(root, create_graph=nested, retain_graph=False, targets=nodes)
    mode = MODE.get()
    token = MODE.set(mode.with_(records=nested, notes_cuts=False))
    try:
        sweep.run(output, seed)
        grads = []
        for tensor, edge in zip(inputs, edges, strict=True):
            found = sweep.gradient_at(*edge)
            grads.append(zeros(tensor.spec).copy() if found is None else found.copy())
        return grads
    finally:
        MODE.reset(token)


@composite("replay")
def replay(
    function: Callable[..., Sequence[Tensor[Float]]],
    inputs: Sequence[Tensor[Any]],
    grads: Sequence[Tensor[Float] | None],
) -> list[Tensor[Float] | None]:
    """The gradients of `inputs`, given those of the results, by running `function` again.

    For the vjp of a record whose own backward is a kernel without a derivative: while gradients are
    recorded it computes the same from plain ops, which can be differentiated again.
    """
    with enable_grad():
        entered = [apply("copy", one) if one.requires_grad else one for one in inputs]
        parts = [
            (one * grad).sum()
            for one, grad in zip(function(*entered), grads, strict=True)
            if grad is not None
        ]
        total = functools.reduce(lambda x, y: x + y, parts)
    wanted = [one for one in entered if one.requires_grad]
    found = iter(_gradients(total, wanted, nested=True))
    return [next(found) if one.requires_grad else None for one in entered]
