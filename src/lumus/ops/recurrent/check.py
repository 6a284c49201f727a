"""What the inputs of a recurrent layer's steps must be."""

from __future__ import annotations

from lumus.core.kernels.recurrent import NUM_GATES, CellKind
from lumus.core.op import Specs, kind_error
from lumus.errors import DTypeError, ShapeError

NAMES: dict[CellKind, str] = {"tanh": "RNN", "relu": "RNN", "lstm": "LSTM", "gru": "GRU"}


def check_specs(cell: CellKind, specs: Specs, *, has_bias: bool, has_lengths: bool) -> None:
    """Raises KindError, DTypeError or ShapeError for inputs that do not fit each other."""
    op = NAMES[cell]
    floats = specs[:-1] if has_lengths else specs
    x = floats[0]
    for spec in floats:
        if spec.dtype.kind != "float":
            raise kind_error(op, spec.dtype, ("float",))
        if spec.dtype is not x.dtype:
            raise DTypeError(
                f"{op}: the input is {x.dtype.name}, but there is {spec!r}",
                hint=f"convert one, for example with .astype(lumus.{spec.dtype.name})",
                op=op,
                specs=specs,
            )
    if has_lengths and specs[-1].dtype.kind != "int":
        raise kind_error(op, specs[-1].dtype, ("int",), what="lengths")
    if x.ndim != 3:
        raise ShapeError(
            f"{op}: the input must be (steps, batch, features), got shape {x.shape}",
            op=op,
            specs=specs,
        )
    hidden = floats[1].shape[-1] if floats[1].ndim else 0
    wanted = _wanted(cell, x.shape[1], x.shape[2], hidden, has_bias=has_bias)
    for spec, (name, shape) in zip(floats[1:], wanted, strict=True):
        if spec.shape != shape:
            raise ShapeError(
                f"{op}: {name} must have shape {shape}, got {spec.shape}", op=op, specs=specs
            )
    if has_lengths and specs[-1].shape != (x.shape[1],):
        raise ShapeError(
            f"{op}: lengths must have shape ({x.shape[1]},), one for each row of the batch, got "
            f"{specs[-1].shape}",
            op=op,
            specs=specs,
        )


def _wanted(
    cell: CellKind, batch: int, features: int, hidden: int, *, has_bias: bool
) -> list[tuple[str, tuple[int, ...]]]:
    """(name, shape) of the inputs after the first."""
    rows = NUM_GATES[cell] * hidden
    wanted = [("the hidden state", (batch, hidden))]
    if cell == "lstm":
        wanted.append(("the cell state", (batch, hidden)))
    wanted += [("weight_ih", (rows, features)), ("weight_hh", (rows, hidden))]
    biases: list[tuple[str, tuple[int, ...]]] = [("bias_ih", (rows,)), ("bias_hh", (rows,))]
    return [*wanted, *biases] if has_bias else [*wanted]
