"""What all optimisers share: groups of parameters, checks before anything changes, state."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from lumus.autograd.gradients import GradStore
from lumus.autograd.modes import no_grad
from lumus.core.constant import constant
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import Float
from lumus.core.record import Leaf
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, GradientError, StateError
from lumus.ops.create.full import zeros_like

Parameters = Iterable[Tensor[Float]] | Iterable[Mapping[str, Any]]
State = dict[str, Any]


class Group:
    """Parameters that share hyperparameters (`options`, by name)."""

    def __init__(self, parameters: list[Tensor[Float]], options: dict[str, Any]) -> None:
        self.parameters = parameters
        self.options = options


class Optimizer(ABC):
    """Base of optimisers. `step(grads)` updates the parameters in place and takes what it uses.

    `parameters` are tensors, or groups: mappings with ``parameters`` and hyperparameters of their
    own. A parameter without a gradient is left alone: no decay, no state; a gradient of zero is a
    gradient.
    """

    def __init__(self, parameters: Parameters, defaults: dict[str, Any]) -> None:
        self.groups = _groups(type(self).__name__, parameters, defaults)
        for group in self.groups:
            self.check_options(group.options)
        self.state: dict[int, State] = {}
        self._places = [one for group in self.groups for one in group.parameters]

    @property
    def lr(self) -> float:
        """The learning rate of the first group; setting it sets that of all groups."""
        return cast("float", self.groups[0].options["lr"])

    @lr.setter
    def lr(self, rate: float) -> None:
        check_number(type(self).__name__, "lr", rate)
        for group in self.groups:
            group.options["lr"] = rate

    def step(self, grads: GradStore) -> None:
        """Updates every parameter that has a gradient in `grads`, and takes that gradient out.

        Everything is checked before anything is updated. Raises GradientError when no parameter has
        a gradient, or one of them no longer can be updated.
        """
        name = f"{type(self).__name__}.step"
        for group in self.groups:
            self.check_options(group.options)
        due = [
            (place, group.options, parameter)
            for place, (group, parameter) in enumerate(
                (group, parameter) for group in self.groups for parameter in group.parameters
            )
            if parameter in grads
        ]
        if not due:
            raise GradientError(
                f"{name}: none of the {len(self._places)} parameters has a gradient in the store",
                hint="is it the store of this model's loss? "
                + (grads.why(self._places[0]) if self._places else "there are no parameters"),
            )
        for place, _, parameter in due:
            if grads[parameter].spec is not parameter.spec:
                raise GradientError(
                    f"{name}: parameter {place} is {parameter.spec!r}, its gradient "
                    f"{grads[parameter].spec!r}"
                )
            if parameter.data.readonly:
                raise GradientError(f"{name}: parameter {place} is frozen and cannot be updated")
        with no_grad():
            for place, options, parameter in due:
                state = self.state.setdefault(place, {"step": 0})
                state["step"] += 1
                self.update(parameter, grads.take(parameter), state, options)

    @abstractmethod
    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raises ArgumentError for hyperparameters out of range."""

    @abstractmethod
    def update(
        self, parameter: Tensor[Float], grad: Tensor[Float], state: State, options: dict[str, Any]
    ) -> None:
        """Updates one parameter and its state in place; ``state["step"]`` counts from 1."""

    # State ----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Hyperparameters and state, by the parameters' order.

        The tensors are the optimiser's own.
        """
        return {
            "optimizer": type(self).__name__,
            "groups": [{"size": len(group.parameters), **group.options} for group in self.groups],
            "state": {place: dict(state) for place, state in self.state.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over what `state_dict` gave.

        Raises StateError, changing nothing, if it does not fit.
        """
        name = type(self).__name__
        if state.get("optimizer") != name:
            raise StateError(
                f"load_state_dict: the state is of {state.get('optimizer')}, not {name}"
            )
        sizes = [group["size"] for group in state["groups"]]
        own = [len(group.parameters) for group in self.groups]
        if sizes != own:
            raise StateError(
                f"load_state_dict: the state has groups of {sizes} parameters, {name} has {own}"
            )
        fresh: dict[int, State] = {}
        for place, values in state["state"].items():
            parameter = self._places[int(place)]
            for key, value in values.items():
                if isinstance(value, Tensor) and value.shape != parameter.shape:
                    raise StateError(
                        f"load_state_dict: {key} of parameter {place} has shape {value.shape}, the "
                        f"parameter {parameter.shape}"
                    )
            fresh[int(place)] = {
                key: cast("Tensor[Any]", value).copy() if isinstance(value, Tensor) else value
                for key, value in values.items()
            }
        for group, saved in zip(self.groups, state["groups"], strict=True):
            options = {key: value for key, value in saved.items() if key != "size"}
            self.check_options(options)
            group.options = options
        self.state = fresh

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self.groups[0].options.items())
        return f"{type(self).__name__}({len(self._places)} parameters, {options})"


def check_number(
    optimizer: str, name: str, value: Any, *, below: float = math.inf, least: float = 0.0
) -> None:
    """Raises ArgumentError unless `value` is a finite number in [least, below)."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not least <= value < below:
        bounds = f"in [{least:g}, {below:g})" if below < math.inf else f"at least {least:g}"
        raise ArgumentError(f"{optimizer}: {name} must be a number {bounds}, got {value!r}")


def slot(state: State, name: str, parameter: Tensor[Float]) -> Tensor[Float]:
    """A tensor of the parameter's shape in its state, zeros at first."""
    value = state.get(name)
    if value is None:
        value = state[name] = zeros_like(parameter)
    return cast("Tensor[Float]", value)


def rate_constant(value: float, parameter: Tensor[Float]) -> Tensor[Float]:
    """A number of this step as an operand beside the parameter; float32 beside half precision."""
    dtype = float32 if is_half(parameter.dtype) else parameter.dtype
    return constant(value, dtype, parameter.device, "step")


def _groups(optimizer: str, parameters: Parameters, defaults: dict[str, Any]) -> list[Group]:
    listed: Sequence[Any] = list(parameters)
    if not listed:
        raise ArgumentError(f"{optimizer}: there are no parameters to train")
    if isinstance(listed[0], Mapping):
        groups = [_group(optimizer, cast("Mapping[str, Any]", one), defaults) for one in listed]
    else:
        groups = [Group(listed, dict(defaults))]  # type: ignore[arg-type]
    seen: set[int] = set()
    for place, one in enumerate(one for group in groups for one in group.parameters):
        if not isinstance(one, Tensor) or not isinstance(one.node, Leaf):
            what = repr(one.spec) if isinstance(one, Tensor) else type(one).__name__
            raise ArgumentError(
                f"{optimizer}: parameter {place} is {what}, not a leaf that requires grad",
                hint="give model.parameters(), or tensors made with requires_grad=True",
            )
        if id(one) in seen:
            raise ArgumentError(
                f"{optimizer}: parameter {place} ({one.spec!r}) is given twice",
                hint="a parameter may stand in one group only, once",
            )
        seen.add(id(one))
    return groups


def _group(optimizer: str, given: Mapping[str, Any], defaults: dict[str, Any]) -> Group:
    options = {key: value for key, value in given.items() if key != "parameters"}
    unknown = [key for key in options if key not in defaults]
    if unknown or "parameters" not in given:
        what = f"unknown options {unknown}" if unknown else "no entry 'parameters'"
        raise ArgumentError(
            f"{optimizer}: a group has {what}", hint=f"options are {', '.join(defaults)}"
        )
    return Group(list(given["parameters"]), {**defaults, **options})
