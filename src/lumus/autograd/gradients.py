"""`GradStore`: the gradients that a backward pass returns, by tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, overload

from lumus.core.argument import check_tensors, real
from lumus.core.construct import made_tensor
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, float64, is_half
from lumus.core.kinds import TITLE, Float
from lumus.core.mode import MODE
from lumus.core.record import Cut, Leaf, Node, why_not_reached
from lumus.core.site import Site, describe
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, GradientError, MissingGradientError
from lumus.ops.elementwise.where import where
from lumus.ops.interop.checked import checked

D = TypeVar("D")


class GradStore(Mapping[Tensor[Float], Tensor[Float]]):
    """A mapping from tensor to gradient.

    Gradients are values: nothing is stored on the tensors, a new backward gives a new store, and
    each gradient owns its memory. Tensors are keys by identity. `store[w]` raises
    MissingGradientError, which says why, for a tensor that backward did not reach; a gradient of
    zero is something else.
    """

    __slots__ = ("_cuts", "_entries", "_root", "_taken")

    def __init__(self) -> None:
        self._entries: dict[Node, tuple[Tensor[Float], Tensor[Float]]] = {}
        self._cuts: tuple[Cut, ...] = ()
        # The op and the line of the backward's root; put into words when somebody asks.
        self._root: tuple[str, Site | None] | None = None
        self._taken: set[Node] = set()

    # The mapping
    # -----------------------------------------------------------------------------------

    def __getitem__(self, tensor: Tensor[Float]) -> Tensor[Float]:
        check_tensors("gradients", tensor)
        entry = self._entries.get(tensor.node) if tensor.node is not None else None
        if entry is None:
            raise self._missing(tensor)
        return entry[1]

    def __iter__(self) -> Iterator[Tensor[Float]]:
        return (tensor for tensor, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, tensor: object) -> bool:
        return isinstance(tensor, Tensor) and tensor.node in self._entries

    @overload
    def get(self, tensor: Tensor[Float], /) -> Tensor[Float] | None: ...
    @overload
    def get(self, tensor: Tensor[Float], /, default: D) -> Tensor[Float] | D: ...
    def get(self, tensor: Tensor[Float], /, default: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The gradient, or `default` for a tensor that was not reached."""
        return self[tensor] if tensor in self else default

    def take(self, tensor: Tensor[Float]) -> Tensor[Float]:
        """Removes and returns the gradient, so that its memory can go when the caller is done."""
        grad = self[tensor]
        assert tensor.node is not None
        del self._entries[tensor.node]
        self._taken.add(tensor.node)
        return grad

    def replace(self, tensor: Tensor[Float], grad: Tensor[Float]) -> None:
        """Sets the gradient of a leaf; it must have the leaf's shape and dtype."""
        check_tensors("replace", tensor, grad)
        if not isinstance(tensor.node, Leaf):
            raise GradientError(
                f"replace: {tensor.spec!r} is not a leaf that requires grad, so it has no gradient",
                hint="call .requires_grad_() on it first",
            )
        if grad.spec is not tensor.spec:
            raise ArgumentError(
                f"replace: the gradient is {grad.spec!r}, its tensor {tensor.spec!r}"
            )
        self._entries[tensor.node] = (tensor, grad)

    def merge(self, other: GradStore) -> None:
        """Adds another store's gradients to these; the other store stays as it is."""
        if not isinstance(other, GradStore):
            raise ArgumentError(f"merge: expected a GradStore, got {type(other).__name__}")
        totals = {
            node: (tensor, self._entries[node][1] + grad if node in self._entries else grad.copy())
            for node, (tensor, grad) in other._entries.items()
        }
        self._entries.update(totals)
        self._cuts = (*self._cuts, *(cut for cut in other._cuts if cut not in self._cuts))
        self._root = self._root or other._root

    def pairs(self) -> list[tuple[Tensor[Float], Tensor[Float]]]:
        """(leaf, gradient) of all, in order."""
        return list(self._entries.values())

    @staticmethod
    def of(pairs: Iterable[tuple[Tensor[Float], Tensor[Float]]]) -> GradStore:
        """A store of (leaf, gradient) pairs."""
        store = GradStore()
        for tensor, grad in pairs:
            store.replace(tensor, grad)
        return store

    def __copy__(self) -> GradStore:
        store = GradStore()
        store._entries = dict(self._entries)
        store._cuts, store._root, store._taken = self._cuts, self._root, set(self._taken)
        return store

    def __reduce__(self) -> Any:
        raise GradientError(
            "GradStore: gradients belong to the tensors of this process, so a store cannot be "
            "pickled or copied deeply",
            hint="take the gradients out: [store[p] for p in parameters]; copy.copy works",
        )

    # Norms
    # -----------------------------------------------------------------------------------------

    def global_norm(self) -> Tensor[Float]:
        """The 2-norm of all gradients together, a 0-d tensor: sqrt(sum of all squares).

        Computed with the largest element taken out, so that it overflows only if the norm itself
        does.
        """
        if not self._entries:
            raise GradientError("global_norm: the store holds no gradients")
        return _global_norm([grad for _, grad in self._entries.values()])

    def clip_(self, max_norm: float) -> Tensor[Float]:
        """Scales all gradients by min(1, max_norm / global_norm), and returns the norm before.

        Gradients below the limit stay as they are, bit for bit, and zeros stay zeros. Raises
        ArgumentError for a limit that is negative or NaN, and GradientError, changing nothing, when
        the norm is not finite.
        """
        max_norm = real("clip_", "max_norm", max_norm)
        if not max_norm >= 0:
            raise ArgumentError(f"clip_: max_norm must be at least 0, got {max_norm}")
        norm = self.global_norm()
        if MODE.get().tracer is not None:
            return self._clip_traced(norm, max_norm)
        value = float(norm)
        if not math.isfinite(value):
            where = ", ".join(
                repr(tensor.spec)
                for tensor, grad in self._entries.values()
                if not bool(grad.isfinite().all())
            )
            raise GradientError(
                f"clip_: the norm of the gradients is {value}; not finite in "
                f"{where or 'none alone'}",
                hint="nothing was changed; print(loss.graph()) shows the ops on the way",
            )
        if value > max_norm:
            self._entries = {
                node: (tensor, _scaled(grad, max_norm / value))
                for node, (tensor, grad) in self._entries.items()
            }
        return norm

    def _clip_traced(self, norm: Tensor[Float], max_norm: float) -> Tensor[Float]:
        """`clip_` in a compiled function, where the norm has no value yet; the same bits."""
        told = "clip_: the norm of the gradients is {}"
        hint = "look for what made a gradient not finite"
        sure = checked(norm, norm.isfinite(), GradientError, told, hint)
        wide = sure.astype(float64)
        scale = where(wide > max_norm, max_norm / wide, 1.0)
        self._entries = {
            node: (tensor, _times(grad, scale)) for node, (tensor, grad) in self._entries.items()
        }
        return norm

    # Explanations
    # ----------------------------------------------------------------------------------

    def why(self, tensor: Tensor[Any]) -> str:
        """Why the store has no gradient for `tensor`, in a sentence."""
        check_tensors("why", tensor)
        if tensor in self:
            return "the store has its gradient"
        if tensor.spec.dtype.kind != "float":
            return f"it is of kind {TITLE[tensor.spec.dtype.kind]}, which has no gradients"
        if tensor.node is None:
            if tensor.cut is not None:
                return f"it is not on the graph, it comes from a value {tensor.cut}"
            return "it never required grad"
        if not isinstance(tensor.node, Leaf):
            return (
                f"it was computed (by {tensor.node.op} at {describe(tensor.node.site)}); "
                "a store holds the gradients of leaves"
            )
        if tensor.node in self._taken:
            return "its gradient was taken out, by .take or the step of an optimiser"
        if self._root is None:
            return "no backward has filled the store"
        op, site = self._root
        return why_not_reached(tensor.node, self._cuts, f"the {op} at {describe(site)}")

    def _missing(self, tensor: Tensor[Any]) -> MissingGradientError:
        reason = self.why(tensor)
        return MissingGradientError(
            f"no gradient for {tensor.spec!r}: {reason}", reason=reason, hint=_hint(reason)
        )

    def __repr__(self) -> str:
        listed = ", ".join(repr(tensor.spec) for tensor in self)
        return f"GradStore({len(self)} gradients: {listed})"


def _hint(reason: str) -> str | None:
    if "never required grad" in reason:
        return (
            "create it with requires_grad=True, or call .requires_grad_() before the forward pass"
        )
    if "computed" in reason:
        return "detach it and make it a leaf, or use lumus.grad with it as an argument"
    if "detached at" in reason:
        return "leave out .detach() if its gradient is wanted"
    if "under no_grad" in reason:
        return "compute that outside lumus.no_grad() if its gradient is wanted"
    if "taken out" in reason:
        return "call backward again for another step"
    if "not connected" in reason:
        return "use store.get(tensor) if that is expected"
    return None


def _scaled(grad: Tensor[Float], scale: float) -> Tensor[Float]:
    """The gradient times a number, which half precision might not hold."""
    # Not `grad * scale`: the cache of constants would keep a number that does not come again.
    spec = spec_of((), float64, grad.device)
    return _times(grad, made_tensor(grad.device.full(spec, scale), spec))


def _times(grad: Tensor[Float], factor: Tensor[Float]) -> Tensor[Float]:
    wide = grad.astype(float32) if is_half(grad.dtype) else grad
    return (wide * factor.astype(wide.dtype)).astype(grad.dtype)


def _global_norm(grads: list[Tensor[Float]]) -> Tensor[Float]:
    mode = MODE.get()
    token = MODE.set(mode.with_(records=False, notes_cuts=False))
    try:
        wide = [grad.astype(float32) if is_half(grad.dtype) else grad for grad in grads]
        largest = apply(
            "max",
            _joined([grad.abs().max() for grad in wide if grad.size]),
            axes=(0,),
            keepdims=False,
        )
        # A zero scale would give 0/0; where it is zero or infinite, the plain sum is the answer.
        scale = where((largest > 0) & largest.isfinite(), largest, 1.0)
        squares = [((grad / scale.astype(grad.dtype)).square()).sum() for grad in wide]
        return _joined(squares).sum().sqrt() * scale
    finally:
        MODE.reset(token)


def _joined(scalars: list[Tensor[Float]]) -> Tensor[Float]:
    widest = float64 if any(one.dtype is float64 for one in scalars) else float32
    rows = [one.astype(widest).reshape(1) for one in scalars]
    return rows[0] if len(rows) == 1 else apply("concat", *rows, axis=0)
