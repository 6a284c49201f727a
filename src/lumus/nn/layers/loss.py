"""What the layers of losses share: they keep the options of a function."""

from __future__ import annotations

import inspect
from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module


class LossModule(Module):
    """A loss with fixed options: its constructor's parameters, kept under their names."""

    def extra_repr(self) -> str:
        usual = inspect.signature(type(self)).parameters
        options = {name: getattr(self, name) for name in usual}
        return ", ".join(
            f"{name}={value!r}"
            for name, value in options.items()
            if not isinstance(value, Tensor) and value != usual[name].default
        )


def checked_buffer(op: str, weight: Tensor[Any] | None) -> Tensor[Float] | None:
    """Weights off the graph, which are kept with the model but not trained; or None."""
    if weight is None:
        return None
    check_tensors(op, weight)
    return weight.detach()
