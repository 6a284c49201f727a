"""What stands for memory while a function is traced: buffers, and windows on them.

Ops that give views make windows; a write through one is seen through all of them, as it is eagerly.
In the program nothing is overwritten: a write gives the buffer another value.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from lumus.core import kernels
from lumus.core.kernels.kernel import Kernel
from lumus.core.site import Site, call_site, describe, source_line
from lumus.core.spec import Spec
from lumus.errors import TraceError

if TYPE_CHECKING:
    from lumus.trace.program import Var
    from lumus.trace.tracer import ProgramTracer


class Buffer:
    """Memory of a traced function: the value that it has now, and the writes so far."""

    __slots__ = ("changes", "journal", "var", "written")

    def __init__(self, var: Var) -> None:
        self.var = var
        self.changes = 0
        self.journal: list[tuple[str, Site | None]] = []
        self.written: tuple[str, Site | None] | None = None


class Link:
    """One view op on the way from a buffer to a window on it."""

    __slots__ = ("attrs", "kernel", "op", "spec")

    def __init__(self, op: str, attrs: Any, kernel: Kernel, spec: Spec) -> None:
        self.op = op
        self.attrs = attrs
        self.kernel = kernel
        self.spec = spec


class Value:
    """The data of a tensor in a traced function: a window on a buffer.

    It answers what eager arrays are asked (`version`, `strides`, ...), but holds no elements: to
    ask for them raises TraceError. `layout` is an array without memory that has the window's shape
    and strides, by which it is known which ops give views.
    """

    __slots__ = ("_changes", "_var", "buffer", "layout", "links", "spec", "tracer")

    readonly = False
    is_whole = True
    use_count = 1

    def __init__(
        self,
        tracer: ProgramTracer,
        buffer: Buffer,
        spec: Spec,
        layout: Any,
        links: tuple[Link, ...] = (),
        var: Var | None = None,
    ) -> None:
        self.tracer = tracer
        self.buffer = buffer
        self.spec = spec
        self.layout = layout
        self.links = links
        self._var = var or buffer.var
        self._changes = buffer.changes

    def current(self) -> Var:
        """The value that it has now."""
        buffer = self.buffer
        if not self.links:
            return buffer.var
        if self._changes != buffer.changes:
            self._var = self.tracer.through(buffer.var, self.links)
            self._changes = buffer.changes
        return self._var

    @property
    def version(self) -> int:
        """How often the buffer has been written."""
        return len(self.buffer.journal)

    @property
    def storage_id(self) -> int:
        """Equal for windows on one buffer."""
        return id(self.buffer)

    @property
    def is_contiguous(self) -> NoReturn:
        """Asked of arguments of compiled functions, which are none of another trace."""
        raise self.used_outside()

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next along each axis."""
        return tuple(self.layout.strides)

    def note_write(self, op: str, site: Site | None) -> None:
        """Remembers who wrote it."""
        self.buffer.journal.append((op, site))

    def overwritten_since(self, version: int) -> tuple[str, Site | None] | None:
        """Who wrote to the buffer after it had that version."""
        later = self.buffer.journal[version:]
        return later[0] if later else None

    def used_outside(self) -> TraceError:
        """The error for a value of a traced function that is used when the trace is over."""
        site = call_site()
        return TraceError(
            f"compile: a value of a compiled function ({self.spec!r}) was kept from when it was "
            f"traced, and is used at {describe(site)}; it holds no numbers",
            hint="return it from the compiled function instead of keeping it in an object",
            site=site,
        )

    def freeze(self) -> None:
        """Frozen memory is not made in a traced function."""

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        site = call_site()
        line = source_line(site)
        error = TraceError(
            f"compile: the value of {self.spec!r} is read at {describe(site)}, but in a compiled "
            "function values exist only when it runs" + (f"\n  {line}" if line else ""),
            hint="return the tensor and read it outside; for a choice by value use lumus.where",
            site=site,
        )
        raise self.tracer.refuse(error)

    __buffer__ = item = tolist = __array__

    def __reduce__(self) -> NoReturn:
        self.__array__()

    def __repr__(self) -> str:
        return f"<traced {self.spec!r}>"


@lru_cache(maxsize=4096)
def layout_of(shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Any:
    """An array without memory of that shape; dense unless strides are given."""
    if strides is None:
        dense: list[int] = []
        step = 1
        for length in reversed(shape):
            dense.append(step)
            step *= max(length, 1)
        strides = tuple(reversed(dense))
    return np.lib.stride_tricks.as_strided(_BYTE, shape, strides, writeable=False)


_BYTE = np.zeros(1, np.int8)


VIEWS = (
    kernels.Reshape,
    kernels.Permute,
    kernels.Slice,
    kernels.BroadcastTo,
    kernels.Windows,
)
"""The kernels that give a window on their only input; a reshape only where strides allow."""


def view_layouts(kernel: Kernel, layout: Any) -> list[Any] | None:
    """The layouts of what `kernel` makes of a window, if that is views of it; else None."""
    match kernel:
        case kernels.Reshape(shape):
            return _reshaped(layout, shape)
        case kernels.Permute(axes):
            return [layout.transpose(axes)]
        case kernels.Slice(starts, sizes, steps):
            return [_sliced(layout, starts, sizes, steps)]
        case kernels.BroadcastTo(shape):
            return [np.broadcast_to(layout, shape)]
        case kernels.Windows(axis, size, step):
            windows = np.lib.stride_tricks.sliding_window_view(layout, size, axis)
            return [windows[(slice(None),) * axis + (slice(None, None, step),)]]
        case _:
            return None


def _reshaped(layout: Any, shape: tuple[int, ...]) -> list[Any] | None:
    try:
        return [layout.reshape(shape, copy=False)]
    except ValueError:
        return None  # the strides do not allow it: a copy


def _sliced(
    layout: Any, starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]
) -> Any:
    strides = tuple(stride * step for stride, step in zip(layout.strides, steps, strict=True))
    return layout_of(sizes, strides)
