"""Every exception that lumus raises.

    LumusError
    ├── ShapeError (ValueError): shapes that do not fit
    ├── KindError (TypeError): Float, Int and Bool mixed, or an op on the wrong kind
    ├── DTypeError (TypeError): a dtype that cannot be used or converted here
    ├── ArgumentError (ValueError): an argument outside its range
    ├── IndexRangeError (IndexError): an index outside its axis
    ├── DeviceError (ValueError): tensors on different devices, an unknown device
    │   └── UnsupportedOnDeviceError (NotImplementedError): a device that lacks a kernel
    ├── OutOfMemoryError (MemoryError): a tensor that there is no memory for
    ├── MatrixError (ValueError): a matrix that lacks what is needed (singular, not finite, ...)
    ├── NonFiniteError (FloatingPointError): a NaN or an infinity, found by `inspect.check_finite`
    ├── GradientError (RuntimeError): something that cannot be differentiated as asked
    │   ├── MissingGradientError (KeyError): a gradient store without that tensor
    │   ├── GraphFreedError: backward through a graph already consumed
    │   ├── SavedTensorMutatedError: a value saved for backward was overwritten
    │   └── RecordedWriteError: an in-place write that autograd would not see
    ├── TraceError (RuntimeError): something that a compiled function cannot do
    ├── ReadOnlyError (ValueError): a write to frozen or overlapping memory
    ├── StateError (ValueError): a state dict that does not fit its module
    ├── FileFormatError (ValueError): a file that is not what it should be
    └── CheckError (AssertionError): a check of lumus.testing that did not hold

A message is one line of what went wrong, with the op's name and what came; then, when there is a
fix that works, one line that starts with ``hint:``. The parts are fields, too.
"""

from __future__ import annotations

from typing import Any


class LumusError(Exception):
    """Base of all lumus errors.

    Fields given by keyword become attributes (``op``, ``specs``, ``axis``, ``site``, ...).
    """

    op: str | None = None
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        for name, value in fields.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, dict(self.__dict__)))


def _rebuild(kind: type[LumusError], message: str, fields: dict[str, Any]) -> LumusError:
    error = kind(message)
    error.__dict__.update(fields)
    return error


class ShapeError(LumusError, ValueError):
    """Shapes that do not fit together, or do not fit the operation."""


class KindError(LumusError, TypeError):
    """Kinds (Float, Int, Bool) mixed, or an operation on a kind that lacks it."""


class DTypeError(LumusError, TypeError):
    """A dtype that cannot be used, or a value that the dtype cannot hold."""


class ArgumentError(LumusError, ValueError):
    """An argument outside the values that are allowed."""


class IndexRangeError(LumusError, IndexError):
    """An index outside its axis; ``position`` is where it stands in a tensor of indices."""

    index: int
    bound: int
    axis: int
    position: tuple[int, ...]


class DeviceError(LumusError, ValueError):
    """Tensors on different devices, or a device that does not exist."""


class UnsupportedOnDeviceError(DeviceError, NotImplementedError):
    """A device that lacks the kernel. Fields: ``op``, ``kernel``, ``dtype``, ``device``."""


class OutOfMemoryError(LumusError, MemoryError):
    """A tensor that there is no memory for. Fields: ``op``, ``nbytes``."""

    nbytes: int


class MatrixError(LumusError, ValueError):
    """A matrix that lacks what the operation needs: singular, not positive definite, not finite.

    ``position`` is where it stands in the batch.
    """

    position: tuple[int, ...]


class NonFiniteError(LumusError, FloatingPointError):
    """A NaN or an infinity, found where it first came up by `lumus.inspect.check_finite`.

    ``op`` made ``value`` at ``index`` of its output number ``output`` (in backward: of the gradient
    of its input number ``output``), the first of ``count``. ``operands`` are, by name, the numbers
    that this element was computed from; empty when they are not one each. ``site`` is the call
    site, ``forward_site`` that of the op whose gradient it was, None in forward. ``incoming`` names
    the operand that held the value already when the block began, None if the op itself made it.
    ``parameter`` is the parameter's number in the optimiser whose step it was.
    """

    output: int
    index: tuple[int, ...]
    value: float
    count: int
    operands: dict[str, float]
    site: Any
    forward_site: Any = None
    incoming: str | None = None
    parameter: int | None = None


class GradientError(LumusError, RuntimeError):
    """Something that cannot be differentiated in the way that was asked."""


class MissingGradientError(GradientError, KeyError):
    """A gradient store was asked for a tensor that backward did not reach; ``reason`` says why."""


class GraphFreedError(GradientError):
    """Backward through a graph whose saved values an earlier backward released."""


class SavedTensorMutatedError(GradientError):
    """A value that backward needs was overwritten after it was saved."""


class RecordedWriteError(GradientError):
    """An in-place write to a tensor of a recorded graph, which autograd would not see."""


class TraceError(LumusError, RuntimeError):
    """Something that a compiled function cannot do, such as reading a value; field ``site``."""


class ReadOnlyError(LumusError, ValueError):
    """A write to a frozen tensor, or to one whose elements share memory."""


class StateError(LumusError, ValueError):
    """A state dict that does not fit; fields ``missing``, ``unexpected``, ``mismatched``."""


class FileFormatError(LumusError, ValueError):
    """A file that is damaged, or is not of the format that was expected."""


class CheckError(LumusError, AssertionError):
    """A check of `lumus.testing` that did not hold.

    What was checked, what was expected, what came.
    """
