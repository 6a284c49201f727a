"""A specialisation of a compiled function: its native plan, and how it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from lumus import _native
from lumus.compile.assigned import Assignment
from lumus.compile.lower_cpu import Lowered
from lumus.compile.report import VariantInfo
from lumus.core.device import out_of_memory
from lumus.core.index_errors import index_error
from lumus.core.kernels.outside import Checked
from lumus.core.op import op_index_error
from lumus.core.record import Origin
from lumus.core.site import described_line
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.core.tree import Tree
from lumus.core.watch import Snapshot
from lumus.errors import IndexRangeError, TraceError
from lumus.trace.program import Equation, Program


class Returning(Protocol):
    """A program, and how results are made of what its plan computes."""

    program: Program

    @property
    def assigned(self) -> Sequence[Assignment]:
        """What each call assigns in Python."""
        ...

    @property
    def only(self) -> tuple[Spec, Origin] | None:
        """The spec and the origin of the result, if it is one tensor that is computed."""
        ...

    @property
    def seen(self) -> Snapshot | None:
        """The places that must stand for it to serve every call of its kind; None: ask `serves`."""
        ...

    def difference(self) -> str | None:
        """What has changed since the program was made; None if nothing that matters."""
        ...

    def serves(self, tensors: Sequence[Tensor[Any]], /) -> bool:
        """Whether the program holds for a call of its kind with these tensors."""
        ...

    def results(self, tensors: Sequence[Tensor[Any]], data: list[Any], /) -> Any:
        """What the function returns to a call with these tensors."""
        ...


class Variant:
    """One specialisation: the program of a kind of call, and its native plan."""

    def __init__(
        self, arguments: Tree, traced: Returning, lowered: Lowered, info: VariantInfo
    ) -> None:
        self.statics = arguments  # holds the values by whose identity the key goes
        self.traced = traced
        self.info = info
        self.lowered = lowered
        self.call = _native.PlanCall(
            lowered.executable,
            [(array, host.source) for host, array in lowered.hosts],
            _writes_of(traced.program) if traced.program.writes else None,
            traced.only,
            traced.results,
            self._told,
            info.uses,
        )

    def difference(self) -> str | None:
        """What has changed in Python since the trace; None if nothing that matters."""
        found = self.traced.difference()
        self.call.seen = self.traced.seen
        return found

    def serves(self, tensors: Sequence[Tensor[Any]]) -> bool:
        """Whether the program holds for a call of its kind with these tensors."""
        is_served = self.traced.serves(tensors)
        self.call.seen = self.traced.seen
        return is_served

    def run(self, tensors: Sequence[Tensor[Any]], data: list[Any] | None = None) -> Any:
        """Runs the plan on the tensors of a call of its kind; `data` are theirs if not given."""
        results = self.call.run(tensors, data)
        for one in self.traced.assigned:
            one.redo()
        return results

    def _told(self, error: BaseException | None, data: list[Any]) -> BaseException:
        """What to raise for an error of the plan, or for arguments in memory that it writes."""
        if error is None:
            return self._shared_memory(data)
        if isinstance(error, _native.IndexOutOfRange):
            return self._index_error(error)
        if isinstance(error, _native.CheckFailed):
            value, at = error.args
            failed = self._step(at)
            checked = cast("Checked", failed.kernel)
            return checked.failure(value, self._where(failed))
        if isinstance(error, _native.CalledWithin):
            name = self.info.name
            return TraceError(
                f"compile: {name} is called from within itself: Python code that its plan calls "
                f"back, such as an op of your own, called {name} again",
                hint=f"call {name}.function there, or compile what both need by itself",
            )
        return out_of_memory(self.info.name, self.traced.program.equations[-1].outputs[0].spec)

    def _index_error(self, error: _native.IndexOutOfRange) -> IndexRangeError:
        """The error of an index that a step has met, in the words of its op, with the line."""
        if error.args[4] < 0:
            return index_error(self.info.name, error)
        failed = self._step(error.args[4])
        told = op_index_error(failed.op, error)
        told.message += self._where(failed)
        return told

    def _step(self, number: int) -> Equation:
        """What a native step computes."""
        return [row.equation for row in self.lowered.rows if row.how == "step"][number]

    def _where(self, failed: Equation) -> str:
        site = failed.sites[0] if failed.sites else None
        return f"; in {self.info.name}, at {described_line(site)}"

    def _shared_memory(self, data: list[Any]) -> TraceError:
        """Tells which argument lies in memory that the function writes."""
        program = self.traced.program
        targets = {write.target for write in program.writes}
        is_written = [var in targets for var in program.inputs]
        for at, one in enumerate(data):
            others = [
                (f"argument {other}", array, is_written[other])
                for other, array in enumerate(data)
                if other != at
            ]
            others += [
                (capture.var.label or "a tensor from outside", capture.data, capture.var in targets)
                for capture in program.captures
            ]
            for name, array, is_other_written in others:
                shares = one.storage_id == array.storage_id and _native.arrays_overlap(one, array)
                if shares and (is_written[at] or is_other_written):
                    return _shared(self.info.name, at, one.shape, name, is_other_written)
        raise AssertionError("no argument shares memory")


def _shared(name: str, at: int, shape: Any, other: str, is_other_written: bool) -> TraceError:
    argument = f"argument {at} of {name} ({shape})"
    if is_other_written:
        what = f"{argument} shares memory with {other}, which the function writes"
    else:
        what = f"{argument}, which the function writes, shares memory with {other}"
    return TraceError(
        f"compile: {what}",
        hint="give .copy() of one of them, or use one of them in the function",
    )


def _writes_of(program: Program) -> _native.Writes:
    kept = {capture.var: capture.data for capture in program.captures}
    arrays: list[tuple[Any, str, object]] = []
    arguments: list[tuple[int, str, object]] = []
    for write in program.writes:
        if write.target in kept:
            arrays.append((kept[write.target], write.op, write.site))
        else:
            arguments.append((program.inputs.index(write.target), write.op, write.site))
    targets = {write.target for write in program.writes}
    read = [one.data for one in program.captures if one.var not in targets]
    return _native.Writes(arrays, arguments, read)
