"""A specialisation of a compiled function: its native plan, and how it is called."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
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
        # Inputs from Python lie in arrays of the plan: one call at a time.
        self._turn: AbstractContextManager[Any] = (
            threading.RLock() if lowered.hosts else nullcontext()
        )
        self._hosts = [(host.source.values, array) for host, array in lowered.hosts]
        self._commits = [host.source.commit for host, _ in lowered.hosts]
        program = traced.program
        kept = {capture.var: capture.data for capture in program.captures}
        self._writes: list[tuple[Any, str, object]] = [
            (kept[write.target], write.op, write.site)
            for write in program.writes
            if write.target in kept
        ]
        self._storages = {array.storage_id for array, _, _ in self._writes}
        self._writes_of_arguments = [
            (program.inputs.index(write.target), write)
            for write in program.writes
            if write.target not in kept
        ]

    def run(self, data: list[Any], tensors: Sequence[Tensor[Any]]) -> Any:
        """Runs the plan on the data of a call of its kind."""
        if self._writes or self._writes_of_arguments:
            self._check_apart(data)
        with self._turn:
            for values, array in self._hosts:
                _native.set_numbers(array, values())
            results = self._results_of(data)
            for commit in self._commits:
                commit()
        if self._writes:
            _native.note_writes(self._writes)
        for place, write in self._writes_of_arguments:
            data[place].note_write(write.op, write.site)
        self.info.num_calls += 1
        self.used = next(_clock)
        return self.traced.results(tensors, results)

    def _results_of(self, data: list[Any]) -> list[Any]:
        try:
            results: list[Any] = self._run(data)
        except _native.IndexOutOfRange as error:
            raise index_error(self.info.name, error) from None
        except MemoryError:
            spec = self.traced.program.equations[-1].outputs[0].spec
            raise out_of_memory(self.info.name, spec) from None
        return results

    def _check_apart(self, data: list[Any]) -> None:
        """Raises TraceError when an argument lies in memory that the function writes."""
        places = [one.storage_id for one in data]
        if not self._writes_of_arguments and self._storages.isdisjoint(places):
            return
        written = {*self._storages, *[places[at] for at, _ in self._writes_of_arguments]}
        several = len(set(places)) < len(places)
        for at, place in enumerate(places):
            shared = place in self._storages or (several and places.count(place) > 1)
            if shared and place in written:
                raise TraceError(
                    f"compile: argument {at} of {self.info.name} ({data[at].shape}) shares memory "
                    "with a tensor that the function writes",
                    hint="give .copy() of it, or use the other one in the function",
                )
