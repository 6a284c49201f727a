"""How operations run in the current context: recorded or not, by which interpreter.

One context variable holds it all, so that an op asks once; context variables are right for threads
(a new thread starts with the default: recording, eager) and for asyncio tasks.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from lumus.core.plan import Plan
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


class Mode:
    """What `apply` needs to know of its context. Immutable."""

    __slots__ = ("interpreter", "notes_cuts", "outer", "records", "tracks")

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

    def with_(self, *, records: bool, notes_cuts: bool) -> Mode:
        """The same interpreter with recording set otherwise."""
        return Mode(records, notes_cuts, self.interpreter, self)


EAGER = Mode(records=True, notes_cuts=True, interpreter=None)

MODE: ContextVar[Mode] = ContextVar("lumus_mode", default=EAGER)
