"""A specialisation of a compiled function: its native plan, and how it is called."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any, Protocol

from lumus import _native
from lumus.compile.lower_cpu import Lowered
from lumus.compile.report import VariantInfo
from lumus.core.device import out_of_memory
from lumus.core.index_errors import index_error
from lumus.core.tensor import Tensor
from lumus.core.tree import Tree
from lumus.errors import TraceError
from lumus.trace.program import Program

_clock = itertools.count()


class Returning(Protocol):
    """A program, and how results are made of what its plan computes."""

    program: Program

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
        self.used = next(_clock)  # when it ran last, in calls of all compiled functions
        self._run = lowered.executable.run
        self._returned = traced.results
        # Inputs from Python lie in arrays of the plan: one call at a time.
        self._turn = threading.RLock()
        self._hosts = [(host.source.values, array) for host, array in lowered.hosts]
        self._commits = [host.source.commit for host, _ in lowered.hosts]
        self._writes = _writes_of(traced.program) if traced.program.writes else None

    def run(self, tensors: Sequence[Tensor[Any]], data: list[Any] | None = None) -> Any:
        """Runs the plan on the tensors of a call of its kind; `data` are theirs if not given."""
        if data is None:
            data = [tensor.data for tensor in tensors]
        if self._writes is not None and self._writes.meet(data):
            raise self._shared_memory(data)
        try:
            results: list[Any] = self._run_hosted(data) if self._hosts else self._run(data)
        except _native.IndexOutOfRange as error:
            raise index_error(self.info.name, error) from None
        except MemoryError:
            spec = self.traced.program.equations[-1].outputs[0].spec
            raise out_of_memory(self.info.name, spec) from None
        if self._writes is not None:
            self._writes.note(data)
        self.info.num_calls += 1
        self.used = next(_clock)
        return self._returned(tensors, results)

    def _run_hosted(self, data: list[Any]) -> list[Any]:
        """Runs the plan with the numbers that Python gives."""
        with self._turn:
            for values, array in self._hosts:
                _native.set_numbers(array, values())
            results: list[Any] = self._run(data)
            for commit in self._commits:
                commit()
        return results

    def _shared_memory(self, data: list[Any]) -> TraceError:
        """Tells which argument lies in memory that the function writes."""
        program = self.traced.program
        places = [one.storage_id for one in data]
        targets = {write.target for write in program.writes}
        written = {one.data.storage_id for one in program.captures if one.var in targets}
        outside = set(written)
        written.update(
            place for var, place in zip(program.inputs, places, strict=True) if var in targets
        )
        at = next(
            at
            for at, place in enumerate(places)
            if place in outside or (place in written and places.count(place) > 1)
        )
        return TraceError(
            f"compile: argument {at} of {self.info.name} ({data[at].shape}) shares memory with a "
            "tensor that the function writes",
            hint="give .copy() of it, or use the other one in the function",
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
    return _native.Writes(arrays, arguments)
