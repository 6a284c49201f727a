"""Module: a model or a part of one, with its parameters as ordinary attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from reprlib import recursive_repr
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

from lumus.autograd.modes import no_grad
from lumus.core.argument import check_tensors
from lumus.core.kinds import Float
from lumus.core.mode import MODE
from lumus.core.tensor import Tensor
from lumus.core.watch import CHANGES
from lumus.core.write import check_writable
from lumus.errors import ArgumentError, KindError, StateError

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Parameter(Tensor[Float]):
    """A tensor that a module trains: a leaf of the graph, found by `Module.parameters`.

    `Parameter(tensor)` shares the memory of `tensor`. Raises KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.nn.Parameter(lm.zeros((2,))).requires_grad
    True
    """

    __slots__ = ()

    def __init__(self, tensor: Tensor[Float]) -> None:
        check_tensors("Parameter", tensor)
        if tensor.dtype.kind != "float":
            raise KindError(
                f"Parameter: needs a Float tensor, got {tensor.spec!r}",
                hint="convert it with .astype(lumus.float32); keep other tensors as buffers",
            )
        self.data, self.spec = tensor.data, tensor.spec
        self.origin = None
        self.requires_grad_()


class _HasForward(Protocol[P, R_co]):
    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class Module:
    """Base of models and layers. A subclass sets attributes and defines `forward`.

    Attributes that are parameters, modules or tensors (and lists, tuples and dicts of them) are
    found where they stand, in the order in which they were set; a tensor that is not a parameter is
    a buffer, saved with the model but not trained. A result kept as an attribute while its graph
    lives is neither. Calling the module calls `forward`, with its types.

    >>> import lumus as lm
    >>> class Scale(lm.nn.Module):
    ...     def __init__(self) -> None:
    ...         self.factor = lm.nn.Parameter(lm.ones(()))
    ...
    ...     def forward(self, x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
    ...         return x * self.factor
    >>> Scale()(lm.tensor([2.0])).tolist()
    [2.0]
    """

    training: bool = True

    def __call__(self: _HasForward[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.forward(*args, **kwargs)

    # Contents -------------------------------------------------------------------------------------

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """(name, module) of this module (under `prefix`) and all below it, each once."""
        for name, value in _walk(self, prefix, set()):
            if isinstance(value, Module):
                yield name, value

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) of all parameters, each once; a name is a path: ``blocks.0.weight``.

        Raises ArgumentError for a tensor that requires grad and is not a Parameter: it would be
        saved, but not trained.
        """
        for name, value in _state(self):
            if isinstance(value, Parameter):
                yield name, value
            elif value.requires_grad:
                raise ArgumentError(
                    f"{type(self).__name__}: {name} requires grad, but is not a Parameter",
                    hint="wrap it in lumus.nn.Parameter to train it, or .detach() it for a buffer",
                )

    def named_buffers(self) -> Iterator[tuple[str, Tensor[Any]]]:
        """(name, tensor) of all buffers, each once."""
        for name, value in _state(self):
            if not isinstance(value, Parameter):
                yield name, value

    def parameters(self) -> list[Parameter]:
        """All parameters, each once."""
        return [parameter for _, parameter in self.named_parameters()]

    def buffers(self) -> list[Tensor[Any]]:
        """All buffers, each once."""
        return [buffer for _, buffer in self.named_buffers()]

    def _contents(self) -> Iterable[tuple[str, Any]]:
        """(name, value) of what it holds: its attributes. Containers name their items instead."""
        return vars(self).items()

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        CHANGES.count += 1

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        CHANGES.count += 1

    def watched(self) -> Iterator[tuple[str, Any]]:
        """(name, value) of all that a compiled function may have built in: tensors, modules and
        settings.
        """
        for path, module in self.named_modules():
            dot = f"{path}." if path else ""
            for name, value in _children(module):
                yield dot + name, value
            yield f"{dot}training", module.training
            for name, value in module._contents():
                if name != "training" and not isinstance(value, Tensor | Module):
                    yield dot + name, value

    def assignable_parts(self) -> Iterator[tuple[str, Any, bool]]:
        """(name, part, False) of this module, all below it, and the containers that they hold."""
        for path, module in self.named_modules():
            yield path, module, False
            for name, value in vars(module).items():
                if isinstance(value, list | dict):
                    yield f"{path}.{name}" if path else name, value, False

    # Mode -----------------------------------------------------------------------------------------

    def train(self, training: bool = True) -> Self:
        """Sets training mode here and below (dropout drops, batch norm measures); returns self."""
        for _, module in self.named_modules():
            module.training = training
        return self

    def eval(self) -> Self:
        """Sets evaluation mode here and below; returns self."""
        return self.train(False)

    # State ----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor[Any]]:
        """Parameters and buffers by name, off the graph, on the module's own memory.

        Raises StateError when two of them have the same name (of dict keys such as ``1`` and "1").
        """
        return {name: value.detach() for name, value in self._named_state().items()}

    def load_state_dict(self, state: Mapping[str, Tensor[Any]], *, strict: bool = True) -> None:
        """Copies values into the parameters and buffers of those names, converted to their dtype.

        A tensor that the module holds in several places may come under any of its names, or under
        several with one value. Raises StateError, and changes nothing, with all that does not fit
        at once: names that are missing or unexpected (accepted with ``strict=False``), and shapes,
        kinds, or values of one tensor that differ.
        """
        if not isinstance(state, Mapping):
            raise StateError(f"load_state_dict: expected a mapping, got {type(state).__name__}")
        own = self._named_state()
        state, differing = _by_first_names(self, own, state)
        missing = [name for name in own if name not in state] if strict else []
        unexpected = [name for name in state if name not in own] if strict else []
        pairs = {name: (value, state[name]) for name, value in own.items() if name in state}
        mismatched = [
            f"{name}: {_described(given)} for {value.spec!r}"
            for name, (value, given) in pairs.items()
            if not _fits(value, given)
        ]
        if missing or unexpected or mismatched or differing:
            parts = [
                f"{what}: {', '.join(map(str, names))}"
                for what, names in (
                    ("missing", missing),
                    ("unexpected", unexpected),
                    ("of another shape or kind", mismatched),
                    ("of two values", differing),
                )
                if names
            ]
            raise StateError(
                f"load_state_dict: the state does not fit {type(self).__name__}: "
                + "; ".join(parts),
                hint="nothing was changed"
                + (
                    ""
                    if mismatched or differing
                    else "; strict=False accepts missing and unexpected names"
                ),
                missing=missing,
                unexpected=unexpected,
                mismatched=mismatched + differing,
            )
        with no_grad():
            for value, _ in pairs.values():
                check_writable("load_state_dict", value, "a new tensor", MODE.get())
            storages = {value.data.storage_id for value in own.values()}
            # A value on the module's own memory could change while others are copied.
            taken = [
                (value, given.copy() if given.data.storage_id in storages else given.detach())
                for value, given in pairs.values()
            ]
            for value, given in taken:
                value.copy_(given.to_device(value.device))

    def _named_state(self) -> dict[str, Tensor[Any]]:
        found: dict[str, Tensor[Any]] = {}
        for name, value in _state(self):
            if name in found:
                raise StateError(f"{type(self).__name__}: two of its tensors are named {name}")
            found[name] = value
        return found

    # Text -----------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the brackets of this module's line in `repr`; for subclasses."""
        return ""

    @recursive_repr()
    def __repr__(self) -> str:
        head = f"{type(self).__name__}({self.extra_repr()}"
        children = [(name, child) for name, child in _children(self) if isinstance(child, Module)]
        if not children:
            return head + ")"
        lines = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in children]
        return head + "\n  " + "\n  ".join(lines) + "\n)"


def _fits(own: Tensor[Any], given: Any) -> bool:
    return (
        isinstance(given, Tensor)
        and own.shape == given.shape
        and own.dtype.kind == given.dtype.kind
    )


def _by_first_names(
    module: Module, own: Mapping[str, Tensor[Any]], state: Mapping[str, Tensor[Any]]
) -> tuple[dict[str, Tensor[Any]], list[str]]:
    """(state, what contradicts it) with shared tensors under the names that `own` has for them."""
    first_names = {id(value): name for name, value in own.items()}
    renamed = dict(state)
    differing: list[str] = []
    for name in [name for name in state if name not in own]:
        first = first_names.get(id(_at(module, str(name))))
        if first is None:
            continue
        value = renamed.pop(name)
        if _differ(renamed.setdefault(first, value), value):
            differing.append(f"{name}, which is the same tensor here as {first}")
    return renamed, differing


def _at(module: Module, name: str) -> Any:
    """What the module holds under a path, None if nothing."""
    for child, value in _children(module):
        if name == child:
            return value
        if isinstance(value, Module) and name.startswith(f"{child}."):
            found = _at(value, name[len(child) + 1 :])
            if found is not None:
                return found
    return None


def _differ(first: Any, second: Any) -> bool:
    if first is second:
        return False
    if not (isinstance(first, Tensor) and isinstance(second, Tensor)):
        return True
    if first.shape != second.shape or first.dtype is not second.dtype:
        return True
    one = cast("Tensor[Any]", first).detach()
    other = cast("Tensor[Any]", second).detach().to_device(one.device)
    # A NaN differs from itself; where both are NaN nothing differs.
    return bool(((one != other) & ((one == one) | (other == other))).any())  # noqa: PLR0124


def _described(given: Any) -> str:
    return repr(given.spec) if isinstance(given, Tensor) else type(given).__name__


def _children(module: Module) -> Iterator[tuple[str, Any]]:
    """(name, value) of the contents, those in lists, tuples and dicts named by their place."""
    pending: list[tuple[str, Any]] = list(reversed([*module._contents()]))
    entered: set[int] = set()
    while pending:
        name, value = pending.pop()
        if isinstance(value, Tensor | Module):
            yield name, value
        elif id(value) in entered:  # a container that contains itself
            continue
        elif isinstance(value, list | tuple):
            entered.add(id(value))
            items = [(f"{name}.{place}", one) for place, one in enumerate(cast("list[Any]", value))]
            pending.extend(reversed(items))
        elif isinstance(value, dict):
            entered.add(id(value))
            entries = [(f"{name}.{key}", one) for key, one in cast("dict[Any, Any]", value).items()]
            pending.extend(reversed(entries))


def _state(module: Module) -> Iterator[tuple[str, Tensor[Any]]]:
    """(path, tensor) of parameters and buffers; results that are still on a graph are neither."""
    for name, value in _walk(module, "", set()):
        if isinstance(value, Tensor) and value.is_leaf:
            yield name, cast("Tensor[Any]", value)


def _walk(module: Module, prefix: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """(path, value) of the module, then of what is below it, depth first; each object once."""
    pending: list[tuple[str, Any]] = [(prefix, module)]
    while pending:
        name, value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield name, value
        if isinstance(value, Module):
            dot = f"{name}." if name else ""
            pending.extend(reversed([(dot + child, one) for child, one in _children(value)]))
