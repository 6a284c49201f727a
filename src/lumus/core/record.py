"""The backward graph as data: what an op keeps (records of saved values) and how ops connect
(nodes).

Nothing here is a closure. A `Record` is a frozen dataclass with a field for each value that its
derivative needs; a `Node` ties it to the nodes of its inputs and to the line that made it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from inspect import get_annotations
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    TypeVar,
    dataclass_transform,
)
from weakref import ref

from lumus.core import construct
from lumus.core.frozen import frozen
from lumus.core.kinds import Float, K_co
from lumus.core.site import Site, describe
from lumus.core.spec import Spec

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor


_new: Any = object.__new__


MAX_CUTS_NAMED = 3
MAX_NODES_LOOKED_AT = 16


class Saved(Generic[K_co]):
    """A value kept for backward: its storage, held strongly, and the version it had.

    `origin` is its place on the graph, so that it differentiates again. An op's own output, number
    `output`, is saved by `saved_output`, without its node, which would make a reference cycle; the
    engine supplies that node when a second derivative needs it.
    """

    __slots__ = ("data", "origin", "output", "spec", "version")

    def __init__(self, tensor: Tensor[K_co]) -> None:
        self.data = tensor.data
        self.spec = tensor.spec
        self.version: int = tensor.data.version
        self.origin: Origin = tensor.origin
        self.output: int | None = None

    def tensor(self) -> Tensor[K_co]:
        """The value as a tensor on its graph. The engine has checked the version before."""
        value = _new(construct.tensor_class)
        value.data = self.data
        value.spec = self.spec
        value.origin = self.origin
        return value

    def on_node(self, node: Node) -> Saved[K_co]:
        """A copy of a saved output that hangs on its op's node."""
        bound: Saved[K_co] = Saved.__new__(Saved)
        bound.data, bound.spec, bound.version = self.data, self.spec, self.version
        assert self.output is not None
        bound.origin, bound.output = (node, self.output), None
        return bound

    def overwritten_by(self) -> tuple[str, Site | None] | None:
        """(op, call site) of a later write to any of these elements, or None."""
        if self.data.version == self.version:
            return None
        written: tuple[str, Site | None] | None = self.data.overwritten_since(self.version)
        return written

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.spec.nbytes

    def __repr__(self) -> str:
        return f"Saved({self.spec!r}, {self.nbytes} bytes)"


def saved_output(tensor: Tensor[K_co], index: int = 0) -> Saved[K_co]:
    """Saves output number `index` of the op being recorded."""
    saved = Saved(tensor)
    saved.origin, saved.output = None, index
    return saved


class Record(ABC):
    """What one op keeps for its backward. Subclasses are decorated with `@record`.

    The fields are the memory: `Saved` values, and plain data such as axes. The docstring is the
    derivative in a line.
    """

    __slots__ = ()
    field_names: ClassVar[tuple[str, ...]] = ()
    saved_fields: ClassVar[tuple[str, ...]] = ()
    by_signature: ClassVar[bool] = False
    """True when what it holds depends on specs, attrs and needs alone.

    Then one serves all calls.
    """

    @abstractmethod
    def vjp(self, grad: Tensor[Float], /) -> tuple[Tensor[Float] | None, ...]:
        """The gradient of each input, given that of the output; None where none is needed.

        Of several outputs it is given one each, ``vjp(self, *grads)``, None for those that none
        has arrived at (not all). Written with tensor ops, so that it can be differentiated again
        and traced.
        """

    def saved(self) -> list[tuple[str, Saved[Any]]]:
        """(field name, value) of everything kept."""
        kept: list[tuple[str, Saved[Any]]] = []
        for name in self.saved_fields:
            value = getattr(self, name)
            if value.__class__ is Saved:
                kept.append((name, value))
            elif value is not None:
                kept.extend((f"{name}[{position}]", one) for position, one in enumerate(value))
        return kept

    def bound_to(self, node: Node) -> Record:
        """The same record with its saved outputs hung on `node`, for a second derivative."""
        values = {name: getattr(self, name) for name in self.field_names}
        for name in self.saved_fields:
            value = values[name]
            if isinstance(value, Saved) and value.output is not None:
                values[name] = value.on_node(node)
        return type(self)(**values)


R = TypeVar("R", bound=type[Record])


@dataclass_transform(frozen_default=True)
def record(cls: R) -> R:
    """Makes a Record class immutable and slotted, and notes which fields are saved values."""
    kinds = get_annotations(cls)
    made = frozen(cls)
    made.saved_fields = tuple(name for name, kind in kinds.items() if "Saved[" in str(kind))
    return made  # type: ignore[return-value]


CutReason = Literal["detach", "no_grad", "op", "compile"]


@frozen
class Cut:
    """Where a tensor left the graph: detached, made under no_grad, by an op without gradient, or
    returned by a compiled function.

    `detail` is why the op has none. `leaves` are those that the tensor came from, None when they
    are too many to have been looked for.
    """

    reason: CutReason
    op: str
    site: Site
    source: ref[Node]
    detail: str = ""
    leaves: tuple[ref[Node], ...] | None = None

    def __str__(self) -> str:
        if self.reason == "detach":
            return f"detached at {describe(self.site)}"
        if self.reason == "no_grad":
            return f"made under no_grad at {describe(self.site)} (op {self.op})"
        if self.reason == "compile":
            return f"made by a compiled function, at {describe(self.site)}"
        return f"made at {describe(self.site)} by {self.op}, which has no gradient: {self.detail}"

    def reaches(self, leaf: Node) -> bool | None:
        """Whether what was cut off came from `leaf`; None when that is no longer known."""
        node = self.source()
        if node is None:
            return None if self.leaves is None else any(one() is leaf for one in self.leaves)
        pending, seen = [node], {id(node)}
        while pending:
            current = pending.pop()
            if current is leaf:
                return True
            for source, _ in current.edges:
                if id(source) not in seen:
                    seen.add(id(source))
                    pending.append(source)
        return False


def why_not_reached(leaf: Node, cuts: Iterable[Cut], root: str) -> str:
    """Why a backward from `root`, which met `cuts`, did not reach a leaf."""
    unsure: list[str] = []
    for cut in cuts:
        reaches = cut.reaches(leaf)
        if reaches:
            return f"it was cut off: {cut}"
        if reaches is None and cut.reason != "op":
            unsure.append(str(cut))
    if not unsure:
        return f"it is not connected to {root}"
    listed = ", or ".join(dict.fromkeys(unsure[:MAX_CUTS_NAMED]))
    return f"it is not connected to {root}, or it was cut off where a value was {listed}"


Edge = tuple["Node", int]
"""A node and which of its outputs is meant."""

Origin = Edge | Cut | None
"""Where an input comes from: a place on the graph, a cut, or nowhere that matters."""


@frozen
class Consumed:
    """Stands in a node for the record that a backward, called at `site`, has released."""

    site: Site


class Node:
    """One recorded op: its record, the origin of each input, the line that made it.

    `plan` says which op it is, with which attrs and outputs.
    """

    __slots__ = ("__weakref__", "origins", "plan", "record", "site")

    def __init__(
        self,
        plan: Signature,
        record: Record | Consumed | None,
        origins: tuple[Origin, ...],
        site: Site | None,
    ) -> None:
        self.plan = plan
        self.record = record
        self.origins = origins
        self.site = site

    @property
    def edges(self) -> list[Edge]:
        """The places on the graph that its inputs come from."""
        return [origin for origin in self.origins if isinstance(origin, tuple)]

    @property
    def cuts(self) -> list[Cut]:
        """The cuts that its inputs come from."""
        return [origin for origin in self.origins if isinstance(origin, Cut)]

    @property
    def consumed_at(self) -> Site | None:
        """Where backward was called that released the record; None while it is there."""
        return self.record.site if isinstance(self.record, Consumed) else None

    @property
    def op(self) -> str:
        """The op's name."""
        return self.plan.name

    @property
    def attrs(self) -> Any:
        """The op's static arguments, None if it has none."""
        return self.plan.attrs

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The outputs' specs."""
        return self.plan.outputs

    def __repr__(self) -> str:
        return f"<{self.op} -> {', '.join(map(repr, self.specs))}>"


class Signature(Protocol):
    """What a node knows of its op: a plan of dispatch, or the little that a leaf has."""

    name: str
    attrs: Any
    outputs: tuple[Spec, ...]


class LeafSignature:
    """The signature of a leaf: its spec."""

    __slots__ = ("attrs", "name", "outputs")

    def __init__(self, spec: Spec) -> None:
        self.name = "leaf"
        self.attrs: Any = None
        self.outputs: tuple[Spec, ...] = (spec,)


class Leaf(Node):
    """Where a graph begins: a tensor that requires grad and was not computed."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor[Float], site: Site | None) -> None:
        super().__init__(LeafSignature(tensor.spec), None, (), site)
        self.tensor = ref(tensor)


def leaves_near(node: Node) -> tuple[ref[Node], ...] | None:
    """The leaves that lead to a node, if they are found without a long search.

    The nodes between them and a value that was cut off may be gone when somebody asks.
    """
    if node.__class__ is Leaf:
        return (ref(node),)
    found = {node: None}
    pending = [node]
    for one in pending:
        for origin in one.origins:
            if isinstance(origin, tuple) and origin[0] not in found:
                if len(found) == MAX_NODES_LOOKED_AT:
                    return None
                found[origin[0]] = None
                pending.append(origin[0])
    return tuple([ref(one) for one in pending if one.__class__ is Leaf])
