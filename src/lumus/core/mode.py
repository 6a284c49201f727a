"""How operations run in the current context: recorded or not, by which interpreter.

One context variable holds it all, so that an op asks once; context variables are right for threads
(a new thread starts with the default: recording, eager) and for asyncio tasks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lumus.core.plan import Plan
    from lumus.core.record import Node, Record
    from lumus.core.spec import Spec
    from lumus.core.tensor import Tensor
    from lumus.core.watch import Snapshot


class Interpreter:
    """One way to run an op whose plan is made: this one as if there were none, eagerly.

    Others override what they do otherwise. Values are whatever the interpreter says they are: what
    `run` returns becomes the `data` of the new tensors. Recording happens above, so an interpreter
    need know nothing of gradients.
    """

    has_values: bool = True
    """Whether data have elements that can be looked at now; a tracer's have none."""

    def run(self, plan: Plan, inputs: tuple[Tensor[Any], ...]) -> Any:
        """The data of the output (a tuple if the op has several)."""
        return plan.run(*[tensor.data for tensor in inputs])

    def run_into(
        self, plan: Plan, outputs: tuple[Tensor[Any], ...], inputs: tuple[Tensor[Any], ...]
    ) -> None:
        """Writes the outputs of an op into the memory of existing tensors."""
        plan.into([tensor.data for tensor in outputs], [tensor.data for tensor in inputs])

    def vjp(
        self, node: Node, record: Record, grads: tuple[Tensor[Any] | None, ...]
    ) -> tuple[Tensor[Any] | None, ...]:
        """The gradients of the inputs of `node`, whose record is `record`, in a backward pass.

        The ops of the vjp go through `run` as all do; this tells whose gradient they compute.
        """
        given: tuple[Any, ...] = grads
        return record.vjp(*given)


class Source(Protocol):
    """Numbers that Python gives anew at each call of a traced function, in two steps."""

    def values(self) -> tuple[float | int, ...]:
        """The numbers of this call, in row-major order; asked for before the program runs."""
        ...

    def commit(self) -> None:
        """Called when the call has succeeded."""
        ...


TracedError = TypeVar("TracedError", bound=Exception)


class Tracer(Interpreter, ABC):
    """An interpreter that writes ops down, to be run later and more than once.

    What Python does meanwhile it does once; the methods are for code that means to do it each time.
    """

    has_values = False
    refused: Exception | None = None

    def refuse(self, error: TracedError) -> TracedError:
        """Remembers an error that ends the trace, even if the traced function catches it."""
        self.refused = error
        return error

    @abstractmethod
    def count(self, what: Hashable) -> int:
        """How often it has been asked that in this trace; `what` is kept until its end."""

    @abstractmethod
    def when_refused(self, undo: Callable[[], object]) -> None:
        """Remembers what to do if the trace ends with an error."""

    @abstractmethod
    def made(self, data: Any, spec: Spec) -> Any:
        """The data to use for memory that Python has just filled: anew at each call."""

    @abstractmethod
    def host(self, source: Source, spec: Spec) -> Any:
        """The data of an input that Python computes at each call."""

    @abstractmethod
    def guard(self, what: str, read: Callable[[], Any], watch: Callable[[Snapshot], None]) -> Any:
        """What `read` returns now; the program holds as long as it returns the same.

        `watch` adds the places that it depends on to a snapshot: it is asked again when they
        change.
        """

    @abstractmethod
    def recorded(self, node: Node) -> None:
        """Called for each node that joins a graph."""

    @abstractmethod
    def has_recorded(self, node: Node) -> bool:
        """Whether a node was recorded in this trace."""


class Mode:
    """What `apply` needs to know of its context. Immutable."""

    __slots__ = (
        "_within",
        "derives",
        "interpreter",
        "notes_cuts",
        "outer",
        "records",
        "tracer",
        "tracks",
    )

    def __init__(
        self,
        records: bool,
        notes_cuts: bool,
        interpreter: Interpreter | None,
        outer: Mode | None = None,
        *,
        derives: bool = False,
    ) -> None:
        self.records = records
        self.notes_cuts = notes_cuts
        self.interpreter = interpreter
        self.outer = outer  # what a block that set this one returns to
        self.derives = derives  # whether a function runs whose derivative is wanted (`grad`)
        # Whether an op that meets a tensor of a graph has anything to do about it.
        self.tracks = records or notes_cuts
        # The interpreter, if it traces.
        self.tracer = interpreter if isinstance(interpreter, Tracer) else None
        # Modes within the outermost one, which lives as long as the process, are made once.
        is_outermost = outer is None and interpreter is None
        self._within: dict[tuple[bool, bool], Mode] | None = {} if is_outermost else None

    @property
    def has_values(self) -> bool:
        """Whether the elements of tensors can be looked at now."""
        return self.interpreter is None or self.interpreter.has_values

    def with_(self, *, records: bool, notes_cuts: bool) -> Mode:
        """The same interpreter with recording set otherwise."""
        known = None if self._within is None else self._within.get((records, notes_cuts))
        if known is not None:
            return known
        made = Mode(records, notes_cuts, self.interpreter, self, derives=self.derives)
        if self._within is not None:
            self._within[records, notes_cuts] = made
        return made

    def deriving(self) -> Mode:
        """The same interpreter, recording for the derivative of the function that runs."""
        return Mode(True, True, self.interpreter, self, derives=True)

    def eager(self) -> Mode:
        """Eager and unrecorded, for what is to happen now although the context traces."""
        return Mode(False, False, None, self)


EAGER = Mode(records=True, notes_cuts=True, interpreter=None)

MODE: ContextVar[Mode] = ContextVar("lumus_mode", default=EAGER)


@contextmanager
def eagerly() -> Generator[None]:
    """What is inside happens now, and unrecorded, although the context may trace."""
    token = MODE.set(MODE.get().eager())
    try:
        yield
    finally:
        MODE.reset(token)
