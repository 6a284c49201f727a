"""A tiny interpreter: it prints each op, and leaves the work to the eager kernels."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lumus.core.mode import MODE, Interpreter, Mode
from lumus.core.plan import Plan
from lumus.core.tensor import Tensor


class Printer(Interpreter):
    """Notes the name of each op that runs, and a line of text for it."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lines: list[str] = []

    def run(self, plan: Plan, inputs: tuple[Tensor[Any], ...]) -> Any:
        self._note(plan, "")
        return super().run(plan, inputs)

    def run_into(
        self, plan: Plan, outputs: tuple[Tensor[Any], ...], inputs: tuple[Tensor[Any], ...]
    ) -> None:
        self._note(plan, ", in place")
        super().run_into(plan, outputs, inputs)

    def _note(self, plan: Plan, suffix: str) -> None:
        self.names.append(plan.name)
        inputs = ", ".join(map(repr, plan.specs))
        outputs = ", ".join(map(repr, plan.outputs))
        self.lines.append(f"{plan.name}({inputs}) -> {outputs}{suffix}")


@contextmanager
def printing() -> Iterator[Printer]:
    """Ops inside run through a printer."""
    printer, mode = Printer(), MODE.get()
    token = MODE.set(Mode(mode.records, mode.notes_cuts, printer))
    try:
        yield printer
    finally:
        MODE.reset(token)
