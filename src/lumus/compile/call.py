"""The arguments of a call: what a program depends on of them, and what they are called."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import MethodType
from typing import Any

from lumus.autograd.gradients import GradStore
from lumus.compile.places import told
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.core.tree import Branch, StaticLeaf, Tree, put_together, take_apart


class Call:
    """The arguments of one call of `function`, taken apart.

    Calls with equal keys are of one kind: one program serves them. The keys of gradient stores are
    none of the `tensors`: `leaves` says by their places which tensors they are.
    """

    __slots__ = (
        "first",
        "function",
        "given",
        "key",
        "kinds",
        "leaves",
        "records",
        "tensors",
        "tree",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        records: bool,
    ) -> None:
        self.function = function
        self.given = (args, kwargs)
        self.tensors: list[Tensor[Any]] = []
        self.tree: Branch = take_apart((args, kwargs), self.tensors)
        self.records = records
        self.leaves: dict[int, Tensor[Any]] = {}
        if any(tensor.origin.__class__ is tuple for tensor in self.tensors):
            self._part_leaves()
        self.kinds = tuple([_kind_of(tensor, records) for tensor in self.tensors])
        self.first = _first_places(self.tensors)
        self.key = (self.tree, records, self.kinds, self.nodes(), self.first)

    def _part_leaves(self) -> None:
        places = _keys_of_stores(self.tree)
        self.leaves = {at: self.tensors[at] for at in sorted(places)}
        self.tensors = [one for at, one in enumerate(self.tensors) if at not in places]

    def nodes(self) -> tuple[Any, ...]:
        """What each leaf is: the place of the argument as which it comes in, too, or its node."""
        if not self.leaves:
            return ()
        given: dict[Any, int] = {
            one.node: at for at, one in enumerate(self.tensors) if one.node is not None
        }
        return tuple([given.get(one.node, one.node) for one in self.leaves.values()])

    def with_tensors(self, tensors: Sequence[Tensor[Any]]) -> Any:
        """The arguments, positional and named, with these in the place of the tensors."""
        following = iter(tensors)
        leaves = {
            at: tensors[node].requires_grad_() if isinstance(node, int) else leaf
            for (at, leaf), node in zip(self.leaves.items(), self.nodes(), strict=True)
        }
        places = itertools.count()

        def next_tensor() -> Tensor[Any]:
            leaf = leaves.get(next(places))
            return next(following) if leaf is None else leaf

        return put_together(self.tree, next_tensor)

    def containers(self, args: Any) -> Iterator[tuple[str, Any]]:
        """(name, container) of the lists and dicts in arguments of this form."""
        positional, named = args
        pending: list[tuple[str, Any]] = [
            *zip(self._names(), positional, strict=False),
            *named.items(),
        ]
        for path, one in pending:
            if isinstance(one, list | dict):
                yield path, one
            if isinstance(one, dict):
                pending.extend((f"{path}[{key!r}]", item) for key, item in one.items())
            elif isinstance(one, list | tuple):
                pending.extend((f"{path}[{at}]", item) for at, item in enumerate(one))

    def statics(self) -> list[tuple[str, Any]]:
        """(name, value) of those that are no tensors."""
        return [
            (label, one.value) for label, one in self._labelled() if isinstance(one, StaticLeaf)
        ]

    def labels(self) -> list[str]:
        """A name for each tensor, by the function's parameters: ``x``, ``batch['ids']``."""
        found = [label for label, one in self._labelled() if not isinstance(one, StaticLeaf)]
        return [one for at, one in enumerate(found) if at not in self.leaves]

    def _names(self) -> Iterator[str]:
        """Those of positional arguments, without end."""
        names = parameters_of(self.function)
        yield from names
        for at in itertools.count(len(names)):
            yield f"args[{at}]"

    def _labelled(self) -> Iterator[tuple[str, Tree]]:
        """(name, leaf) of tensors and other values, from left to right."""
        args, kwargs = self.tree.items
        pending = [
            *zip(self._names(), args.items, strict=False),
            *zip(kwargs.keys, kwargs.items, strict=True),
        ]
        pending.reverse()
        while pending:
            path, one = pending.pop()
            if isinstance(one, Branch):
                keys = one.keys or range(len(one.items))
                paths = [f"{path}[{key!r}]" for key in keys]
                pending.extend(reversed(list(zip(paths, one.items, strict=True))))
            else:
                yield path, one

    def signature(self) -> tuple[str, ...]:
        """What the program depends on: ``x: float32[3]``, ``scale: 2.0``."""
        tensors = zip(self.labels(), self.kinds, strict=True)
        parts = [f"{label}: {_told_kind(*kind)}" for label, kind in tensors]
        parts += [f"{label}: {told(value)}" for label, value in self.statics()]
        if self.first:
            labels = self.labels()
            pairs = [(at, one) for at, one in enumerate(self.first) if at != one]
            parts += [f"{labels[at]}: the same as {labels[one]}" for at, one in pairs]
        return tuple(parts if self.records else [*parts, "gradients: off"])


def _keys_of_stores(tree: Tree) -> set[int]:
    """Which of the tensors are keys of gradient stores: in those they take turns with gradients."""
    found: set[int] = set()
    pending: list[Tree] = [tree]
    place = 0
    while pending:
        one = pending.pop()
        if isinstance(one, Branch):
            if one.kind is GradStore:
                found.update(range(place, place + len(one.items), 2))
            pending.extend(reversed(one.items))
        elif not isinstance(one, StaticLeaf):
            place += 1
    return found


def _kind_of(tensor: Tensor[Any], records: bool) -> tuple[Spec, Any, type[Any] | None]:
    """What a program depends on of an argument: its spec, its layout, the sort of its node if any.

    Only leaves are taken; the sort of another tells it from them.
    """
    data = tensor.data
    layout = None if data.is_contiguous else data.strides
    on_graph = records and tensor.origin.__class__ is tuple
    return tensor.spec, layout, tensor.node.__class__ if on_graph else None


def _told_kind(spec: Spec, layout: Any, sort: type[Any] | None) -> str:
    """A spec, with strides that are not those of dense memory, and whether it requires grad."""
    strides = "" if layout is None else f", strides {layout}"
    return f"{spec!r}{strides}{'' if sort is None else ', requires grad'}"


def _first_places(tensors: list[Tensor[Any]]) -> tuple[int, ...]:
    """Of each tensor the first place where the very same one is given; empty if none is twice."""
    first: dict[int, int] = {}
    places = [first.setdefault(id(tensor), at) for at, tensor in enumerate(tensors)]
    return tuple(places) if len(first) < len(places) else ()


def _target(function: Any) -> Any:
    """What has the parameters that a caller sees: the function itself, of a module its forward."""
    return function if hasattr(function, "__code__") else getattr(function, "forward", function)


def parameters_of(function: Any) -> list[str]:
    """The names that positional arguments have."""
    target = _target(function)
    bound = 1 if isinstance(target, MethodType) else 0
    code = getattr(target, "__code__", None)
    return [] if code is None else list(code.co_varnames[bound : code.co_argcount])


def has_parameter(function: Any, label: str) -> bool:
    """Whether an argument may have that label."""
    code = getattr(_target(function), "__code__", None)
    if code is None or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return True
    return label.partition("[")[0] in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
