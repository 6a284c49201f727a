"""Makes tensors from data. Stands below the Tensor class, which registers itself here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lumus import _native
from lumus.core.device import Data
from lumus.core.mode import MODE
from lumus.core.spec import Spec

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor

tensor_class: type[Tensor[Any]]


def register_tensor_class(cls: type[Tensor[Any]]) -> None:
    """Called once, by core.tensor."""
    global tensor_class
    tensor_class = cls


new_tensor = _native.new_tensor
"""The tensor of these data and this spec; off any graph, unless a third argument is its origin."""


def made_tensor(data: Data, spec: Spec) -> Any:
    """A tensor of memory that Python has just filled.

    A function that is traced fills it anew at each call.
    """
    tracer = MODE.get().tracer
    return new_tensor(data if tracer is None else tracer.made(data, spec), spec)
