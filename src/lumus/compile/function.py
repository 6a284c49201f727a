"""`compile`: a function as native plans, one for each kind of call."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, cast, overload

from lumus import _native
from lumus.compile.assigned import refused
from lumus.compile.call import Call, has_parameter, parameters_of
from lumus.compile.files import write_program
from lumus.compile.freeze import Copies
from lumus.compile.freeze import freeze as frozen_values
from lumus.compile.lower_cpu import lower
from lumus.compile.pipeline import optimised
from lumus.compile.report import CacheInfo, VariantInfo, counted, explanation
from lumus.compile.sizes import Sizes
from lumus.compile.tracing import Traced, trace
from lumus.compile.variant import Variant
from lumus.core.argument import flag
from lumus.core.broadcast import integer
from lumus.core.frozen import frozen
from lumus.core.mode import MODE
from lumus.core.tree import is_simple
from lumus.errors import ArgumentError, TraceError
from lumus.io.tensors import PathLike
from lumus.trace.program import Program
from lumus.trace.text.saved import SavedProgram

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class Options:
    """What `compile` is told besides the function, checked."""

    max_variants: int
    dynamic: Mapping[str, int]
    fast_math: bool
    freeze: bool


class CompiledFunction(_native.Called, Generic[P, R]):
    """A function that runs as native plans; made by `compile`.

    Calls go to the table of those that a plan serves as they are; others are `_missed` there.
    """

    if TYPE_CHECKING:

        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def __init__(self, function: Callable[P, R], options: Options) -> None:
        self._calls = _native.CallTable()  # the last variant of each kind of simple calls
        super().__init__(self._calls)
        self.function = function
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self.options = options
        self._sizes = Sizes(options.dynamic)
        self._variants: dict[Any, list[Variant]] = {}
        self._infos: list[VariantInfo] = []
        # What all variants share: the memory they compute in, and the values that are built in.
        self._arena = _native.Arena()
        self._copies = Copies()
        self._lock = threading.RLock()
        functools.update_wrapper(self, function, updated=())

    def _missed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that the table has nothing for, or whose surroundings have to be looked at."""
        mode = MODE.get()
        if mode.interpreter is not None or mode.derives:
            return cast("Callable[..., Any]", self.function)(*args, **kwargs)
        found = self._calls.find(args, kwargs, mode.records)
        if found is not None:
            known: Variant = found[0]
            if known.serves(found[1]):
                return known.run(found[1])
        call = self._call(args, kwargs)
        variant = self._variant(call)
        cast("Traced", variant.traced).outside.check_leaves(call, self.name)
        if is_simple(call.tree):
            self._calls.put(args, kwargs, call.records, variant, variant.call)
        return variant.run(call.tensors)

    def __repr__(self) -> str:
        return f"<compiled {self.name}: {counted(len(self._infos), 'variant')}>"

    def __get__(self, owner: Any, _: type[Any] | None = None) -> Any:
        return self if owner is None else BoundFunction(self, owner)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction[P, R]:
        """Itself, as functions are; of an object's method that of the copied object."""
        function = copy.deepcopy(self.function, memo)
        return self if function is self.function else CompiledFunction(function, self.options)

    def __reduce__(self) -> Any:
        """Its name, if it has the place of its function, or what it is made of; no programs."""
        place: Any = sys.modules.get(self.__module__)
        for name in getattr(self, "__qualname__", "").split("."):
            place = getattr(place, name, None)
        if place is self:
            return cast("Any", self).__qualname__
        return CompiledFunction, (self.function, self.options)

    def cache_info(self) -> CacheInfo:
        """Every specialisation: why it was made, how long that took, the memory of its plan."""
        return CacheInfo(self.name, tuple(self._infos), self._arena.nbytes)

    def clear(self) -> None:
        """Forgets all specialisations, and their memory."""
        with self._lock:
            self._variants.clear()
            self._calls.clear()
            self._infos.clear()
            self._sizes.clear()
            self._copies.clear()
            self._arena = _native.Arena()  # a plan that runs keeps the one that it has

    def program(self, *args: P.args, **kwargs: P.kwargs) -> Program:
        """The traced program of a call with these arguments, before the passes; runs nothing."""
        traced = trace(self._call(args, kwargs), self.name)
        traced.abandon()
        return traced.program

    def optimised(self, *args: P.args, **kwargs: P.kwargs) -> Program:
        """The program of such a call after the passes; runs nothing."""
        return self._optimised(self.program(*args, **kwargs))

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """What the plan of such a call does: kernels, bytes, operations, memory; runs nothing."""
        variant = self._variant(self._call(args, kwargs))
        return explanation(self.name, variant.lowered)

    def save(self, path: PathLike, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Writes the program of such a call to a file, which `lumus.load_program` loads.

        What it reads of a model lies beside it, at ``path + ".safetensors"``. Nothing is run. It is
        saved before the passes, so that the lumus that loads it makes it as fast as it can.

        **Raises.** TraceError, before anything is written, for what needs Python when it runs: a
        custom op, an optimiser's step, a random generator of one's own, and for arguments and
        results that are no tensors or plain values.
        """
        call = self._call(args, kwargs)
        traced = trace(call, self.name, is_whole=True)
        passed = tuple([result.place for result in traced.returned])
        write_program(path, SavedProgram(traced.program, call.tree, traced.form, passed))

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return Call(self.function, args, kwargs, MODE.get().records)

    # Specialising ---------------------------------------------------------------------------------

    def _optimised(self, program: Program) -> Program:
        if self.options.freeze:
            program = frozen_values(program, self._copies)
        return optimised(program, fast_math=self.options.fast_math)

    def _variant(self, call: Call) -> Variant:
        for variant in self._variants.get(call.key, ()):
            if variant.difference() is None:
                return variant
        with self._lock:
            return self._specialised(call)

    def _specialised(self, call: Call) -> Variant:
        known = self._variants.get(call.key, [])
        for variant in known:  # another thread may have made it
            if variant.difference() is None:
                return variant
        info = VariantInfo(self.name, call.signature(), self._reason(call, known))
        limit = self.options.max_variants
        if self._sizes.num_families(call, self._variants) >= limit:
            raise TraceError(
                f"compile: {self.name} would be specialised for the {limit + 1}th "
                f"time ({info.reason}); {self.cache_info()}",
                hint="keep shapes and Python values the same (a last batch can be left out), give "
                'numbers that change as tensors, name axes whose sizes vary (dynamic={"x": 0}), or '
                "raise max_variants",
            )
        start = time.perf_counter()
        traced = self._traced(call)
        middle = time.perf_counter()
        program = self._optimised(traced.program)
        strides = {
            var: tuple(tensor.data.strides)
            for var, tensor in zip(program.inputs, call.tensors, strict=True)
        }
        lowered = lower(program, strides, self._arena)
        info.trace_s, info.compile_s = middle - start, time.perf_counter() - middle
        info.arena_bytes = lowered.memory.arena_bytes
        info.naive_bytes = lowered.memory.naive_bytes
        variant = Variant(call.tree, traced, lowered, info)
        gone = self._sizes.make_room(call, self._variants)
        if gone:
            self._calls.clear()
            self._infos = [one for one in self._infos if all(one is not v.info for v in gone)]
        self._variants.setdefault(call.key, []).append(variant)
        self._infos.append(info)
        return variant

    def _traced(self, call: Call) -> Traced:
        """The trace of a call; raises TraceError for one that would assign in Python each time."""
        traced = trace(call, self.name)
        if traced.assigned:
            for one in traced.assigned:
                one.redo()
            codes = traced.surroundings.codes()
            try:
                again = trace(call, self.name)
            except Exception as error:  # a second call would be no such call
                traced.abandon()
                if isinstance(error, TraceError):
                    raise
                raise refused(self.name, traced.assigned[0], codes) from error
            finally:
                for one in traced.assigned:
                    one.undo()
            if again.assigned:
                again.abandon()
                traced.abandon()
                name = again.assigned[0].what
                told = next((one for one in traced.assigned if one.what == name), again.assigned[0])
                raise refused(self.name, told, codes)
        return traced

    def _reason(self, call: Call, known: list[Variant]) -> str:
        """What differs from the variant before."""
        if known:
            return known[-1].traced.difference() or "the same again"
        if not self._infos:
            return "first call"
        before, now = [
            dict(part.split(": ", 1) for part in signature)
            for signature in (self._infos[-1].signature, call.signature())
        ]
        changed = [
            f"{label}: {before.get(label, 'nothing')} -> {now.get(label, 'nothing')}"
            for label in {**before, **now}
            if before.get(label) != now.get(label)
        ]
        return ", ".join(changed) or "another object or array that looks the same"


def _dynamic_axes(dynamic: Mapping[str, int] | None) -> dict[str, int]:
    if dynamic is None:
        return {}
    if not isinstance(dynamic, Mapping) or not all(isinstance(name, str) for name in dynamic):
        raise ArgumentError(
            f"compile: dynamic must name arguments and their axes that vary, got {dynamic!r}",
            hint='for axis 0 of an argument x: dynamic={"x": 0}',
        )
    return {name: integer("compile", "dynamic", axis) for name, axis in dynamic.items()}


class BoundFunction:
    """A compiled function as a method of `owner`, which stands before the other arguments."""

    __slots__ = ("function", "owner")

    def __init__(self, function: CompiledFunction[..., Any], owner: Any) -> None:
        self.function = function
        self.owner = owner

    @property
    def __wrapped__(self) -> MethodType:
        """The method that it compiles."""
        return MethodType(self.function.function, self.owner)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.owner, *args, **kwargs)

    def cache_info(self) -> CacheInfo:
        """See `CompiledFunction.cache_info`; of all owners."""
        return self.function.cache_info()

    def clear(self) -> None:
        """See `CompiledFunction.clear`; for all owners."""
        self.function.clear()

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """See `CompiledFunction.program`."""
        return self.function.program(self.owner, *args, **kwargs)

    def optimised(self, *args: Any, **kwargs: Any) -> Program:
        """See `CompiledFunction.optimised`."""
        return self.function.optimised(self.owner, *args, **kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """See `CompiledFunction.explain`."""
        return self.function.explain(self.owner, *args, **kwargs)

    def save(self, path: PathLike, /, *args: Any, **kwargs: Any) -> None:
        """See `CompiledFunction.save`; the owner is none of the saved program's arguments."""
        bound = MethodType(self.function.function, self.owner)
        compile(bound).save(path, *args, **kwargs)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BoundFunction:
        """The same function, as a method of the copied owner."""
        return BoundFunction(self.function, copy.deepcopy(self.owner, memo))


@overload
def compile(function: Callable[P, R], /) -> CompiledFunction[P, R]: ...
@overload
def compile(
    *,
    max_variants: int = 8,
    dynamic: Mapping[str, int] | None = None,
    fast_math: bool = False,
    freeze: bool = False,
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
@overload
def compile(
    function: Callable[P, R],
    /,
    *,
    max_variants: int = 8,
    dynamic: Mapping[str, int] | None = None,
    fast_math: bool = False,
    freeze: bool = False,
) -> CompiledFunction[P, R]: ...
def compile(
    function: Any = None,
    /,
    *,
    max_variants: int = 8,
    dynamic: Mapping[str, int] | None = None,
    fast_math: bool = False,
    freeze: bool = False,
) -> Any:
    """A function that runs as one native call: forward, backward, optimiser's update and all.

    The function is traced at the first call of each kind (shapes, dtypes, layouts, Python values):
    its ops become a program, which is made better and then run without Python. Tensors among the
    arguments (also in lists, tuples and dicts) are inputs; tensors from outside (a model's
    parameters, an optimiser's state) are read, and written in place, where they are. Rates of
    schedules and random numbers are new at each call, and equal to those of eager execution. Other
    Python values are built in; when one that the function reads has changed (an argument, a global
    or enclosed number, an attribute of a module, train or eval mode), it is traced again. Reading
    a value inside (``if loss > 1``, ``.item()``) raises TraceError.

    `max_variants` is how many specialisations there may be. `dynamic` names arguments with an axis
    whose length varies, ``{"x": 0}``: each length has a plan of its own, which does not count; all
    compute in the same memory, and the 1,024 used last are kept. `fast_math` allows that sums and
    products are reordered. `freeze` builds in, for inference, the values that tensors from outside
    have when it is traced (those that it does not write): the plan is faster, and what is written
    to them later does not reach it.

    Called while another function is traced, within `lumus.grad`, or with another interpreter in
    force, the function runs as it is. What it returns is not on a graph: call backward inside.

    **Raises.** TraceError for what cannot be traced, or for too many specialisations; whatever the
    function raises. An error in tracing changes no tensor.

    >>> import lumus as lm
    >>> w = lm.nn.Parameter(lm.tensor([1.0, 2.0]))
    >>> opt = lm.optim.SGD([w], lr=0.1)
    >>> @lm.compile
    ... def step(x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
    ...     loss = (w * x).sum()
    ...     opt.step(loss.backward())
    ...     return loss
    >>> step(lm.tensor([3.0, 4.0])).item(), step(lm.tensor([3.0, 4.0])).item()
    (11.0, 8.5)
    """
    limit = integer("compile", "max_variants", max_variants)
    if limit < 1:
        raise ArgumentError(f"compile: max_variants must be at least 1, got {max_variants}")
    axes = _dynamic_axes(dynamic)
    options = Options(
        limit, axes, flag("compile", "fast_math", fast_math), flag("compile", "freeze", freeze)
    )

    def made(wrapped: Callable[..., Any]) -> CompiledFunction[..., Any]:
        if not callable(wrapped):
            raise ArgumentError(f"compile: needs a function, got {type(wrapped).__name__}")
        if inspect.isgeneratorfunction(wrapped) or inspect.iscoroutinefunction(wrapped):
            raise ArgumentError(
                f"compile: {wrapped.__name__} is a generator or coroutine, which runs in pieces",
                hint="compile a function that it calls",
            )
        unknown = [name for name in axes if not has_parameter(wrapped, name)]
        if unknown:
            known = ", ".join(parameters_of(wrapped)) or "none"
            raise ArgumentError(
                f"compile: dynamic names {unknown[0]!r}, which is no parameter; there are: {known}"
            )
        return CompiledFunction(wrapped, options)

    return made if function is None else made(function)
