"""scan: a loop that carries a state along the first axis of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from lumus.core.argument import flag
from lumus.core.broadcast import integer
from lumus.core.dispatch import apply
from lumus.core.tensor import Tensor
from lumus.core.tree import Tree, put_together, take_apart
from lumus.errors import ArgumentError, DTypeError, ShapeError

State = TypeVar("State")
Inputs = TypeVar("Inputs")
Outputs = TypeVar("Outputs")


def scan(
    function: Callable[[State, Inputs], tuple[State, Outputs]],
    init: State,
    xs: Inputs | None = None,
    *,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[State, Outputs]:
    """Runs ``state, y = function(state, x)`` for each x along the first axis; stacks the y.

    State, inputs and outputs are tensors, or tuples, lists and dicts of them. The state keeps its
    form, shapes and dtypes. With ``reverse=True`` it goes from the last x to the first; outputs
    stand at the place of their x either way. Without `xs` (then x is None) it runs `length` times.

    In a compiled function the loop is unrolled: its program grows with the number of steps.

    **Shapes.** `xs` (T, ...), all of one T; each x is without that axis, outputs are (T, ...).
    **Kinds.** Any.
    **Gradient.** That of the ops in `function`, through all steps.
    **Raises.** ArgumentError without `xs` and `length`, for a function that does not return a pair,
    or for no step at all (there would be no outputs to know the shape of); ShapeError or DTypeError
    when the lengths differ or the state changes its form.

    >>> import lumus as lm
    >>> total, sums = lm.scan(lambda s, x: (s + x, s + x), lm.tensor(0.0), lm.tensor([1.0, 2.0]))
    >>> total.item(), sums.tolist()
    (3.0, [1.0, 3.0])
    """
    tensors: list[Tensor[Any]] = []
    form = take_apart(xs, tensors)
    steps = _length(tensors, length)
    state_form, state = _apart(init)
    made: list[list[Tensor[Any]]] = [[] for _ in range(steps)]
    output_form: Tree = None
    places = range(steps - 1, -1, -1) if flag("scan", "reverse", reverse) else range(steps)
    for place in places:
        given = iter([one[place] for one in tensors])
        init, output = _pair(function(init, put_together(form, given.__next__)))
        new_form, new_state = _apart(init)
        _check_state(state_form, state, new_form, new_state)
        output_form, made[place] = _apart(output)
    stacked = iter([_stacked(list(column)) for column in zip(*made, strict=True)])
    return init, cast("Outputs", put_together(output_form, stacked.__next__))


def _apart(value: Any) -> tuple[Tree, list[Tensor[Any]]]:
    tensors: list[Tensor[Any]] = []
    return take_apart(value, tensors), tensors


def _length(tensors: list[Tensor[Any]], length: int | None) -> int:
    """The number of steps; raises unless all agree on it."""
    steps = None if length is None else integer("scan", "length", length)
    for one in tensors:
        if not one.ndim:
            raise ShapeError("scan: xs are taken along their first axis, one of them has shape ()")
        if steps is None:
            steps = one.shape[0]
        if one.shape[0] != steps:
            raise ShapeError(f"scan: {steps} steps, but one of xs has shape {one.shape}")
    if steps is None:
        raise ArgumentError("scan: needs xs, or the number of steps", hint="give length=")
    if steps < 1:
        raise ArgumentError(f"scan: needs at least one step, got {steps}")
    return steps


def _pair(returned: Any) -> tuple[Any, Any]:
    if not isinstance(returned, tuple) or len(cast("tuple[Any, ...]", returned)) != 2:
        raise ArgumentError(
            f"scan: the function must return (state, output), it returned {type(returned).__name__}"
        )
    return cast("tuple[Any, Any]", returned)


def _check_state(
    form: Tree, state: list[Tensor[Any]], new_form: Tree, new: list[Tensor[Any]]
) -> None:
    if form != new_form:
        raise ArgumentError("scan: the state that the function returns has another form than init")
    for before, after in zip(state, new, strict=True):
        if before.shape != after.shape:
            raise ShapeError(f"scan: the state has shape {before.shape}, then {after.shape}")
        if before.dtype is not after.dtype:
            raise DTypeError(
                f"scan: the state is {before.dtype.name}, then {after.dtype.name}",
                hint=f"convert it with .astype(lumus.{before.dtype.name})",
            )


def _stacked(column: list[Tensor[Any]]) -> Tensor[Any]:
    rows = [one.reshape((1, *one.shape)) for one in column]
    stacked: Tensor[Any] = rows[0] if len(rows) == 1 else apply("concat", *rows, axis=0)
    return stacked
