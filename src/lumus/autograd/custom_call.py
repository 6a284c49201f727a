"""CustomOp: what `custom_op` makes of a user's function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, cast

from lumus.autograd.custom_gradient import (
    CustomRecord,
    GradientRule,
    Names,
    as_tensor,
    check_unwritten,
    gradient_rule,
    spec_error,
)
from lumus.autograd.twice import RUN_AGAIN
from lumus.core.argument import check_arguments
from lumus.core.construct import new_tensor
from lumus.core.device import Device
from lumus.core.dispatch import apply, finish
from lumus.core.frozen import frozen
from lumus.core.kernels.outside import Callback
from lumus.core.mode import MODE, Interpreter, Mode
from lumus.core.op import Needs, Op, Specs
from lumus.core.plan import Plan, check_devices
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, DeviceError, GradientError

P = ParamSpec("P")
R = TypeVar("R")
Function = TypeVar("Function", bound=Callable[..., Any])
Infer = Callable[..., Spec | Sequence[Spec]]


class CustomOp(Op, Generic[P, R]):
    """What `custom_op` makes of a forward function: call it like that function.

    An op like those of lumus: a name, `infer` (the specs of the outputs), a kernel (`Callback`,
    which runs the forward), and a record that holds what the gradient function declares.
    """

    def __init__(
        self,
        forward: Callable[P, Any],
        name: str,
        names: Names,
        infer: Infer | None,
        differentiable: bool,
    ) -> None:
        self.__qualname__: str = name
        functools.update_wrapper(self, forward)
        self.name = name
        self.names = names
        self.rule: GradientRule | None = None
        self.differentiable = differentiable
        self.reason = "" if differentiable else "it was declared differentiable=False"
        self._forward: Callable[..., Any] = forward
        self._infer = infer
        self._signature = inspect.signature(forward)
        self._defaults: dict[str, Any] = {
            one.name: one.default
            for one in self._signature.parameters.values()
            if one.default is not one.empty
        }
        self._known_statics = set(names.statics)
        if names.statics:
            fields = {"__annotations__": dict.fromkeys(names.statics, "Any")}
            self.attrs = frozen(type(f"{name}_attrs", (), fields))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        inputs, attrs = self._bound(args, kwargs)
        specs = tuple([one.spec for one in inputs])
        check_devices(self.name, specs)
        mode = MODE.get()
        if self.rule is None and self.differentiable and mode.records:
            self._check_off_graph(inputs)
        data = None
        if mode.has_values:
            results = self._run([one.data for one in inputs], specs, attrs)
            made = tuple([one.spec for one in results])
            if self._infer is not None:
                self._check_promised(made, self.infer(specs, attrs))
            data = self._single_or_all([one.data for one in results])
        else:
            made = self.infer(specs, attrs)
        plan = self._plan(specs, attrs, made)
        if mode.interpreter is not None:
            data = _interpreted(mode.interpreter, plan, inputs, data)
        outputs = finish(plan, inputs, data, mode)
        return cast("R", self._visible(outputs))

    def gradient(self, function: Function) -> Function:
        """Sets the gradient function, as a decorator; see `custom_op`. A later one replaces it."""
        if not self.differentiable:
            raise ArgumentError(f"{self.name}: {self.reason}, so it cannot have a gradient")
        self.rule = gradient_rule(self.name, self.names, function)
        return function

    def __repr__(self) -> str:
        return f"<custom op {self.name}({', '.join(self.names.inputs)})>"

    def __reduce__(self) -> str:
        # It is looked up by its name, as the function would be; copies are the op itself.
        return self.__qualname__

    # As an op
    # ---------------------------------------------------------------------------------------------

    def infer(self, specs: Specs, attrs: Any) -> Specs:
        """The specs of what the forward returns: declared, or those of a trial run on ones."""
        if self._infer is None:
            ones = [spec.device.full(spec, 1) for spec in specs]
            try:
                return tuple([one.spec for one in self._run(ones, specs, attrs)])
            except Exception as error:
                error.add_note(
                    f"in the trial run of {self.name} on ones, which finds the specs of what it "
                    "returns while it is traced; infer= declares them instead"
                )
                raise
        given = self._infer(*specs, **self._statics(attrs))
        made = (given,) if isinstance(given, Spec) else tuple(given)
        if len(made) != len(self.names.results) or not all(isinstance(one, Spec) for one in made):
            raise ArgumentError(
                f"{self.name}: infer must return the specs of {', '.join(self.names.results)}, "
                f"it returned {given!r}"
            )
        return made

    def kernel(self, specs: Specs, attrs: Any) -> Callback:
        """The kernel that runs the forward, whatever the interpreter."""
        return Callback(functools.partial(self._run_as_kernel, specs, attrs))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: Any, needs: Needs
    ) -> CustomRecord:
        assert self.rule is not None
        results: tuple[Tensor[Any], ...] = output if isinstance(output, tuple) else (output,)
        return CustomRecord(
            self.rule,
            attrs,
            needs,
            tuple([one.spec for one in inputs]),
            tuple([one.spec for one in results]),
            self.rule.saved(inputs, results),
        )

    def may_be_infinite(self, attrs: Any) -> tuple[int, ...]:
        # What the caller never sees is the op's own affair.
        return tuple(range(len(self.names.outputs), len(self.names.results)))

    def _plan(self, specs: Specs, attrs: Any, made: Specs) -> Plan:
        plan = Plan(self.name, self, attrs, specs, made)
        # Not for the sake of what the caller never sees.
        outputs = made[: len(self.names.outputs)]
        plan.recorded = plan.recorded and any(one.dtype.kind == "float" for one in outputs)
        # Instead of a method of its own: a plan of one call should not wait for the collector.
        plan.run = functools.partial(self._run_as_kernel, specs, attrs, made)
        plan.into = _into
        return plan

    def _visible(self, outputs: Any) -> Any:
        count = len(self.names.outputs)
        if len(self.names.results) == 1:
            return outputs
        return outputs[0] if count == 1 else outputs[:count]

    # The call
    # ---------------------------------------------------------------------------------------------

    def _bound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Tensor[Any], ...], Any]:
        inputs, statics = args, {**self._defaults, **kwargs}
        if len(args) != len(self.names.inputs) or statics.keys() != self._known_statics:
            try:
                bound = self._signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.name}: {error}") from None
            bound.apply_defaults()
            inputs = tuple([bound.arguments[name] for name in self.names.inputs])
            statics = {name: bound.arguments[name] for name in self.names.statics}
        check_arguments(self.name, inputs, statics)
        for name, value in statics.items():
            if isinstance(value, Tensor):
                raise ArgumentError(
                    f"{self.name}: {name} is a tensor, but static arguments (behind the *) are "
                    "plain values",
                    hint="declare it in front of the *, as an input",
                    op=self.name,
                )
        return inputs, self.attrs(**statics) if self.attrs else None

    def _statics(self, attrs: Any) -> dict[str, Any]:
        return {name: getattr(attrs, name) for name in self.names.statics}

    def _check_off_graph(self, inputs: Sequence[Tensor[Any]]) -> None:
        for name, one in zip(self.names.inputs, inputs, strict=True):
            if one.node is not None:
                raise GradientError(
                    f"{self.name}: {name} requires grad, but the op has no gradient function",
                    hint=f"write one and decorate it with @{self.name}.gradient, or declare "
                    "the op with custom_op(differentiable=False)",
                    op=self.name,
                )

    def _run(self, data: Sequence[Any], specs: Specs, attrs: Any) -> tuple[Tensor[Any], ...]:
        """The forward, eagerly, on tensors off the graph; what it returned, checked."""
        inputs = [new_tensor(one, spec) for one, spec in zip(data, specs, strict=True)]
        versions = [one.version for one in data]
        mode = MODE.get()
        token = None
        if mode.interpreter is not None:
            token = MODE.set(Mode(mode.records, mode.notes_cuts, None, mode))
        again = RUN_AGAIN.set(None)
        try:
            returned = self._forward(*inputs, **self._statics(attrs))
            results = self._checked(returned, inputs[0].device)
            handed = list(zip(self.names.inputs, inputs, strict=True))
            check_unwritten(f"{self.name}: its forward", handed, versions)
            return self._in_own_memory(results, data)
        finally:
            RUN_AGAIN.reset(again)
            if token is not None:
                MODE.reset(token)

    def _run_as_kernel(self, specs: Specs, attrs: Any, promised: Specs, *data: Any) -> Any:
        results = self._run(data, specs, attrs)
        self._check_promised(tuple([one.spec for one in results]), promised)
        return self._single_or_all([one.data for one in results])

    def _single_or_all(self, data: Sequence[Any]) -> Any:
        return tuple(data) if len(self.names.results) > 1 else data[0]

    def _check_promised(self, made: Specs, promised: Specs) -> None:
        for name, got, wanted in zip(self.names.results, made, promised, strict=True):
            if got is not wanted:
                what = f"{self.name}: its forward returned {got!r} as {name}, infer said {wanted!r}"
                raise spec_error(self.name, what, got, wanted)

    def _checked(self, returned: Any, device: Device) -> list[Tensor[Any]]:
        names = self.names.results
        several = list(returned) if isinstance(returned, tuple | list) else [returned]
        if len(several) != len(names):
            raise ArgumentError(
                f"{self.name}: its forward must return {len(names)} ({', '.join(names)}), "
                f"it returned {len(several)}",
                op=self.name,
            )
        several = [as_tensor(one, device) for one in several]
        for name, one in zip(names, several, strict=True):
            if not isinstance(one, Tensor):
                raise ArgumentError(
                    f"{self.name}: its forward must return tensors, {name} is {type(one).__name__}",
                    op=self.name,
                )
            if one.device is not device:
                raise DeviceError(
                    f"{self.name}: its inputs are on device {device}, {name} is on {one.device}",
                    hint=f"make it with device={self.names.inputs[0]}.device",
                    op=self.name,
                )
            if one.node is not None:
                raise GradientError(
                    f"{self.name}: {name} depends on a tensor that requires grad and is no input, "
                    "so its gradient would be lost",
                    hint="make that tensor an input, or .detach() it",
                    op=self.name,
                )
        return several

    def _in_own_memory(
        self, results: list[Tensor[Any]], data: Sequence[Any]
    ) -> tuple[Tensor[Any], ...]:
        """What shares memory with an input or with another result is copied."""
        taken = {one.storage_id for one in data}
        own: list[Tensor[Any]] = []
        for one in results:
            kept = apply("copy", one) if one.data.storage_id in taken else one
            taken.add(kept.data.storage_id)
            own.append(kept)
        return tuple(own)


def _interpreted(
    interpreter: Interpreter, plan: Plan, inputs: tuple[Tensor[Any], ...], known: Any
) -> Any:
    """What an interpreter makes of a call whose data are known already, if it is one of values."""
    if known is None:
        return interpreter.run(plan, inputs)
    run = plan.run
    plan.run = functools.partial(_given, known)
    try:
        return interpreter.run(plan, inputs)
    finally:
        plan.run = run


def _given(known: Any, *_: Any) -> Any:
    return known


def _into(outputs: Any, inputs: Any) -> None:
    raise AssertionError("a custom op is never run into existing memory")
