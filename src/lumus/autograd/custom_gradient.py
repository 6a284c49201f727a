"""The gradient of a custom op as data: what its gradient function is given, and the record of a
call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus.autograd.twice import HINT, RUN_AGAIN, left_graph
from lumus.core.construct import new_tensor
from lumus.core.device import Device
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kinds import A_TENSOR, Float
from lumus.core.mode import MODE
from lumus.core.op import Needs, Specs
from lumus.core.record import Node, Record, Saved, record, saved_output
from lumus.core.site import describe
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    GradientError,
    KindError,
    LumusError,
    ShapeError,
)
from lumus.ops.broadcasting import zeros
from lumus.ops.interop.numpy import from_numpy

NEEDS = "needs"
"""The parameter of a gradient function that says which inputs want a gradient."""

Gradients = tuple[Tensor[Float] | None, ...]


@frozen
class Names:
    """What the values of a custom op are called. The forward returns the last three in a row."""

    inputs: tuple[str, ...]
    statics: tuple[str, ...]
    outputs: tuple[str, ...]
    intermediates: tuple[str, ...]
    constants: tuple[str, ...]

    @property
    def results(self) -> tuple[str, ...]:
        """All that the forward returns."""
        return self.outputs + self.intermediates + self.constants

    @property
    def tensors(self) -> tuple[str, ...]:
        """All that can be saved."""
        return self.inputs + self.results


@frozen
class GradientRule:
    """The gradient function of the custom op `op`, and by name what it wants beside gradients."""

    op: str
    names: Names
    function: Callable[..., Any]
    wanted: tuple[str, ...]

    @property
    def kept(self) -> tuple[str, ...]:
        """The tensors among what it wants, which are saved."""
        return tuple(name for name in self.wanted if name in self.names.tensors)

    def saved(self, inputs: Sequence[Tensor[Any]], results: Sequence[Tensor[Any]]) -> Any:
        """What a record keeps of a call."""
        return tuple(self._saved(name, inputs, results) for name in self.kept)

    def _saved(
        self, name: str, inputs: Sequence[Tensor[Any]], results: Sequence[Tensor[Any]]
    ) -> Saved[Any]:
        if name in self.names.inputs:
            return Saved(inputs[self.names.inputs.index(name)])
        place = self.names.results.index(name)
        saved = saved_output(results[place], place)
        if name in self.names.constants:
            saved.output = None  # off the graph in the second derivative, too
        return saved


def gradient_rule(op: str, names: Names, function: Callable[..., Any]) -> GradientRule:
    """Reads what a gradient function wants from its parameters, and checks them."""
    if not callable(function):
        raise ArgumentError(f"{op}: its gradient must be a function, got {type(function).__name__}")
    parameters = list(inspect.signature(function).parameters.values())
    known = (*names.tensors, *names.statics, NEEDS)
    count = len(names.outputs)
    first, others = parameters[:count], parameters[count:]
    if len(first) < count or any(
        one.name in known or one.kind not in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        for one in first
    ):
        what = "the gradient of its output" if count == 1 else f"the gradients of {names.outputs}"
        raise ArgumentError(
            f"{op}: its gradient function must take {what} first, under a name of its own, but is "
            f"declared with {_listed(parameters)}"
        )
    wanted: list[str] = []
    for one in others:
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name in known:
            wanted.append(one.name)
        elif one.default is one.empty:
            raise ArgumentError(
                f"{op}: its gradient function wants {str(one)!r}, which is not one of "
                f"{', '.join(known)}",
                hint="a parameter behind the gradients declares what is saved, by its name",
            )
    return GradientRule(op, names, function, tuple(wanted))


def _listed(parameters: Sequence[inspect.Parameter]) -> str:
    return f"({', '.join(map(str, parameters))})"


@record
class CustomRecord(Record):
    """The derivative of a custom op: what its gradient function makes of what it declared."""

    rule: GradientRule
    attrs: Any
    needs: Needs
    inputs: Specs
    results: Specs
    values: tuple[Saved[Any], ...]

    def saved(self) -> list[tuple[str, Saved[Any]]]:
        return list(zip(self.rule.kept, self.values, strict=True))

    def bound_to(self, node: Node) -> CustomRecord:
        values = tuple(one if one.output is None else one.on_node(node) for _, one in self.saved())
        return CustomRecord(self.rule, self.attrs, self.needs, self.inputs, self.results, values)

    def vjp(self, *grads: Tensor[Float] | None) -> Gradients:
        count = len(self.rule.names.outputs)
        hidden = zip(self.rule.names.results[count:], grads[count:], strict=True)
        for name, grad in hidden:
            if grad is not None:
                raise _not_twice(self.rule.op, name)
        again = MODE.get().records
        incoming = [
            _incoming(grad, spec, again)
            for grad, spec in zip(grads[:count], self.results[:count], strict=True)
        ]
        # Off the graph where nothing is recorded, so that NumPy can have them.
        given = {
            name: saved.tensor() if again else new_tensor(saved.data, saved.spec)
            for name, saved in self.saved()
        }
        token = RUN_AGAIN.set(self.rule.op if again else None)
        try:
            result = self._run(incoming, given)
        except Exception as error:
            error.add_note(_note(self.rule, error, again))
            raise
        finally:
            RUN_AGAIN.reset(token)
        return self._checked(result, again)

    def _run(self, incoming: list[Tensor[Float] | None], given: dict[str, Tensor[Any]]) -> Any:
        rule = self.rule
        arguments: dict[str, Any] = {NEEDS: self.needs, **given}
        arguments.update((name, getattr(self.attrs, name)) for name in rule.names.statics)
        handed = [("a gradient", one) for one in incoming if one is not None] + [*given.items()]
        versions = [one.data.version for _, one in handed]
        result = rule.function(*incoming, **{name: arguments[name] for name in rule.wanted})
        check_unwritten(f"{rule.op}: its gradient function", handed, versions)
        return result

    def _checked(self, result: Any, again: bool) -> Gradients:
        rule, names = self.rule, self.rule.names.inputs
        several = tuple(result) if isinstance(result, tuple | list) else (result,)
        if len(several) != len(names):
            wanted = "one gradient" if len(names) == 1 else f"{len(names)} gradients"
            raise GradientError(
                f"{rule.op}: its gradient function must return {wanted} (of {', '.join(names)}), "
                f"it returned {_what(result)}",
                op=rule.op,
            )
        saved_ids = {one.data.storage_id for one in self.values}
        checked: list[Tensor[Float] | None] = []
        for name, grad, spec, is_needed in zip(
            names, several, self.inputs, self.needs, strict=True
        ):
            if grad is None and not is_needed:
                checked.append(None)
                continue
            if again and isinstance(grad, np.ndarray | np.generic):
                raise left_graph(rule.op, f"returns a NumPy array as the gradient of {name}")
            found = as_tensor(grad, spec.device)
            _check_gradient(rule.op, name, found, spec)
            if found.data.storage_id in saved_ids:
                found = apply("copy", found)  # a gradient has memory of its own
            kept = found if again else new_tensor(found.data, found.spec)
            checked.append(kept if is_needed else None)
        return tuple(checked)


def _incoming(grad: Tensor[Float] | None, spec: Spec, again: bool) -> Tensor[Float] | None:
    """The gradient of an output: zeros if none has arrived, None if it cannot have one."""
    if grad is None:
        return zeros(spec) if spec.dtype.kind == "float" else None
    return grad if again else new_tensor(grad.data, grad.spec)


def _not_twice(op: str, name: str) -> GradientError:
    return GradientError(
        f"{op} cannot be differentiated twice: its gradient function uses the intermediate "
        f"{name!r}, which cannot be followed back to the inputs",
        hint=f"save an input instead and compute {name} from it in the gradient function, or "
        f"return {name} as an output, or, if it depends on no input, declare it in constants=",
        op=op,
    )


def _note(rule: GradientRule, error: Exception, again: bool) -> str:
    code = getattr(rule.function, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    note = f"in the gradient function of {rule.op}{place}"
    if again and isinstance(error, GradientError) and error.hint != HINT:
        note += f", which is run to be differentiated again: {HINT}"
    return note


def check_unwritten(
    who: str, handed: Sequence[tuple[str, Tensor[Any]]], versions: Sequence[int]
) -> None:
    """Raises when a tensor that was handed to a user's function has been written to by it."""
    for (name, one), version in zip(handed, versions, strict=True):
        written = None if one.data.version == version else one.data.overwritten_since(version)
        if written is not None:
            op, site = written
            raise GradientError(
                f"{who} wrote to {name} ({one.spec!r}), which is not its own: "
                f"{op} at {describe(site)}",
                hint="write to a copy of it: .copy()",
            )


def _check_gradient(op: str, name: str, grad: Any, spec: Spec) -> None:
    """Raises unless `grad` can be the gradient of the input of that name."""
    if spec.dtype.kind != "float":
        raise KindError(
            f"{op}: its gradient function returned a gradient of {name}, which is "
            f"{A_TENSOR[spec.dtype.kind]} ({spec.dtype.name})",
            hint="return None in its place",
            op=op,
        )
    if not isinstance(grad, Tensor):
        hint = f"return lumus.zeros_like({name}) if it is zero" if grad is None else None
        raise GradientError(
            f"{op}: its gradient function returned {_what(grad)} as the gradient of {name}, which "
            f"requires grad",
            hint=hint,
            op=op,
        )
    if grad.spec is not spec:
        what = f"its gradient function returned {grad.spec!r} as the gradient of {name}, which is"
        raise spec_error(op, f"{op}: {what} {spec!r}", grad.spec, spec)


def spec_error(op: str, message: str, got: Spec, wanted: Spec) -> LumusError:
    """The error, with this message, for a tensor that is not what it must be."""
    if got.shape != wanted.shape:
        return ShapeError(message, op=op)
    if got.dtype.kind != wanted.dtype.kind:
        return KindError(message, op=op)
    if got.dtype is not wanted.dtype:
        hint = f"convert it with .astype(lumus.{wanted.dtype.name})"
        return DTypeError(message, hint=hint, op=op)
    return DeviceError(f"{message}, on device {got.device} instead of {wanted.device}", op=op)


def as_tensor(value: Any, device: Device) -> Any:
    """A NumPy array, or a scalar that NumPy makes of one, as a tensor; anything else as it is."""
    if isinstance(value, np.ndarray | np.generic):
        return from_numpy(np.asarray(value), device=device)
    return value


def _what(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"{len(value)}"
    if isinstance(value, Tensor):
        return repr(value.spec)
    return "None" if value is None else type(value).__name__
