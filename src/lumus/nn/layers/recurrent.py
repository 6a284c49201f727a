"""What the recurrent layers and cells share: their parameters, and the way through their layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lumus.core.argument import check_tensors, flag, integers, real
from lumus.core.broadcast import integer, normalize_shape
from lumus.core.dtypes import DType, int64
from lumus.core.kernels.recurrent import NUM_GATES, CellKind
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.nn.init import uniform
from lumus.nn.module import Module, Parameter
from lumus.ops.create.full import zeros
from lumus.ops.create.tensor import tensor
from lumus.ops.elementwise.where import where
from lumus.ops.interop.lengths import checked_lengths
from lumus.ops.random.dropout import dropout
from lumus.ops.random.generator import Generator
from lumus.ops.recurrent.recurrent import num_states, recurrent
from lumus.ops.recurrent.unrolled import unrolled, valid_steps
from lumus.ops.shape.concat import concat
from lumus.ops.shape.stack import stack

MAX_LAYERS = 4096  # a slip of the pen would make parameters for hours

Lengths = Tensor[Int] | Sequence[int]


def check_sizes(op: str, **sizes: int) -> list[int]:
    """The sizes as plain ints; raises ArgumentError for one that is not positive."""
    plain = [integer(op, name, size) for name, size in sizes.items()]
    for name, size in zip(sizes, plain, strict=True):
        if size <= 0:
            raise ArgumentError(f"{op}: {name} must be positive, got {size}", op=op)
    return plain


class RecurrentModule(Module):
    """Parameters of cells and layers, all evenly spread over ``+-1 / sqrt(hidden_size)``."""

    cell: CellKind
    input_size: int
    hidden_size: int
    bias: bool

    def _add_parameters(
        self,
        suffix: str,
        num_inputs: int,
        dtype: DType[Float],
        generator: Generator | None,
        proj_size: int = 0,
    ) -> None:
        """Sets `weight_ih`, `weight_hh`, the biases and `weight_hr`, each with the suffix."""
        rows, state = NUM_GATES[self.cell] * self.hidden_size, proj_size or self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, num_inputs),
            "weight_hh": (rows, state),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if proj_size:
            shapes["weight_hr"] = (proj_size, self.hidden_size)
        op = type(self).__name__
        checked = {name: normalize_shape(op, shape) for name, shape in shapes.items()}
        bound = 1 / math.sqrt(self.hidden_size)
        for name, shape in checked.items():
            value = uniform(shape, bound, dtype=dtype, generator=generator)
            setattr(self, name + suffix, Parameter(value))

    def _weights(self, suffix: str) -> list[Tensor[Float]]:
        names = ("weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if self.bias else ()))
        return [getattr(self, name + suffix) for name in names]

    def _check_input(self, x: Tensor[Float], ranks: tuple[int, int]) -> None:
        op = type(self).__name__
        check_tensors(op, x)
        if x.ndim not in ranks or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{op}: the input must have {ranks[0]} axes, or {ranks[1]} with a batch, the last "
                f"of length {self.input_size}; got shape {x.shape}",
                op=op,
            )


class RecurrentCellModule(RecurrentModule):
    """One step of a recurrent layer, with parameters of its own."""

    def __init__(
        self,
        cell: CellKind,
        input_size: int,
        hidden_size: int,
        bias: bool,
        dtype: DType[Float],
        generator: Generator | None,
    ) -> None:
        op = type(self).__name__
        self.cell = cell
        self.input_size, self.hidden_size = check_sizes(
            op, input_size=input_size, hidden_size=hidden_size
        )
        self.bias = flag(op, "bias", bias)
        self._add_parameters("", self.input_size, dtype, generator)

    def _step(self, x: Tensor[Float], states: Sequence[Tensor[Float]] | None) -> Any:
        """The states after one step; a layer of one step computes it."""
        op = type(self).__name__
        self._check_input(x, (1, 2))
        shapes = [(*x.shape[:-1], self.hidden_size)] * num_states(self.cell)
        given = _first_states(op, x, shapes, states)
        is_single = x.ndim == 1
        if is_single:
            x, given = x.expand_dims(0), [one.expand_dims(0) for one in given]
        _, *after = recurrent(self.cell, x.expand_dims(0), given, self._weights(""))
        return [one.squeeze(0) for one in after] if is_single else after

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RecurrentLayer(RecurrentModule):
    """Layers of a recurrent cell, one over the other, in one direction or both."""

    def __init__(
        self,
        cell: CellKind,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        *,
        bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        dtype: DType[Float],
        generator: Generator | None,
        proj_size: int = 0,
    ) -> None:
        op = type(self).__name__
        self.cell = cell
        self.input_size, self.hidden_size, self.num_layers = check_sizes(
            op, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers
        )
        if self.num_layers > MAX_LAYERS:
            raise ArgumentError(
                f"{op}: num_layers must be at most {MAX_LAYERS}, got {num_layers}", op=op
            )
        self.bias = flag(op, "bias", bias)
        self.batch_first = flag(op, "batch_first", batch_first)
        self.bidirectional = flag(op, "bidirectional", bidirectional)
        self.dropout = real(op, "dropout", dropout)
        if not 0 <= self.dropout <= 1:
            raise ArgumentError(f"{op}: dropout must be in [0, 1], got {self.dropout}", op=op)
        self.proj_size = integer(op, "proj_size", proj_size)
        if not 0 <= self.proj_size < self.hidden_size:
            raise ArgumentError(
                f"{op}: proj_size must be in [0, hidden_size), got {self.proj_size}", op=op
            )
        self.generator = generator
        state = self.proj_size or self.hidden_size
        for layer in range(self.num_layers):
            width = self.input_size if layer == 0 else state * len(self._directions)
            for direction in self._directions:
                suffix = f"_l{layer}{direction}"
                self._add_parameters(suffix, width, dtype, generator, self.proj_size)

    @property
    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _run(
        self,
        x: Tensor[Float],
        states: Sequence[Tensor[Float]] | None,
        lengths: Lengths | None,
    ) -> tuple[Tensor[Float], list[Tensor[Float]]]:
        """(output, last states) of all layers."""
        op = type(self).__name__
        self._check_input(x, (2, 3))
        is_single = x.ndim == 2
        if is_single:
            x = x.expand_dims(1)
        elif self.batch_first:
            x = x.transpose(0, 1)
        num_steps, batch = x.shape[:2]
        places = self.num_layers * len(self._directions)
        widths = [self.proj_size or self.hidden_size, self.hidden_size][: num_states(self.cell)]
        shapes = [(places, width) if is_single else (places, batch, width) for width in widths]
        first = _first_states(op, x, shapes, states)
        if is_single:
            if lengths is not None:
                raise ArgumentError(f"{op}: lengths are for a batch; give shorter input instead")
            y, last = self._run_layers(x, [one.expand_dims(1) for one in first], None)
            return y.squeeze(1), [one.squeeze(1) for one in last]
        counts = None
        if lengths is not None:
            counts = _checked_lengths(op, x, lengths, num_steps)
            # Infinities beyond a length would make NaN of the weights' gradients, in 0 * inf.
            x = where(valid_steps(counts, num_steps), x, 0.0)
        y, last = self._run_layers(x, first, counts)
        return (y.transpose(0, 1) if self.batch_first else y), last

    def _run_layers(
        self, x: Tensor[Float], states: list[Tensor[Float]], lengths: Tensor[Int] | None
    ) -> tuple[Tensor[Float], list[Tensor[Float]]]:
        last: list[list[Tensor[Float]]] = [[] for _ in states]
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = dropout(x, self.dropout, training=self.training, generator=self.generator)
            outputs: list[Tensor[Float]] = []
            for direction in self._directions:
                place = layer * len(self._directions) + len(outputs)
                first = [one[place] for one in states]
                y, *after = self._run_direction(x, first, lengths, f"_l{layer}{direction}")
                outputs.append(y)
                for kept, one in zip(last, after, strict=True):
                    kept.append(one)
            x = outputs[0] if len(outputs) == 1 else concat(outputs, axis=2)
        return x, [stack(kept) for kept in last]

    def _run_direction(
        self,
        x: Tensor[Float],
        first: list[Tensor[Float]],
        lengths: Tensor[Int] | None,
        suffix: str,
    ) -> tuple[Tensor[Float], ...]:
        reverse = suffix.endswith("_reverse")
        weights = self._weights(suffix)
        if not self.proj_size:
            return recurrent(self.cell, x, first, weights, lengths=lengths, reverse=reverse)
        projection = getattr(self, "weight_hr" + suffix)
        return unrolled(
            self.cell,
            x,
            first,
            weights,
            projection=projection,
            lengths=lengths,
            reverse=reverse,
        )

    def extra_repr(self) -> str:
        usual = {
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
            "proj_size": 0,
        }
        chosen = {name: getattr(self, name) for name in usual}
        unusual = [f"{name}={value}" for name, value in chosen.items() if value != usual[name]]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *unusual])


def _counted(states: Any) -> str:
    return f"{len(states)}" if isinstance(states, list | tuple) else f"one {type(states).__name__}"


def _first_states(
    op: str,
    x: Tensor[Float],
    shapes: Sequence[tuple[int, ...]],
    states: Sequence[Tensor[Float]] | None,
) -> list[Tensor[Float]]:
    """The states given, checked; zeros if there are none."""
    if states is None:
        return [zeros(shape, dtype=x.dtype, device=x.device) for shape in shapes]
    if not isinstance(states, list | tuple) or len(states) != len(shapes):
        raise ArgumentError(
            f"{op}: the states must be {len(shapes)} tensors, got {_counted(states)}",
            hint="pass (hidden, cell), as the layer returns them" if len(shapes) == 2 else None,
            op=op,
        )
    check_tensors(op, *states)
    for name, state, shape in zip(("hidden", "cell"), states, shapes, strict=False):
        if state.shape != shape:
            raise ShapeError(
                f"{op}: the {name} state must have shape {shape}, got {state.shape}", op=op
            )
    return list(states)


def _checked_lengths(op: str, x: Tensor[Float], lengths: Lengths, num_steps: int) -> Tensor[Int]:
    """The lengths as a tensor on the device of `x`; raises for one that is not in 0..num_steps."""
    if not isinstance(lengths, Tensor):
        lengths = tensor(list(integers(op, "lengths", lengths)), dtype=int64, device=x.device)
    elif lengths.dtype.kind != "int":
        raise kind_error(op, lengths.dtype, ("int",), what="lengths")
    if lengths.shape != (x.shape[1],):
        raise ShapeError(
            f"{op}: lengths must have shape ({x.shape[1]},), one for each row of the batch, got "
            f"{lengths.shape}",
            op=op,
        )
    return checked_lengths(op, lengths, num_steps, "lengths")
