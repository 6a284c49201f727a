"""`load_program`: a saved program, ready to be called, without the Python that it was made of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from lumus import _native
from lumus.autograd.backward import compiled_cut
from lumus.compile.files import read_program
from lumus.compile.freeze import freeze
from lumus.compile.lower_cpu import Lowered, lower, spec_strides
from lumus.compile.pipeline import optimised
from lumus.compile.places import told
from lumus.compile.report import VariantInfo, explanation
from lumus.compile.variant import Variant
from lumus.core.argument import flag
from lumus.core.construct import new_tensor
from lumus.core.device import Device, device_named, out_of_memory
from lumus.core.mode import MODE, eagerly
from lumus.core.record import Cut
from lumus.core.tensor import Tensor
from lumus.core.tree import LEAF, Branch, StaticLeaf, Tree, is_simple, put_together, take_apart
from lumus.core.write import check_writable
from lumus.errors import ArgumentError, DTypeError, GradientError, ShapeError, TraceError
from lumus.io.tensors import PathLike
from lumus.trace.program import Program
from lumus.trace.text.saved import SavedProgram


class LoadedProgram:
    """A saved program, called as the function that it was saved from.

    Arguments must have the form, shapes and dtypes that it was saved for. `program` is what was
    saved, `optimised` what runs, `state` the tensors that it writes, by name: they are its own, can
    be read and overwritten, and begin with the values that were saved.
    """

    def __init__(self, path: str, saved: SavedProgram, *, fast_math: bool) -> None:
        self.path = path
        self.program: Program = saved.program
        self.name = saved.program.name
        self.optimised: Program = optimised(freeze(saved.program), fast_math=fast_math)
        written = {write.target: write for write in saved.program.writes}
        self.state: dict[str, Tensor[Any]] = {
            one.var.label: new_tensor(one.data, one.var.spec)
            for one in saved.program.captures
            if one.var in written
        }
        self.saved = saved
        self._writes = [written.get(var) for var in saved.program.inputs]
        self._calls = _native.CallTable()  # calls that need no check
        self._is_simple = is_simple(saved.arguments) and not any(self._writes)
        lowered = _lowered(self.optimised)
        info = VariantInfo(self.name, (self._signature(),), "loaded")
        self._variant = Variant(saved.arguments, _Form(saved), lowered, info)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        mode = MODE.get()
        if mode.tracer is not None:
            raise TraceError(
                f"{self.name}: a loaded program cannot be called in a function that is compiled",
                hint="call it outside, and give its results as arguments",
            )
        if not mode.derives:
            found = self._calls.find(args, kwargs, False)
            if found is not None:
                return self._variant.run(found[1])
        tensors: list[Tensor[Any]] = []
        tree = take_apart((args, self._in_order(kwargs)), tensors)
        if tree != self.saved.arguments:
            raise self._other_form(tree)
        if mode.derives and any(tensor.requires_grad for tensor in tensors):
            raise GradientError(
                f"{self.name}: a loaded program has no gradient",
                hint="give .detach() of its arguments if it is to count as constant",
                op=self.name,
            )
        data = [self._checked(place, tensor) for place, tensor in enumerate(tensors)]
        if self._is_simple:
            self._calls.put(args, self._in_order(kwargs), False, self._variant)
        return self._variant.run(tensors, data)

    def explain(self) -> str:
        """What its plan does: kernels, bytes, operations, memory."""
        return explanation(self.name, self._variant.lowered)

    def __repr__(self) -> str:
        return f"<program {self.name}{self._signature()} of {self.path}>"

    # Arguments ------------------------------------------------------------------------------------

    def _checked(self, place: int, tensor: Tensor[Any]) -> Any:
        """The data of an argument, dense; raises for one that is not of its spec."""
        var = self.program.inputs[place]
        if tensor.spec is not var.spec:
            raise self._other_spec(place, tensor)
        write, data = self._writes[place], tensor.data
        if write is not None:
            check_writable(self.name, tensor, "a copy of it", MODE.get())
        if data.is_contiguous:
            return data
        if write is None:
            return tensor.detach().copy().data
        raise ArgumentError(
            f"{self.name}: {var.label or f'argument {place}'} is written, and must lie in memory "
            "row by row",
            hint="give a copy of it: .copy()",
            op=self.name,
        )

    def _other_spec(self, place: int, tensor: Tensor[Any]) -> Exception:
        var = self.program.inputs[place]
        label = var.label or f"argument {place}"
        kind = ShapeError if tensor.shape != var.spec.shape else DTypeError
        if tensor.device is not var.spec.device:
            got = f"{tensor.spec!r} on {tensor.device}, the program is on {var.spec.device}"
            return ArgumentError(f"{self.name}: {label} is {got}", op=self.name)
        return kind(
            f"{self.name}: {label} is {tensor.spec!r}, the program was saved for {var.spec!r}",
            hint="save it again for these, or make the argument fit (a batch can be padded)"
            if kind is ShapeError
            else f"convert it with .astype(lumus.{var.spec.dtype.name})",
            op=self.name,
        )

    def _in_order(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments in the order in which they were saved, if they are the same."""
        wanted = self.saved.arguments.items[1].keys
        return {key: kwargs[key] for key in wanted} if set(kwargs) == set(wanted) else kwargs

    def _other_form(self, tree: Branch) -> ArgumentError:
        return ArgumentError(
            f"{self.name}: {_other_call(tree, self.saved.arguments)}; the program was saved for "
            f"{self.name}{self._signature()}",
            op=self.name,
        )

    def _signature(self) -> str:
        """The arguments as they are written in a call."""
        inputs = iter(self.program.inputs)
        args, kwargs = self.saved.arguments.items
        parts = [_told(item, inputs) for item in args.items]
        parts += [
            f"{key}={_told(item, inputs)}"
            for key, item in zip(kwargs.keys, kwargs.items, strict=True)
        ]
        return f"({', '.join(parts)})"


class _Form:
    """What a variant asks of a trace: the program, and its results as the function returned them.

    A loaded program has no gradient: results that would have one say why they do not.
    """

    only = None  # what a result is cut from depends on the arguments
    seen = None
    assigned = ()

    def __init__(self, saved: SavedProgram) -> None:
        self.program = saved.program
        self.saved = saved
        self._specs = [var.spec for var in saved.program.outputs]
        self._is_one = saved.results is LEAF and saved.passed == (None,)

    def difference(self) -> None:
        """Nothing changes: it reads no Python."""

    def serves(self, _: Sequence[Tensor[Any]], /) -> bool:
        """It always holds."""
        return True

    def results(self, tensors: Sequence[Tensor[Any]], data: list[Any]) -> Any:
        """The results, of the tensors of the call and what the plan computed."""
        cut = None
        for tensor in tensors:
            if tensor.origin is not None:
                cut = _cut(self.program.name, tensors)
                break
        if cut is None and self._is_one:
            return new_tensor(data[0], self._specs[0])
        made: Iterator[Any] = map(new_tensor, data, self._specs)
        places = iter(self.saved.passed)

        def following() -> Any:
            place = next(places)
            if place is not None:
                return tensors[place]
            one: Tensor[Any] = next(made)
            if one.dtype.kind == "float":
                one.origin = cut
            return one

        return put_together(self.saved.results, following)


def _cut(name: str, tensors: Sequence[Tensor[Any]]) -> Cut | None:
    """Why results are on no graph, if an argument is on one."""
    if not MODE.get().records:
        return None
    for tensor in tensors:
        if isinstance(tensor.origin, Cut):
            return tensor.origin
        if tensor.origin is not None:
            return compiled_cut(tensor.origin[0], name)
    return None


def _lowered(program: Program) -> Lowered:
    """The plan for dense arguments."""
    try:
        return lower(program, {var: spec_strides(var.spec) for var in program.inputs})
    except MemoryError:
        largest = max((var.spec for var in _values(program)), key=lambda spec: spec.nbytes)
        raise out_of_memory(program.name, largest) from None


def _values(program: Program) -> Iterator[Any]:
    yield from program.given()
    for one in program.equations:
        yield from one.outputs


def _told(tree: Tree, inputs: Iterator[Any]) -> str:
    """An argument as text, with the types of its tensors."""
    if tree is LEAF:
        var = next(inputs)
        return f"{var.label}: {var.spec!r}" if var.label.isidentifier() else repr(var.spec)
    if isinstance(tree, StaticLeaf):
        return repr(tree.value)
    items = [_told(item, inputs) for item in tree.items]
    if tree.keys is not None:
        pairs = zip(tree.keys, items, strict=True)
        return f"{{{', '.join(f'{key!r}: {item}' for key, item in pairs)}}}"
    return f"[{', '.join(items)}]" if tree.kind is list else f"({', '.join(items)})"


def _other_call(got: Branch, wanted: Branch) -> str:
    """The first thing in which a call is not as it should be, in words."""
    (args, kwargs), (wanted_args, wanted_kwargs) = got.items, wanted.items
    if len(args.items) != len(wanted_args.items):
        return f"{len(args.items)} arguments by position, not {len(wanted_args.items)}"
    for name in wanted_kwargs.keys:
        if name not in kwargs.keys:
            return f"argument {name} is missing"
    for name in kwargs.keys:
        if name not in wanted_kwargs.keys:
            return f"argument {name} is not among those that it was saved with"
    names = [*range(len(args.items)), *kwargs.keys]
    items = zip(
        (*args.items, *kwargs.items), (*wanted_args.items, *wanted_kwargs.items), strict=True
    )
    found = (
        _difference(f"argument {name}", *pair) for name, pair in zip(names, items, strict=True)
    )
    return next(what for what in found if what)


def _difference(path: str, got: Tree, wanted: Tree) -> str | None:
    """The first place where a value has not the form that is wanted, in words."""
    if isinstance(wanted, Branch) and isinstance(got, Branch) and got.kind is wanted.kind:
        if got.keys != wanted.keys:
            return f"{path} has the keys {list(got.keys or ())}, not {list(wanted.keys or ())}"
        if len(got.items) != len(wanted.items):
            return f"{path} has {len(got.items)} items, not {len(wanted.items)}"
        keys = got.keys or range(len(got.items))
        for key, item, other in zip(keys, got.items, wanted.items, strict=True):
            found = _difference(f"{path}[{key!r}]", item, other)
            if found:
                return found
        return None
    return None if got == wanted else f"{path} is {_kind(got)}, not {_kind(wanted)}"


def _kind(tree: Tree) -> str:
    if tree is LEAF:
        return "a tensor"
    return told(tree.value) if isinstance(tree, StaticLeaf) else f"a {tree.kind.__name__}"


def load_program(
    path: PathLike,
    *,
    weights: PathLike | None = None,
    device: str | Device | None = None,
    fast_math: bool = False,
) -> LoadedProgram:
    """A program saved by `save` of a compiled function, to be called like that function.

    No Python source of it is needed, and no code of the file is run: it holds operations, whose
    every operand is checked before anything is computed (docs/saved-programs.md). What it reads of
    a model is constant; what it writes (running statistics) is in its `state`.

    The weights lie beside it, at ``path + ".safetensors"``, and must be those that it was saved
    with; `weights` names another safetensors file with tensors of the same names and specs.
    `device` is where it runs, `fast_math` as in `compile`. Called with tensors of another shape or
    dtype than it was saved for, it raises; tensors of another layout are copied.

    **Raises.** FileFormatError, which names the line, for a file that is damaged, foreign, of
    another format, or not the one of these weights; OSError for one that cannot be read,
    OutOfMemoryError for a program that there is no memory for.

    >>> import lumus as lm, tempfile, pathlib
    >>> w = lm.tensor([[1.0], [2.0]])
    >>> predict = lm.compile(lambda x: (x @ w).relu())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "predict.lumus"
    ...     predict.save(file, lm.zeros((1, 2)))
    ...     lm.load_program(file)(lm.tensor([[3.0, 4.0]])).tolist()
    [[11.0]]
    """
    place, fast = device_named(device), flag("load_program", "fast_math", fast_math)
    with eagerly():
        return LoadedProgram(os.fspath(path), read_program(path, weights, place), fast_math=fast)
