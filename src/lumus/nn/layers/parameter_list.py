"""ParameterList: parameters in a list."""

from __future__ import annotations

from typing import Any

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.containers import ListModule
from lumus.nn.module import Parameter


class ParameterList(ListModule[Tensor[Float]]):
    """Parameters in a list, named ``0``, ``1``, ... Other Float tensors are made parameters.

    **Raises.** ArgumentError for an item that is no tensor, KindError for an Int or Bool one.

    >>> import lumus as lm
    >>> scales = lm.nn.ParameterList([lm.ones((2,)), lm.zeros((3,))])
    >>> [name for name, _ in scales.named_parameters()]
    ['0', '1']
    """

    def _checked(self, item: Any) -> Parameter:
        return item if isinstance(item, Parameter) else Parameter(item)

    def extra_repr(self) -> str:
        return ", ".join(repr(item.spec) for item in self)
