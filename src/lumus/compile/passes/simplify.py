"""simplify: identities that are exact, to the last bit and the sign of a zero.

A value takes the place of another only where it has the same layout: sums over another one may
round otherwise. NaN is one value: which of its bit patterns it is may change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus.compile.passes.reassociate import reassociated
from lumus.compile.passes.views import dense_values, escaping, owned_values
from lumus.core import kernels as k
from lumus.core.broadcast import broadcast_shapes
from lumus.core.dtypes import DType, bool_, promote
from lumus.core.kernels.kernel import Kernel
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.nodes import Call, Input, Scalar
from lumus.core.scalar.simplifier import Simplifier
from lumus.trace.program import Equation, Program, Var


def simplify(program: Program, *, fast_math: bool = False) -> Program:
    """Replaces values by simpler ones, in one sweep.

    Gone are: copies of what has the same layout and is not returned; views that change nothing, and
    views of views; casts to the same dtype, or by way of a dtype that holds every value;
    elementwise equations that give their input; double negations; reductions of axes of length 1;
    broadcasting that an elementwise equation does by itself. With `fast_math` constants that are
    added or multiplied one after the other are joined, which rounds otherwise.
    """
    state = _State(program)
    kept: list[Equation] = []
    for given in program.equations:
        one = state.renamed(given)
        if fast_math:
            one = reassociated(one)
        better = state.simplified(one)
        if isinstance(better, Var):
            state.names[one.outputs[0]] = better
            continue
        kept.append(better)
        state.makers.update((var, better) for var in better.outputs)
    return program.with_equations(kept).renamed(state.names)


class _State:
    """What is known in the middle of the sweep: of what is behind it, its simplified form."""

    def __init__(self, program: Program) -> None:
        self.names: dict[Var, Var] = {}
        self.makers: dict[Var, Equation] = {}
        self.dense = dense_values(program)
        self._simplify = Simplifier()
        self._returned = escaping(program)
        self._owned = owned_values(program)
        self._written = {write.value for write in program.writes}

    def renamed(self, one: Equation) -> Equation:
        """The equation with simplified inputs."""
        if any(var in self.names for var in one.inputs):
            return one.with_inputs(tuple([self.names.get(var, var) for var in one.inputs]))
        return one

    def simplified(self, one: Equation) -> Equation | Var:
        """The value that is the equation's, or a simpler equation, or the equation."""
        rule = _RULES.get(type(one.kernel))
        if rule is None or not one.inputs:
            return one
        return rule(self, one, one.kernel) or one

    def may_stand_for(self, x: Var, one: Equation) -> bool:
        """Whether `x`, equal to the new array that an equation makes, may take its place."""
        return x.spec is one.outputs[0].spec and self.may_be_shared(x, one)

    def may_be_shared(self, x: Var, one: Equation) -> bool:
        """Whether a view of `x` may take the place of the new array that an equation makes.

        Not if the array is returned: the caller may write to it. Nor if it is written to another
        array and `x` is an array from outside, which may itself be written.
        """
        (made,) = one.outputs
        return (
            x in self.dense
            and made not in self._returned
            and (made not in self._written or x in self._owned)
        )

    def maker(self, var: Var, kernel: type[Kernel]) -> Equation | None:
        """The equation that makes a value, if it is of this kernel."""
        made = self.makers.get(var)
        return made if made is not None and isinstance(made.kernel, kernel) else None

    def outputs(self, expression: Expression) -> list[Scalar]:
        """An expression's outputs, simplified."""
        return [self._simplify(output) for output in expression.outputs]


def _derived(one: Equation, kernel: Kernel, *inputs: Var, sites: Any = ()) -> Equation:
    """An equation with the outputs of `one`, made by another kernel; no op's any more."""
    return Equation(one.op, None, kernel, inputs, one.outputs, (*sites, *one.sites))


# ------------------------------------------------------------------------------------------ copies


def _copy(state: _State, one: Equation, kernel: Kernel) -> Var | None:
    (x,) = one.inputs
    return x if state.may_stand_for(x, one) else None


def _cast(state: _State, one: Equation, kernel: k.Cast) -> Var | Equation | None:
    (x,) = one.inputs
    inner = state.maker(x, k.Cast)
    if inner is not None and holds_all(x.spec.dtype, inner.inputs[0].spec.dtype):
        first = inner.inputs[0]
        if first.spec.dtype is not kernel.dtype:
            return one.with_inputs((first,))
        return first if state.may_stand_for(first, one) else None
    return x if state.may_stand_for(x, one) else None


def holds_all(wide: DType[Any], dtype: DType[Any]) -> bool:
    """Whether every number of `dtype` is one of `wide`, a dtype of the same kind or after Bool."""
    if dtype is bool_:
        return True
    return wide.kind == dtype.kind and promote(wide, dtype, "cast") is wide


def _concat(state: _State, one: Equation, kernel: k.Concat) -> Var | None:
    return _copy(state, one, kernel) if len(one.inputs) == 1 else None


def _slice_put(state: _State, one: Equation, kernel: k.SlicePut) -> Var | None:
    x, values = one.inputs
    if _is_whole(kernel.starts, kernel.sizes, kernel.steps, x.spec.shape):
        return values if state.may_stand_for(values, one) else None
    return None


def _unslice(state: _State, one: Equation, kernel: k.Unslice) -> Var | None:
    if _is_whole(kernel.starts, one.inputs[0].spec.shape, kernel.steps, kernel.shape):
        return _copy(state, one, kernel)
    return None


# ------------------------------------------------------------------------------------------- views


def _reshape(state: _State, one: Equation, kernel: k.Reshape) -> Var | Equation | None:
    (x,) = one.inputs
    inner = state.maker(x, k.Reshape)
    # Of what is not dense, the inner one may be a copy, and what is made of it dense.
    if inner is not None and inner.inputs[0] in state.dense:
        x = inner.inputs[0]
    if x.spec.shape == kernel.shape:
        return x
    return None if x is one.inputs[0] else one.with_inputs((x,))


def _permute(state: _State, one: Equation, kernel: k.Permute) -> Var | Equation | None:
    (x,) = one.inputs
    axes = kernel.axes
    inner = state.maker(x, k.Permute)
    if inner is not None:
        first: Any = inner.kernel
        axes = tuple([first.axes[axis] for axis in axes])
        (x,) = inner.inputs
    if axes == tuple(range(len(axes))):
        return x
    return None if inner is None else _derived(one, k.Permute(axes), x, sites=inner.sites)


def _slice(state: _State, one: Equation, kernel: k.Slice) -> Var | Equation | None:
    (x,) = one.inputs
    if _is_whole(kernel.starts, kernel.sizes, kernel.steps, x.spec.shape):
        return x
    inner = state.maker(x, k.Slice)
    if inner is None or 0 in kernel.sizes:
        return None
    first: Any = inner.kernel
    (source,) = inner.inputs
    places = zip(first.starts, first.steps, kernel.starts, strict=True)
    starts = tuple([start + step * place for start, step, place in places])
    steps = tuple([a * b for a, b in zip(first.steps, kernel.steps, strict=True)])
    if _is_whole(starts, kernel.sizes, steps, source.spec.shape):
        return source
    return _derived(one, k.Slice(starts, kernel.sizes, steps), source, sites=inner.sites)


def _is_whole(
    starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]
) -> bool:
    forward = all(step == 1 or size <= 1 for step, size in zip(steps, sizes, strict=True))
    return forward and sizes == shape and not any(starts)


def _broadcast_to(state: _State, one: Equation, kernel: k.BroadcastTo) -> Var | Equation | None:
    (x,) = one.inputs
    inner = state.maker(x, k.BroadcastTo)
    if inner is not None:
        x = inner.inputs[0]
    if x.spec.shape == kernel.shape:
        return x
    return None if inner is None else one.with_inputs((x,))


# ------------------------------------------------------------------------- elementwise, reductions

_UNDONE_BY_ITSELF = {"negative", "logical_not", "bitwise_invert"}


def _elementwise(state: _State, one: Equation, kernel: k.Elementwise) -> Var | Equation | None:
    outputs = state.outputs(kernel.expression)
    if len(outputs) == 1:
        match outputs[0]:
            case Input(index):
                x = one.inputs[index]
                return x if state.may_stand_for(x, one) else None
            case Call(function, (Input(index),)) if function in _UNDONE_BY_ITSELF:
                argument = _argument_of(state, function, one.inputs[index])
                if argument is not None and state.may_stand_for(argument, one):
                    return argument
            case _:
                pass
    return _without_broadcasting(state, one)


def _argument_of(state: _State, function: str, var: Var) -> Var | None:
    """What `var` is that function of, if it is of one value alone."""
    made = state.maker(var, k.Elementwise)
    if made is None:
        return None
    kernel: Any = made.kernel
    match state.outputs(kernel.expression):
        case [Call(name, (Input(index),))] if name == function:
            return made.inputs[index]
        case _:
            return None


def _without_broadcasting(state: _State, one: Equation) -> Equation | None:
    """The equation reading what its operands were before they were repeated, or got new axes."""
    shape = one.outputs[0].spec.shape
    inputs = list(one.inputs)
    for index in range(len(inputs)):
        kept = inputs[index]
        while (inner := state.makers.get(kept)) is not None and _only_broadcasts(inner):
            (inputs[index],) = inner.inputs
            if broadcast_shapes("elementwise", *[x.spec.shape for x in inputs]) != shape:
                break
            kept = inputs[index]
        inputs[index] = kept
    return None if tuple(inputs) == one.inputs else one.with_inputs(tuple(inputs))


def _only_broadcasts(one: Equation) -> bool:
    """Whether a view does to its input what broadcasting does."""
    if isinstance(one.kernel, k.BroadcastTo):
        return True
    if not isinstance(one.kernel, k.Reshape):
        return False
    old, new = one.inputs[0].spec.shape, one.kernel.shape
    added = len(new) - len(old)
    return added > 0 and new == (1,) * added + old


def _reduce(state: _State, one: Equation, kernel: k.Reduce) -> Var | Equation | None:
    if kernel.prologue is not None:
        return None
    x, (made,) = one.inputs[0], one.outputs
    lengths = [x.spec.shape[axis] for axis in kernel.axes]
    if any(length != 1 for length in lengths) or made.spec.dtype is not x.spec.dtype:
        return None
    if x.spec is made.spec:
        return x if state.may_stand_for(x, one) else None
    return _derived(one, k.Reshape(made.spec.shape), x) if state.may_be_shared(x, one) else None


_RULES: dict[type[Kernel], Callable[[_State, Equation, Any], Equation | Var | None]] = {
    k.BroadcastTo: _broadcast_to,
    k.Cast: _cast,
    k.Concat: _concat,
    k.Copy: _copy,
    k.Elementwise: _elementwise,
    k.Permute: _permute,
    k.Reduce: _reduce,
    k.Reshape: _reshape,
    k.Slice: _slice,
    k.SlicePut: _slice_put,
    k.Unslice: _unslice,
}
