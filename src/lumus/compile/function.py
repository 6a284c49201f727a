"""`compile`: a function as native plans, one for each kind of call."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MethodType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload
from weakref import ref

from lumus import _native
from lumus.autograd.backward import leaves_near
from lumus.autograd.gradients import GradStore
from lumus.compile.files import write_program
from lumus.compile.freeze import freeze as frozen_values
from lumus.compile.lower_cpu import Lowered, lower
from lumus.compile.pipeline import optimised
from lumus.compile.report import CacheInfo, VariantInfo, explanation
from lumus.compile.surroundings import Surroundings
from lumus.core.argument import flag
from lumus.core.broadcast import integer
from lumus.core.construct import new_tensor
from lumus.core.device import out_of_memory
from lumus.core.index_errors import index_error
from lumus.core.mode import MODE, Mode
from lumus.core.record import Cut, Leaf
from lumus.core.site import call_site
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.core.tree import CONTAINERS, LEAF, Branch, StaticLeaf, Tree, put_together, take_apart
from lumus.errors import ArgumentError, TraceError
from lumus.io.tensors import PathLike
from lumus.trace.program import Program
from lumus.trace.text.saved import SavedProgram
from lumus.trace.tracer import ProgramTracer
from lumus.trace.value import Value

P = ParamSpec("P")
R = TypeVar("R")

MAX_SIZES = 32
"""How many sizes of axes that may vary are kept."""

_clock = itertools.count()


class _Call:
    """The arguments of one call, taken apart."""

    __slots__ = ("key", "tensors", "tree")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], records: bool) -> None:
        self.tensors: list[Tensor[Any]] = []
        self.tree: Branch = take_apart((args, kwargs), self.tensors)
        self.key = (
            self.tree,
            records,
            tuple([_kind_of(tensor, records) for tensor in self.tensors]),
        )

    def statics(self) -> Iterator[Any]:
        """The values that are no tensors."""
        pending: list[Tree] = [self.tree]
        for one in pending:
            if isinstance(one, Branch):
                pending.extend(one.items)
            elif isinstance(one, StaticLeaf):
                yield one.value


def _kind_of(tensor: Tensor[Any], records: bool) -> tuple[Spec, Any, bool]:
    """What a program depends on of an argument: its spec, its layout, whether it is a leaf."""
    data = tensor.data
    layout = None if data.is_contiguous else data.strides
    return tensor.spec, layout, records and tensor.origin.__class__ is tuple


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
        for values, array in self._hosts:
            _native.set_numbers(array, values())
        try:
            results = self._run(data)
        except _native.IndexOutOfRange as error:
            raise index_error(self.info.name, error) from None
        except MemoryError:
            spec = self.traced.program.equations[-1].outputs[0].spec
            raise out_of_memory(self.info.name, spec) from None
        for commit in self._commits:
            commit()
        if self._writes:
            _native.note_writes(self._writes)
        for place, write in self._writes_of_arguments:
            data[place].note_write(write.op, write.site)
        self.info.num_calls += 1
        self.used = next(_clock)
        return self.traced.results(tensors, results)

    def _check_apart(self, data: list[Any]) -> None:
        """Raises TraceError when an argument lies in memory that the function writes."""
        places = [one.storage_id for one in data]
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


class Returning(Protocol):
    """A program, and how results are made of what its plan computes."""

    program: Program

    def difference(self) -> str | None:
        """What has changed since the program was made; None if nothing that matters."""
        ...

    def results(self, tensors: Sequence[Tensor[Any]], data: list[Any], /) -> Any:
        """What the function returns to a call with these tensors."""
        ...


class _Traced:
    """A program with the form of what the function returned."""

    def __init__(
        self,
        program: Program,
        tracer: ProgramTracer,
        form: Tree,
        results: list[_Result],
        surroundings: Surroundings,
    ) -> None:
        self.program = program
        self.guards = tracer.guards
        self.form = form
        self.returned = results
        self.surroundings = surroundings

    def difference(self) -> str | None:
        """What has changed in Python since the trace; None if nothing that matters."""
        for what, read, value in self.guards:
            now = read()
            if now != value:
                return f"{what}: {value!r} -> {now!r}"
        return self.surroundings.difference()

    def results(self, tensors: Sequence[Tensor[Any]], data: list[Any]) -> Any:
        """What the function returns, made of the tensors of the call and what the plan computed."""
        arrays = iter(data)
        if self.form is LEAF:
            return self.returned[0].tensor(tensors, arrays)
        made = iter([result.tensor(tensors, arrays) for result in self.returned])
        return put_together(self.form, made.__next__)


class _Result:
    """One tensor that the function returned: an argument, one from outside, or a computed one."""

    __slots__ = ("cut", "outside", "place", "spec")

    def __init__(self, tensor: Tensor[Any], arguments: dict[int, int], traced: bool) -> None:
        self.spec = tensor.spec
        self.place = arguments.get(id(tensor))
        self.outside = tensor if self.place is None and not traced else None
        self.cut = _cut_of(tensor) if traced else None

    @property
    def is_computed(self) -> bool:
        return self.place is None and self.outside is None

    def tensor(self, tensors: Sequence[Tensor[Any]], arrays: Iterator[Any]) -> Tensor[Any]:
        if self.place is not None:
            return tensors[self.place]
        if self.outside is not None:
            return self.outside
        made: Tensor[Any] = new_tensor(next(arrays), self.spec)
        made.origin = self.cut
        return made


def _cut_of(tensor: Tensor[Any]) -> Cut | None:
    """Why a result is not on a graph, if it would be on one without `compile`."""
    if tensor.origin.__class__ is not tuple:
        return None
    node = tensor.node
    assert node is not None
    return Cut("compile", node.op, call_site(), ref(node), leaves=leaves_near(node))


class CompiledFunction(Generic[P, R]):
    """A function that runs as native plans; made by `compile`."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        max_variants: int,
        dynamic: Mapping[str, int],
        fast_math: bool,
        freeze: bool,
    ) -> None:
        self.function = function
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self._max_variants = max_variants
        self._dynamic = dict(dynamic)
        self._fast_math = fast_math
        self._freeze = freeze
        self._variants: dict[Any, list[Variant]] = {}
        self._infos: list[VariantInfo] = []
        self._families: dict[Any, Any] = {}  # of keys, if sizes may vary
        self._plain: dict[tuple[Any, ...], Variant] = {}  # the last one of plain calls
        self._lock = threading.RLock()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        mode = MODE.get()
        if mode.interpreter is not None:
            return self.function(*args, **kwargs)
        if not kwargs:
            found = self._plain_call(cast("tuple[Any, ...]", args), mode)
            if found is not None:
                return cast("R", found[0].run(found[1], cast("tuple[Any, ...]", args)))
        call = _Call(args, kwargs, mode.records)
        variant = self._variant(call)
        data = [tensor.data for tensor in call.tensors]
        return cast("R", variant.run(data, call.tensors))

    def _plain_call(self, args: tuple[Any, ...], mode: Mode) -> tuple[Variant, list[Any]] | None:
        """The variant of a call of dense tensors off any graph, as most are, and their data."""
        specs: list[Any] = [mode.records]
        data: list[Any] = []
        for arg in args:
            if not isinstance(arg, Tensor):
                return None
            array = arg.data
            if arg.origin.__class__ is tuple or not array.is_contiguous:
                return None
            specs.append(arg.spec)
            data.append(array)
        variant = self._plain.get(tuple(specs))
        if variant is None:
            call = _Call(args, {}, mode.records)
            variant = self._plain[tuple(specs)] = self._variant(call)
        elif variant.traced.difference() is not None:
            del self._plain[tuple(specs)]
            return None
        return variant, data

    def __get__(self, owner: Any, _: type[Any] | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def cache_info(self) -> CacheInfo:
        """Every specialisation: why it was made, how long that took, the memory of its plan."""
        return CacheInfo(self.name, tuple(self._infos))

    def clear(self) -> None:
        """Forgets all specialisations, and their memory."""
        with self._lock:
            self._variants.clear()
            self._plain.clear()
            self._infos.clear()

    def program(self, *args: P.args, **kwargs: P.kwargs) -> Program:
        """The traced program of a call with these arguments, before the passes; runs nothing."""
        return self._trace(_Call(args, kwargs, MODE.get().records)).program

    def optimised(self, *args: P.args, **kwargs: P.kwargs) -> Program:
        """The program of such a call after the passes; runs nothing."""
        return self._optimised(self.program(*args, **kwargs))

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """What the plan of such a call does: kernels, bytes, operations, memory; runs nothing."""
        variant = self._variant(_Call(args, kwargs, MODE.get().records))
        return explanation(self.name, variant.lowered)

    def save(self, path: PathLike, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Writes the program of such a call to a file, which `lumus.load_program` loads.

        What it reads of a model lies beside it, at ``path + ".safetensors"``. Nothing is run. It is
        saved before the passes, so that the lumus that loads it makes it as fast as it can.

        **Raises.** TraceError, before anything is written, for what needs Python when it runs: a
        custom op, an optimiser's step, a random generator of one's own, and for arguments and
        results that are no tensors or plain values.
        """
        call = _Call(args, kwargs, MODE.get().records)
        traced = self._trace(call, is_whole=True)
        passed = tuple([result.place for result in traced.returned])
        write_program(path, SavedProgram(traced.program, call.tree, traced.form, passed))

    # Specialising ---------------------------------------------------------------------------------

    def _optimised(self, program: Program) -> Program:
        if self._freeze:
            program = frozen_values(program)
        return optimised(program, fast_math=self._fast_math)

    def _variant(self, call: _Call) -> Variant:
        try:
            known = self._variants.get(call.key)
        except TypeError:
            raise _unhashable(self.name, call) from None
        for variant in known or ():
            if variant.traced.difference() is None:
                return variant
        with self._lock:
            return self._specialised(call)

    def _specialised(self, call: _Call) -> Variant:
        known = self._variants.get(call.key, [])
        for variant in known:  # another thread may have made it
            if variant.traced.difference() is None:
                return variant
        info = VariantInfo(self.name, self._signature(call), self._reason(call, known))
        self._forget_sizes(call)
        if self._counted(call) >= self._max_variants:
            raise TraceError(
                f"compile: {self.name} would be specialised for the {self._max_variants + 1}th "
                f"time ({info.reason}); {self.cache_info()}",
                hint="keep shapes and Python values the same (a last batch can be left out), give "
                "numbers that change as tensors, or raise max_variants",
            )
        start = time.perf_counter()
        traced = self._trace(call)
        middle = time.perf_counter()
        program = self._optimised(traced.program)
        strides = {
            var: tuple(tensor.data.strides)
            for var, tensor in zip(program.inputs, call.tensors, strict=True)
        }
        lowered = lower(program, strides)
        info.trace_s, info.compile_s = middle - start, time.perf_counter() - middle
        info.arena_bytes = lowered.memory.arena_bytes
        info.naive_bytes = lowered.memory.naive_bytes
        variant = Variant(call.tree, traced, lowered, info)
        self._variants.setdefault(call.key, []).append(variant)
        self._infos.append(info)
        return variant

    # Sizes that may vary --------------------------------------------------------------------------

    def _family(self, call: _Call) -> Any:
        """What calls have in common that differ only in sizes which may vary."""
        labels = self._labels(call)
        kinds: list[Any] = []
        for label, (spec, layout, leaf) in zip(labels, call.key[2], strict=True):
            axis = self._dynamic.get(label)
            if axis is None:
                kinds.append((spec, layout, leaf))
                continue
            if not -spec.ndim <= axis < spec.ndim:
                raise ArgumentError(
                    f"compile: {label} has shape {spec.shape}, so no axis {axis} that could vary"
                )
            shape = list(spec.shape)
            shape[axis] = -1
            kinds.append((tuple(shape), spec.dtype, spec.device, leaf))
        return (call.tree, call.key[1], tuple(kinds))

    def _counted(self, call: _Call) -> int:
        """How many variants there are, those that differ in such sizes from each other as one."""
        if not self._dynamic:
            return len(self._infos)
        families = set(self._families.values()) - {self._family(call)}
        return len(families)

    def _forget_sizes(self, call: _Call) -> None:
        """Makes room for one more size: the one of the family that was used longest ago goes."""
        if not self._dynamic:
            return
        family = self._family(call)
        alike = [key for key, other in self._families.items() if other == family]
        if len(alike) >= MAX_SIZES:
            oldest = min(alike, key=lambda key: max(v.used for v in self._variants[key]))
            gone = self._variants.pop(oldest)
            del self._families[oldest]
            self._plain.clear()
            self._infos = [one for one in self._infos if all(one is not v.info for v in gone)]
        self._families[call.key] = family

    def _trace(self, call: _Call, *, is_whole: bool = False) -> _Traced:
        """Traces a call. If `is_whole`, tensors from outside that are returned are outputs, too."""
        surroundings = Surroundings(self.function, call.statics())
        tracer = ProgramTracer()
        labels = self._labels(call)
        proxies = [
            _proxy(tracer, self.name, label, tensor, leaf)
            for label, tensor, (_, _, leaf) in zip(labels, call.tensors, call.key[2], strict=True)
        ]
        following = iter(proxies)
        args, kwargs = put_together(call.tree, following.__next__)
        mode = MODE.get()
        token = MODE.set(Mode(mode.records, mode.notes_cuts, tracer, mode))
        try:
            returned = cast("Callable[..., Any]", self.function)(*args, **kwargs)
            tensors: list[Tensor[Any]] = []
            form = take_apart(returned, tensors)
            places = {id(proxy): at for at, proxy in enumerate(proxies)}
            results = [
                _Result(one, places, is_whole or one.data.__class__ is Value) for one in tensors
            ]
            computed = [
                one for one, result in zip(tensors, results, strict=True) if result.is_computed
            ]
            program = tracer.program(self.name, computed, surroundings.labels())
        finally:
            MODE.reset(token)
            tracer.close()
        surroundings.settle()
        return _Traced(program, tracer, form, results, surroundings)

    # Words ----------------------------------------------------------------------------------------

    def _labels(self, call: _Call) -> list[str]:
        """A name for each tensor of a call, by the function's parameters."""
        names = _parameters(self.function)
        args, kwargs = call.tree.items
        found: list[str] = []
        for at, item in enumerate(args.items):
            _label(item, names[at] if at < len(names) else f"args[{at}]", found)
        for key, item in zip(kwargs.keys, kwargs.items, strict=True):
            _label(item, key, found)
        return found

    def _signature(self, call: _Call) -> str:
        parts = [
            f"{label}: {tensor.spec!r}"
            for label, tensor in zip(self._labels(call), call.tensors, strict=True)
        ]
        return f"({', '.join(parts)})"

    def _reason(self, call: _Call, known: list[Variant]) -> str:
        """What differs from the variant before."""
        if known:
            return known[-1].traced.difference() or "the same again"
        if not self._infos:
            return "first call"
        before, now = self._infos[-1].signature, self._signature(call)
        if before == now:
            return "other Python values, layouts or recording"
        pairs = zip(_parts(before), _parts(now), strict=False)
        changed = [f"{one} -> {other.split(': ')[-1]}" for one, other in pairs if one != other]
        return ", ".join(changed) or f"{before} -> {now}"


def _parts(signature: str) -> list[str]:
    return signature[1:-1].replace("], ", "]\n").split("\n")


def _proxy(
    tracer: ProgramTracer, name: str, label: str, tensor: Tensor[Any], is_leaf: bool
) -> Tensor[Any]:
    """The tensor that stands for an argument while the function is traced."""
    if is_leaf and not isinstance(tensor.node, Leaf):
        raise TraceError(
            f"compile: argument {label} of {name} was computed in a recorded graph, which a "
            "compiled function does not go on with",
            hint="give .detach() of it, or compute it inside",
        )
    value = tracer.argument(tensor.spec, label, tuple(tensor.data.strides))
    proxy: Tensor[Any] = new_tensor(value, tensor.spec)
    return proxy.requires_grad_() if is_leaf else proxy


def _parameters(function: Any) -> list[str]:
    target = function if hasattr(function, "__code__") else getattr(function, "forward", function)
    bound = 1 if isinstance(target, MethodType) else 0
    code = getattr(target, "__code__", None)
    return [] if code is None else list(code.co_varnames[bound : code.co_argcount])


def _label(tree: Tree, name: str, found: list[str]) -> None:
    pending: list[tuple[str, Tree]] = [(name, tree)]
    while pending:
        path, one = pending.pop()
        if isinstance(one, Branch):
            keys = one.keys or range(len(one.items))
            paths = [f"{path}[{key!r}]" for key in keys]
            pending.extend(reversed(list(zip(paths, one.items, strict=True))))
        elif not isinstance(one, StaticLeaf):
            found.append(path)


def _unhashable(name: str, call: _Call) -> ArgumentError:
    kinds = {type(one).__name__ for one in call.statics()}
    return ArgumentError(
        f"compile: an argument of {name} cannot be compared with that of another call "
        f"(among {', '.join(sorted(kinds))})",
        hint="give tensors, numbers, strings, and lists, tuples and dicts of them",
    )


def _pairs_of(store: GradStore) -> list[Tensor[Any]]:
    return [tensor for pair in store.pairs() for tensor in pair]


def _store_of(items: list[Any]) -> GradStore:
    return GradStore.of(zip(items[::2], items[1::2], strict=True))


CONTAINERS[GradStore] = (_pairs_of, _store_of)


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
    whose length varies, ``{"x": 0}``: each length has a plan of its own, which does not count; the
    32 used last are kept. `fast_math` allows that sums and products are reordered. `freeze` builds
    in, for inference, the values that tensors from outside have when it is traced (those that it
    does not write): the plan is faster, and what is written to them later does not reach it.

    Called while another function is traced, or with another interpreter in force, the function runs
    as it is. What it returns is not on a graph: call backward inside.

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
    fast_math, freeze = flag("compile", "fast_math", fast_math), flag("compile", "freeze", freeze)

    axes = {name: integer("compile", "dynamic", axis) for name, axis in (dynamic or {}).items()}

    def made(wrapped: Callable[..., Any]) -> CompiledFunction[..., Any]:
        if not callable(wrapped):
            raise ArgumentError(f"compile: needs a function, got {type(wrapped).__name__}")
        return CompiledFunction(
            wrapped, max_variants=limit, dynamic=axes, fast_math=fast_math, freeze=freeze
        )

    return made if function is None else made(function)
