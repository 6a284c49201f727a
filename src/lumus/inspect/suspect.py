"""A result that is not finite: who made it so, and the text that tells it. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumus.core.construct import new_tensor
from lumus.core.dtypes import DType, bfloat16, float64
from lumus.core.frozen import frozen
from lumus.core.mode import MODE, Mode
from lumus.core.op import OPS
from lumus.core.record import Leaf, Node
from lumus.core.site import Site, described_line
from lumus.core.tensor import Tensor
from lumus.errors import NonFiniteError

Array: TypeAlias = NDArray[Any]
Index = tuple[int, ...]

_PLAIN = Mode(records=False, notes_cuts=False, interpreter=None)


@frozen
class Kinds:
    """Which values are hunted."""

    nan: bool
    inf: bool

    def among(self, values: Array) -> Array:
        """Where they are."""
        return _union(np.zeros(values.shape, bool), [test(values) for test in self.tests()])

    def tests(self) -> list[Callable[[Array], Array]]:
        """A test for each kind."""
        hunted: list[tuple[bool, Callable[[Array], Array]]] = [
            (self.nan, np.isnan),
            (self.inf, np.isinf),
        ]
        return [test for wanted, test in hunted if wanted]

    def __str__(self) -> str:
        if self.nan:
            return "not finite" if self.inf else "nan"
        return "infinite"


@frozen
class Operand:
    """A tensor that an op computes from, and what to call it."""

    name: str
    tensor: Tensor[Any]


@frozen
class Suspect:
    """A result with values that are hunted.

    `what` calls it by a name, `output` is its number. `is_aligned`: each element was computed from
    those of the operands at its place. `node` is the op whose gradient it is, None in forward.
    """

    kinds: Kinds
    op: str
    what: str
    output: int
    result: Tensor[Any]
    operands: tuple[Operand, ...]
    is_aligned: bool
    node: Node | None
    site: Site
    note: str = ""

    def error(
        self,
        is_meant: Callable[[Tensor[Any]], bool],
        name_of: Callable[[Tensor[Any]], str],
    ) -> NonFiniteError | None:
        """The error for it; None when all it holds comes from operands of which `is_meant`."""
        result = values_of(self.result)
        operands = [values_of(one.tensor) for one in self.operands]
        found = self._blame(is_meant, result, operands)
        if found is None:
            return None
        made, source = found
        if source is not None:
            return self._came_in(self.operands[source], operands[source], name_of)
        return self._made(result, made, operands, name_of)

    def _blame(
        self,
        is_meant: Callable[[Tensor[Any]], bool],
        result: Array,
        operands: Sequence[Array],
    ) -> tuple[Array, int | None] | None:
        """(where, number of the operand that it comes from; None: from the op itself)."""
        tests = self.kinds.tests()
        if self.is_aligned:  # each element answers for itself, whichever kind it makes of another
            tests.insert(0, self.kinds.among)
        for test in tests:
            bad = test(result)
            held = [self._held(test, values) for values in operands]
            made = bad & ~_union(np.zeros_like(bad), held)
            if made.any():
                return made, None
            for number, (one, here) in enumerate(zip(self.operands, held, strict=True)):
                if (bad & here).any() and not is_meant(one.tensor):
                    return bad & here, number
        return None

    def _held(self, test: Callable[[Array], Array], values: Array) -> Array:
        here = test(values)
        return here if self.is_aligned else np.asarray(here.any())

    def _made(
        self,
        result: Array,
        made: Array,
        operands: Sequence[Array],
        name_of: Callable[[Tensor[Any]], str],
    ) -> NonFiniteError:
        index = _first(made)
        value = result[index]
        count = int(self.kinds.among(result).sum())
        dtype = self.result.dtype
        lines = [
            f"{self._head()}: {self.what} {_holds(value, index, dtype)}"
            f"{_share(count, result.size, self.kinds)}",
            *self._places("computed"),
        ]
        numbers: dict[str, float] = {}
        told = []
        for one, values in zip(self.operands, operands, strict=True):
            if self.is_aligned:
                place = _place_in(values.shape, index)
                numbers[one.name] = values[place].item()
                said = f"{one.name}{_brackets(place)} = {_text(values[place], one.tensor.dtype)}"
            else:
                said = f"{one.name}: {one.tensor.spec!r} {_range(values, one.tensor.dtype)}"
            told.append(said + _called(name_of(one.tensor)))
        if told:
            lines.append(f"  from {', '.join(told)}")
        return self._error(lines, index, value.item(), count, operands=numbers)

    def _came_in(
        self,
        source: Operand,
        values: Array,
        name_of: Callable[[Tensor[Any]], str],
    ) -> NonFiniteError:
        bad = self.kinds.among(values)
        index, count = _first(bad), int(bad.sum())
        value, name = values[index], name_of(source.tensor)
        lines = [
            f"{self._head()}: {source.name}{_called(name)} itself "
            f"{_holds(value, index, source.tensor.dtype)}, before any op of the block"
            f"{_share(count, values.size, self.kinds)}",
        ]
        if self.node is None or source.tensor.node is not self.node:
            lines.append(f"  {_whence(source.tensor)}")
        lines += self._places("used")
        return self._error(lines, index, value.item(), count, incoming=source.name)

    def _head(self) -> str:
        return self.op if self.node is None else f"backward of {self.op}"

    def _places(self, done: str) -> list[str]:
        site = described_line(self.site)
        if self.node is None:
            return [f"  {done} at {site}"]
        forward = described_line(self.node.site)
        return [f"  {self.op} ran at {forward}", f"  backward at {site}"]

    def _error(
        self, lines: list[str], index: Index, value: float, count: int, **fields: Any
    ) -> NonFiniteError:
        if self.note:
            lines.append(f"  {self.note}")
        hint = None
        if value == -np.inf and self.node is None and self.op in OPS:
            hint = f"if it is meant, as in a mask: allow=({self.op!r},), or inf=False"
        return NonFiniteError(
            "\n".join(lines),
            hint=hint,
            op=self.op,
            output=self.output,
            index=index,
            value=value,
            count=count,
            site=self.site,
            forward_site=None if self.node is None else self.node.site,
            **{"operands": {}, **fields},
        )


def values_of(tensor: Tensor[Any]) -> Array:
    """The elements, on or off a graph; floats as float64, in which all of them are exact."""
    token = MODE.set(_PLAIN)
    try:
        plain: Tensor[Any] = new_tensor(tensor.data, tensor.spec)
        if plain.dtype.kind == "float":
            plain = plain.astype(float64)
        values: Array = plain.numpy()
        return values
    finally:
        MODE.reset(token)


def first_in(tensor: Tensor[Any], kinds: Kinds) -> tuple[Index, float, int] | None:
    """(index of the first, its value, how many) of the hunted values in a tensor."""
    values = values_of(tensor)
    bad = kinds.among(values)
    if not bad.any():
        return None
    index = _first(bad)
    return index, values[index].item(), int(bad.sum())


def describe_first(first: tuple[Index, float, int], tensor: Tensor[Any], kinds: Kinds) -> str:
    """What `first_in` found, in words."""
    index, value, count = first
    return _holds(value, index, tensor.dtype) + _share(count, tensor.size, kinds)


def _whence(tensor: Tensor[Any]) -> str:
    leaf = _leaf_of(tensor)
    if leaf is not None:
        return f"created at {described_line(leaf.site)}"
    node = tensor.node
    if node is not None:
        return f"made by {node.op} at {described_line(node.site)}"
    return f"a tensor {tensor.spec!r} off any graph, so the line that made it is not known"


def _leaf_of(tensor: Tensor[Any]) -> Leaf | None:
    """The leaf that a tensor is, or is a view of."""
    node = tensor.node
    while node is not None and not isinstance(node, Leaf):
        node = node.edges[0][0] if len(node.origins) == 1 and node.edges else None
    if node is None or tensor.node is node:
        return node
    whole = node.tensor()
    shared = whole is not None and whole.data.storage_id == tensor.data.storage_id
    return node if shared else None


def _union(where: Array, others: Sequence[Array]) -> Array:
    for one in others:
        where = where | one
    return where


def _first(where: Array) -> Index:
    return tuple(int(one) for one in np.unravel_index(int(np.argmax(where)), where.shape))


def _place_in(shape: Index, index: Index) -> Index:
    """The place in an operand of `shape` that is broadcast to the element at `index`."""
    tail = index[len(index) - len(shape) :]
    return tuple(0 if length == 1 else at for at, length in zip(tail, shape, strict=True))


def _holds(value: Any, index: Index, dtype: DType[Any]) -> str:
    return f"holds {_text(value, dtype)} at {index}" if index else f"is {_text(value, dtype)}"


def _share(count: int, size: int, kinds: Kinds) -> str:
    return f" ({count} of {size} elements {'is' if count == 1 else 'are'} {kinds})" * (size > 1)


def _brackets(index: Index) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def _called(name: str) -> str:
    return f" ({name})" if name else ""


def _text(value: Any, dtype: DType[Any]) -> str:
    if dtype.kind != "float":
        return str(value)
    return str(np.dtype("float32" if dtype is bfloat16 else dtype.name).type(value))


def _range(values: Array, dtype: DType[Any]) -> str:
    if not values.size:
        return "without elements"
    if not np.isfinite(values).all():
        bad = ~np.isfinite(values)
        return f"that {_holds(values[_first(bad)], _first(bad), dtype)}"
    return f"of {_text(values.min(), dtype)} to {_text(values.max(), dtype)}"
