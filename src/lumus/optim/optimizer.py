"""What all optimisers share: groups of parameters, checks before anything changes, state."""

from __future__ import annotations

import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from lumus import _native
from lumus.autograd.gradients import GradStore
from lumus.autograd.modes import no_grad
from lumus.core.construct import new_tensor
from lumus.core.dtypes import DType, float32, is_half
from lumus.core.kinds import Float
from lumus.core.mode import MODE, eagerly
from lumus.core.record import Leaf
from lumus.core.scalar.expressions import Expression
from lumus.core.site import call_site, describe
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.core.watch import Identities, Snapshot
from lumus.core.write import check_writable, update
from lumus.errors import ArgumentError, GradientError, NonFiniteError, StateError, TraceError
from lumus.ops.create.full import zeros

Parameters = Iterable[Tensor[Float]] | Iterable[Mapping[str, Any]]
State = dict[str, Any]


NumbersMethod = TypeVar("NumbersMethod", bound=Callable[..., tuple[float, ...]])


def settles(at: int) -> Callable[[NumbersMethod], NumbersMethod]:
    """Marks a method `numbers` that, from step `at` on, depends on the options alone.

    A compiled step asks it again when they have changed; others are asked at each step.
    """

    def marked(numbers: NumbersMethod) -> NumbersMethod:
        cast("Any", numbers).settles_at = at
        return numbers

    return marked


class Group:
    """Parameters that share hyperparameters (`options`, by name)."""

    def __init__(self, parameters: list[Tensor[Float]], options: dict[str, Any]) -> None:
        self.parameters = parameters
        self.options = options


MAX_OPTIONS = 1000
"""How many options of a group are watched one by one."""


class RuleOf:
    """Reads the rule of a group, which changes with its options; quick while they stay."""

    def __init__(self, optimizer: Optimizer, group: Group) -> None:
        self._optimizer = optimizer
        self._group = group
        self._seen: dict[str, Any] = {}
        self._rule: Expression | None = None

    def __call__(self) -> Expression | None:
        options = self._group.options
        if options != self._seen:
            self._optimizer.check_options(options)
            self._rule, self._seen = self._optimizer.rule(options), dict(options)
        return self._rule

    def watch(self, snapshot: Snapshot) -> None:
        """Adds the options to a snapshot."""
        snapshot.add_attribute(self._group, "options")
        snapshot.add_items(self._group.options, MAX_OPTIONS)


class Optimizer(ABC):
    """Base of optimisers. `step(grads)` updates the parameters in place and takes what it uses.

    `parameters` are tensors, or groups: mappings with ``parameters`` and hyperparameters of their
    own; a group may be empty. A parameter without a gradient is left alone: no decay, no state; a
    gradient of zero is a gradient. State beside half precision is float32, as the arithmetic is.
    """

    slots: ClassVar[tuple[str, ...]] = ()
    """Names of the tensors that the state of a parameter holds from its first update on."""

    def __init__(self, parameters: Parameters, defaults: dict[str, Any]) -> None:
        self._groups = _groups(type(self).__name__, parameters, defaults)
        for group in self._groups:
            self.check_options(group.options)
        self._state: dict[int, State] = {}
        self._places = [one for group in self._groups for one in group.parameters]
        self._numbers: dict[Any, tuple[Tensor[Float], ...]] = {}
        # The trace in which it was made, if any: there its state begins anew at each call.
        tracer = MODE.get().tracer
        self._made_by: Callable[[], Any] = _nobody if tracer is None else weakref.ref(tracer)

    @property
    def groups(self) -> list[Group]:
        """The groups of parameters, with their hyperparameters."""
        self._note_read("options", self._options, self._watch_options)
        return self._groups

    @property
    def state(self) -> dict[int, State]:
        """What is kept of each parameter, by its place: its number of steps and its tensors."""
        self._note_read("state", self._plain_state, self._watch_state)
        return self._state

    @property
    def lr(self) -> float:
        """The learning rate of the first group; setting it sets that of all groups.

        Set it outside of a compiled function, which takes the rate of each call as an input.
        """
        self._note_read("lr", self._rate, self._watch_options)
        return self._rate()

    @lr.setter
    def lr(self, rate: float) -> None:
        check_number(type(self).__name__, "lr", rate)
        tracer = MODE.get().tracer
        if tracer is not None and tracer is not self._made_by():
            site = call_site()
            error = TraceError(
                f"compile: {type(self).__name__}.lr is set at {describe(site)}, in a compiled "
                "function; later calls run its plan, which would not set it again",
                hint="set it before the call: the rate is an input, nothing is traced again for it",
                site=site,
            )
            raise tracer.refuse(error)
        for group in self._groups:
            group.options["lr"] = rate

    def step(self, grads: GradStore) -> None:
        """Updates every parameter that has a gradient in `grads`, and takes that gradient out.

        Everything is checked before anything is updated. Raises GradientError when no parameter has
        a gradient, ReadOnlyError for one that cannot be written, ArgumentError for hyperparameters
        that are now out of range.
        """
        name = f"{type(self).__name__}.step"
        if not isinstance(grads, GradStore):
            raise ArgumentError(
                f"{name}: needs the GradStore of a backward pass, got {type(grads).__name__}",
                hint="optimizer.step(loss.backward())",
            )
        for group in self._groups:
            self.check_options(group.options)
        due = [
            (place, group, parameter)
            for place, (group, parameter) in enumerate(
                (group, parameter) for group in self._groups for parameter in group.parameters
            )
            if parameter in grads
        ]
        if not due:
            raise GradientError(
                f"{name}: no parameter (of {len(self._places)}) has a gradient in the store",
                hint="is it the store of this model's loss? "
                + (grads.why(self._places[0]) if self._places else "there are no parameters"),
            )
        with no_grad():
            for place, _, parameter in due:
                if parameter.data.readonly:
                    check_writable(f"{name} of parameter {place}", parameter, "", MODE.get())
            tracer = MODE.get().tracer
            if tracer is not None and tracer is not self._made_by():
                self._trace(due, grads)
                return
            for place, group, parameter in due:
                try:
                    self._advance(place, group, parameter, grads)
                except NonFiniteError as error:
                    _tell_parameter(error, place, parameter)
                    raise
        self._numbers.clear()

    @abstractmethod
    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raises ArgumentError for hyperparameters out of range."""

    @abstractmethod
    def slots_for(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of the tensors that the state of a parameter holds under these options."""

    @abstractmethod
    def rule(self, options: Mapping[str, Any]) -> Expression:
        """One update: of (parameter, slots..., gradient, numbers...), giving parameter and slots.

        Equal options give the same expression.
        """

    @abstractmethod
    def numbers(self, step: int, options: Mapping[str, Any]) -> tuple[float, ...]:
        """What changes from step to step, and so is an operand of the rule; steps count from 1."""

    def _advance(
        self, place: int, group: Group, parameter: Tensor[Float], grads: GradStore
    ) -> None:
        """Updates one parameter and its state in place."""
        state = self._state.setdefault(place, {"step": 0})
        state["step"] += 1
        operands = self._operands(self.numbers(state["step"], group.options), parameter)
        self._update(group, parameter, state, grads.take(parameter), operands)

    def _update(
        self,
        group: Group,
        parameter: Tensor[Float],
        state: State,
        grad: Tensor[Float],
        operands: tuple[Tensor[Float], ...],
    ) -> None:
        names = self.slots_for(group.options)
        lives_on = MODE.get().tracer is None or MODE.get().tracer is not self._made_by()
        targets = (parameter, *[slot(state, name, parameter, lives_on) for name in names])
        rule = self.rule(group.options)
        update(f"{type(self).__name__}.step", rule, targets, (*targets, grad, *operands))

    def _operands(
        self, values: tuple[float, ...], parameter: Tensor[Float]
    ) -> tuple[Tensor[Float], ...]:
        """Numbers of this step as operands beside the parameter, shared with others like it.

        They are not among the cached constants of dispatch: those of a schedule do not come again.
        """
        key = (values, parameter.spec.dtype, parameter.spec.device)
        found = self._numbers.get(key)
        if found is None:
            device = parameter.device
            spec = spec_of((), _state_dtype(parameter), device)
            found = tuple([new_tensor(device.full(spec, value), spec) for value in values])
            self._numbers[key] = found
        return found

    def _trace(self, due: list[tuple[int, Group, Tensor[Float]]], grads: GradStore) -> None:
        """`step` while a function is traced: rates and the count of steps are inputs of each call.

        Parameters of one group that have made as many steps share them.
        """
        name, tracer = f"{type(self).__name__}.step", MODE.get().tracer
        assert tracer is not None
        sources: dict[Any, tuple[_native.StepNumbers, tuple[Tensor[Float], ...]]] = {}
        for place, group, parameter in due:
            if place not in self._state:
                tracer.when_refused(partial(self._state.pop, place, None))
            state = self._state.setdefault(place, {"step": 0})
            earlier = tracer.count((self, place))
            key = (id(group), state["step"], earlier, _state_dtype(parameter), parameter.device)
            if key not in sources:
                rule = RuleOf(self, group)
                tracer.guard(f"{name}: rule", rule, rule.watch)
                sources[key] = self._source(group, parameter, earlier)
            source, operands = sources[key]
            source.states.append(state)
            self._update(group, parameter, state, grads.take(parameter), operands)
        places = [place for place, _, _ in due]
        tracer.guard(
            f"{name}: state", partial(self._kept, places), partial(self._watch_kept, places)
        )

    def _kept(self, places: list[int]) -> Identities:
        """The dicts and tensors that are kept of these parameters."""
        found: list[Any] = []
        for place in places:
            state = self._state.get(place, {})
            found += [state, *[one for one in state.values() if isinstance(one, Tensor)]]
        return Identities(found)

    def _watch_kept(self, places: list[int], snapshot: Snapshot) -> None:
        snapshot.add_attribute(self, "_state")
        for place in places:
            snapshot.add_item(self._state, place)
            state = self._state.get(place, {})
            for name in [name for name, one in state.items() if isinstance(one, Tensor)]:
                snapshot.add_item(state, name)

    def _source(
        self, group: Group, parameter: Tensor[Float], earlier: int
    ) -> tuple[_native.StepNumbers, tuple[Tensor[Float], ...]]:
        tracer = MODE.get().tracer
        assert tracer is not None
        # It counts the steps in the parameters' states.
        source = _native.StepNumbers(self, group, earlier)
        what = f"{type(self).__name__}.step: as many steps for each"
        tracer.guard(what, source.agree, source.watch)
        count = len(self.numbers(1, group.options))
        spec = spec_of((count,), _state_dtype(parameter), parameter.device)
        numbers: Tensor[Float] = new_tensor(tracer.host(source, spec), spec)
        return source, tuple([numbers[place] for place in range(count)])

    def watched(self) -> Iterator[tuple[str, Any]]:
        """(name, tensor) of the state: ``m[3]`` is that of parameter 3."""
        for place, state in self._state.items():
            for name, value in state.items():
                if isinstance(value, Tensor):
                    yield f"{name}[{place}]", value

    def assignable_parts(self) -> Iterator[tuple[str, Any, bool]]:
        """(name, part, True) of the groups: their parameters and options."""
        for place, group in enumerate(self._groups):
            yield f"groups[{place}].parameters", group.parameters, True
            yield f"groups[{place}].options", group.options, True

    def _note_read(
        self, what: str, read: Callable[[], Any], watch: Callable[[Snapshot], None]
    ) -> None:
        """Says to a trace, if there is one, that the program depends on what is read here."""
        tracer = MODE.get().tracer
        if tracer is not None:
            tracer.guard(f"{type(self).__name__}.{what}", read, watch)

    def _rate(self) -> float:
        return cast("float", self._groups[0].options["lr"])

    def _options(self) -> list[dict[str, Any]]:
        return [dict(group.options) for group in self._groups]

    def _watch_options(self, snapshot: Snapshot) -> None:
        snapshot.add_items(self._groups, MAX_OPTIONS)
        for group in self._groups:
            snapshot.add_attribute(group, "options")
            snapshot.add_items(group.options, MAX_OPTIONS)

    def _plain_state(self) -> dict[int, dict[str, Any]]:
        """The state with the identities of its tensors."""
        return {
            place: {
                name: id(one) if isinstance(one, Tensor) else one for name, one in state.items()
            }
            for place, state in self._state.items()
        }

    def _watch_state(self, snapshot: Snapshot) -> None:
        snapshot.add_attribute(self, "_state")
        snapshot.add_items(self._state, MAX_OPTIONS)
        for state in self._state.values():
            snapshot.add_items(state, MAX_OPTIONS)

    # State ----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Hyperparameters and state by the parameters' order; the tensors are the optimiser's."""
        return {
            "optimizer": type(self).__name__,
            "groups": [{"size": len(group.parameters), **group.options} for group in self._groups],
            "state": {place: dict(state) for place, state in self._state.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over what `state_dict` gave; on the way keys may have become text, tuples lists.

        Raises StateError or ArgumentError, changing nothing, if it does not fit.
        """
        name, tracer = type(self).__name__, MODE.get().tracer
        if tracer is not None:
            error = TraceError(
                f"compile: {name}.load_state_dict is called at {describe(call_site())}, in a "
                "compiled function; later calls run its plan, which would not load it again",
                hint="load the state outside",
            )
            raise tracer.refuse(error)
        if not isinstance(state, Mapping):
            raise StateError(f"load_state_dict: expected a mapping, got {type(state).__name__}")
        if state.get("optimizer") != name:
            raise StateError(
                f"load_state_dict: the state is of {state.get('optimizer')}, not {name}"
            )
        saved = [dict(group) for group in state["groups"]]
        sizes = [group.pop("size", None) for group in saved]
        own = [len(group.parameters) for group in self._groups]
        if sizes != own:
            raise StateError(
                f"load_state_dict: the state has groups of {sizes} parameters, {name} has {own}"
            )
        options = [
            {key: tuple(one) if isinstance(one, list) else one for key, one in group.items()}
            for group in saved
        ]
        for group, values in zip(self._groups, options, strict=True):
            if values.keys() != group.options.keys():
                raise StateError(
                    f"load_state_dict: a group has options {sorted(values)}, {name} has "
                    f"{sorted(group.options)}"
                )
            self.check_options(values)
        fresh = {int(place): self._own_state(place, one) for place, one in state["state"].items()}
        for group, values in zip(self._groups, options, strict=True):
            group.options = values
        self._state = fresh

    def _own_state(self, place: int | str, values: Mapping[str, Any]) -> State:
        """A copy of one parameter's saved state, checked."""
        number = int(place)
        if not 0 <= number < len(self._places):
            raise StateError(
                f"load_state_dict: there is state of parameter {place}, of {len(self._places)}"
            )
        parameter = self._places[number]
        missing = [key for key in ("step", *self.slots) if key not in values]
        if missing:
            raise StateError(
                f"load_state_dict: the state of parameter {place} lacks {', '.join(missing)}"
            )
        wanted = _slot_spec(parameter)
        copied = dict(values)
        for key, value in values.items():
            if not isinstance(value, Tensor):
                continue
            moved = value.detach().to_device(parameter.device)
            if moved.spec is not wanted:
                raise StateError(
                    f"load_state_dict: {key} of parameter {place} is {value.spec!r}, not {wanted!r}"
                )
            copied[key] = moved.copy()
        return copied

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self._groups[0].options.items())
        return f"{type(self).__name__}({len(self._places)} parameters, {options})"


def _tell_parameter(error: NonFiniteError, place: int, parameter: Tensor[Float]) -> None:
    node = parameter.node
    made = "" if node is None else f", created at {describe(node.site)}"
    before = "; those before it have been updated" if place else ""
    error.message += f"\n  parameter {place} of the optimiser: {parameter.spec!r}{made}{before}"
    error.parameter = place


def check_number(
    optimizer: str, name: str, value: Any, *, below: float = math.inf, least: float = 0.0
) -> None:
    """Raises ArgumentError unless `value` is a finite number in [least, below)."""
    plain = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
    # A comparison takes ints of any size, where isfinite does not.
    if not is_number or not least <= plain < below or plain > 1e308:
        bounds = f"in [{least:g}, {below:g})" if below < math.inf else f"at least {least:g}"
        raise ArgumentError(f"{optimizer}: {name} must be a number {bounds}, got {value!r}")


def slot(state: State, name: str, parameter: Tensor[Float], lives_on: bool) -> Tensor[Float]:
    """A tensor of the parameter's shape in its state, zeros at first.

    One that lives on is made now, also while a function is traced.
    """
    value = state.get(name)
    if value is None:
        with eagerly() if lives_on else nullcontext():
            value = state[name] = zeros(
                parameter.shape, dtype=_state_dtype(parameter), device=parameter.device
            )
    return cast("Tensor[Float]", value)


def _nobody() -> None:
    """Of an optimiser that was made in no trace."""


def _state_dtype(parameter: Tensor[Float]) -> DType[Float]:
    # The square of a small gradient, and a running mean's small steps, are lost in half precision.
    return float32 if is_half(parameter.dtype) else parameter.dtype


def _slot_spec(parameter: Tensor[Float]) -> Spec:
    return parameter.spec.with_dtype(_state_dtype(parameter))


def _groups(optimizer: str, parameters: Parameters, defaults: dict[str, Any]) -> list[Group]:
    if not isinstance(parameters, Iterable) or not getattr(parameters, "ndim", True):
        raise ArgumentError(
            f"{optimizer}: needs parameters, got {type(parameters).__name__}",
            hint="give model.parameters()",
        )
    listed: Sequence[Any] = list(parameters)
    if not listed:
        raise ArgumentError(f"{optimizer}: there are no parameters to train")
    if all(isinstance(one, Mapping) for one in listed):
        groups = [_group(optimizer, one, defaults) for one in listed]
    else:
        groups = [Group(list(listed), dict(defaults))]
    seen: set[int] = set()
    for place, one in enumerate(one for group in groups for one in group.parameters):
        if not isinstance(one, Tensor) or not isinstance(one.node, Leaf):
            what = repr(one.spec) if isinstance(one, Tensor) else type(one).__name__
            raise ArgumentError(
                f"{optimizer}: parameter {place} is {what}, not a leaf that requires grad",
                hint="give model.parameters(), or those of them that require grad",
            )
        strides = zip(one.data.strides, one.shape, strict=True)
        if any(stride == 0 and length > 1 for stride, length in strides):
            raise ArgumentError(
                f"{optimizer}: parameter {place} ({one.spec!r}) is broadcast: its elements overlap",
                hint="make it from a copy: .copy()",
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
    own = given["parameters"]
    if not isinstance(own, Iterable) or isinstance(own, Tensor):
        raise ArgumentError(
            f"{optimizer}: a group needs a list of parameters, got {type(own).__name__}"
        )
    return Group(list(own), {**defaults, **options})
