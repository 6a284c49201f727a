"""custom_op: a user's own op, from a forward function and a gradient function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from lumus.autograd.custom_call import CustomOp, Infer
from lumus.autograd.custom_gradient import NEEDS, Names
from lumus.core.argument import flag
from lumus.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")


def _names(
    op: str,
    forward: Callable[..., Any],
    outputs: Sequence[str],
    intermediates: Sequence[str],
    constants: Sequence[str],
) -> Names:
    """The names of everything, from the forward's parameters and what was declared."""
    inputs: list[str] = []
    statics: list[str] = []
    for one in inspect.signature(forward).parameters.values():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            raise ArgumentError(f"{op}: an op has a fixed number of arguments, not {one}")
        if one.kind is one.KEYWORD_ONLY:
            statics.append(one.name)
            continue
        if one.default is not one.empty:
            raise ArgumentError(
                f"{op}: {one.name} has a default, but inputs are tensors that are always given",
                hint="put a * in front of static arguments",
            )
        inputs.append(one.name)
    if not inputs:
        raise ArgumentError(f"{op}: its forward takes no tensor")
    declared = [_declared(op, one) for one in (outputs, intermediates, constants)]
    names = Names(tuple(inputs), tuple(statics), *declared)
    if not names.outputs:
        raise ArgumentError(f"{op}: an op has at least one output")
    everything = [*names.tensors, *names.statics, NEEDS]
    for name in everything:
        if everything.count(name) > 1:
            raise ArgumentError(
                f"{op}: {name!r} is the name of two things",
                hint="name its outputs with outputs=(...)" if name == "output" else None,
            )
    return names


def _declared(op: str, names: Sequence[str]) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentError(f"{op}: {name!r} cannot be the name of a value")
    return listed


@overload
def custom_op(forward: Callable[P, R], /) -> CustomOp[P, R]: ...
@overload
def custom_op(
    *,
    name: str | None = None,
    outputs: Sequence[str] = ("output",),
    infer: Infer | None = None,
    differentiable: bool = True,
) -> Callable[[Callable[P, R]], CustomOp[P, R]]: ...
@overload
def custom_op(
    *,
    name: str | None = None,
    outputs: Sequence[str] = ("output",),
    intermediates: Sequence[str] = (),
    constants: Sequence[str] = (),
    infer: Infer | None = None,
    differentiable: bool = True,
) -> Callable[[Callable[P, Any]], CustomOp[P, Any]]: ...
def custom_op(
    forward: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    outputs: Sequence[str] = ("output",),
    intermediates: Sequence[str] = (),
    constants: Sequence[str] = (),
    infer: Infer | None = None,
    differentiable: bool = True,
) -> Any:
    """Makes an op of a function, written with lumus or NumPy, which may have a gradient function.

    Used as a decorator. The positional parameters of `forward` are the inputs, tensors of any kind;
    keyword-only ones are static arguments, plain hashable values. It runs without being recorded,
    on tensors off the graph, and returns tensors or NumPy arrays: `outputs`, in this order, and
    behind them, unseen by the caller, `intermediates` and `constants`, which are there to be saved.

    ``@op.gradient`` decorates the gradient function. Its first parameters are the gradients of the
    outputs, one each (zeros where none arrived; None for an Int or Bool output). The others declare
    by their names what it needs: inputs, outputs, intermediates and constants, which are saved (and
    nothing else is), static arguments, and ``needs``, which says for each input whether its
    gradient is wanted. It returns a gradient for each input, None for one that needs none.

    **Shapes, kinds.** What the forward makes of them. For a compiler the op is one op: its `name`
    (the function's), the specs of its outputs, and a kernel that calls back into Python. Run
    eagerly, the specs are those of the tensors returned. Traced, they are what
    ``infer(*input_specs, **static_arguments)`` declares, else those of a trial run of the forward
    on ones.
    **Gradient.** What the gradient function says, to any order: if it is written with lumus ops,
    saved inputs and outputs are on the graph when it is differentiated again. What is not, refuses:
    a saved intermediate raises when the second derivative reaches it; `numpy`, `detach` and
    `no_grad` raise when the gradient function is run with `create_graph`. `constants` are promised
    not to depend on the inputs (masks, random numbers). `lumus.testing.gradcheck` checks both
    orders.
    **Raises.** GradientError for an input that requires grad when there is no gradient function
    (unless `differentiable` is False), for a forward that uses other tensors that require grad, and
    for a wrong number of gradients; ShapeError, DTypeError or KindError for a gradient that is not
    like its input; ArgumentError for what cannot be declared so.

    >>> import lumus as lm
    >>> @lm.custom_op
    ... def cube(x):
    ...     return x.numpy() ** 3
    >>> @cube.gradient
    ... def _(grad, x):
    ...     return grad * 3.0 * x * x
    >>> lm.grad(lm.grad(cube))(lm.tensor(2.0)).item()
    12.0
    """

    def make(function: Callable[..., Any]) -> CustomOp[..., Any]:
        if not callable(function):
            raise ArgumentError(f"custom_op: expected a function, got {type(function).__name__}")
        own_name = getattr(function, "__name__", "custom_op") if name is None else name
        if not isinstance(own_name, str) or not own_name:
            raise ArgumentError(f"custom_op: the name must be a text, got {own_name!r}")
        names = _names(own_name, function, outputs, intermediates, constants)
        is_differentiable = flag(own_name, "differentiable", differentiable)
        return CustomOp(function, own_name, names, infer, is_differentiable)

    return make if forward is None else make(forward)
