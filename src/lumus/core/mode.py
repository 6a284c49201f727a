"""How operations run in the current context: recorded or not, by which interpreter.

One context variable holds it all, so that an op asks once; context variables are right for threads
(a new thread starts with the default: recording, eager) and for asyncio tasks.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lumus.core.plan import Plan
    from lumus.core.record import Node
    from lumus.core.spec import Spec
    from lumus.core.tensor import Tensor


class Interpreter(Protocol):
    """One way to run an op whose plan is made. Eager execution is the absence of one.

    Values are whatever the interpreter says they are: what `run` returns becomes the `data` of the
    new tensors. Recording happens above, so an interpreter knows nothing of gradients.
    """

    def run(self, plan: Plan, inputs: tuple[Tensor[Any], ...]) -> Any:
        """The data of the output (a tuple if the op has several)."""
        ...

    def run_into(
        self, plan: Plan, outputs: tuple[Tensor[Any], ...], inputs: tuple[Tensor[Any], ...]
    ) -> None:
        """Writes the outputs of an op into the memory of existing tensors."""
        ...


class Source(Protocol):
    """Numbers that Python gives anew at each call of a traced function, in two steps."""

    def values(self) -> Sequence[float | int]:
        """The numbers of this call, in row-major order; asked for before the program runs."""
        ...

    def commit(self) -> None:
        """Called when the call has succeeded."""
        ...


class Tracer(Interpreter, Protocol):
    """An interpreter that writes ops down, to be run later and more than once.

    What Python does meanwhile it does once; the methods are for code that means to do it each time.
    """

    is_tracer: bool

    def made(self, data: Any, spec: Spec) -> Any:
        """The data to use for memory that Python has just filled: anew at each call."""
        ...

    def host(self, source: Source, spec: Spec) -> Any:
        """The data of an input that Python computes at each call."""
        ...

    def guard(self, what: str, read: Callable[[], Any]) -> Any:
        """What `read` returns now; the program holds as long as it returns the same."""
        ...

    def recorded(self, node: Node) -> None:
        """Called for each node that joins a graph."""
        ...

    def has_recorded(self, node: Node) -> bool:
        """Whether a node was recorded in this trace."""
        ...


class Mode:
    """What `apply` needs to know of its context. Immutable."""

    __slots__ = ("interpreter", "notes_cuts", "outer", "records", "tracer", "tracks")

    def __init__(
        self,
        records: bool,
        notes_cuts: bool,
        interpreter: Interpreter | None,
        outer: Mode | None = None,
    ) -> None:
        self.records = records
        self.notes_cuts = notes_cuts
        self.interpreter = interpreter
        self.outer = outer  # what a block that set this one returns to
        # Whether an op that meets a tensor of a graph has anything to do about it.
        self.tracks = records or notes_cuts
        # The interpreter, if it traces.
        self.tracer: Tracer | None = (
            cast("Tracer", interpreter) if getattr(interpreter, "is_tracer", False) else None
        )

    def with_(self, *, records: bool, notes_cuts: bool) -> Mode:
        """The same interpreter with recording set otherwise."""
        return Mode(records, notes_cuts, self.interpreter, self)

    def eager(self) -> Mode:
        """Eager and unrecorded, for what is to happen now although the context traces."""
        return Mode(False, False, None, self)


EAGER = Mode(records=True, notes_cuts=True, interpreter=None)

MODE: ContextVar[Mode] = ContextVar("lumus_mode", default=EAGER)
