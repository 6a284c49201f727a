"""ParameterDict: parameters by name."""

from __future__ import annotations

from typing import Any

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.containers import DictModule
from lumus.nn.module import Parameter


class ParameterDict(DictModule[Tensor[Float]]):
    """Parameters by name, their keys. Other Float tensors are made parameters.

    **Raises.** ArgumentError for an item that is no tensor and for a key that is empty, has a dot
    or is no string; KindError for an Int or Bool tensor.

    >>> import lumus as lm
    >>> scales = lm.nn.ParameterDict({"left": lm.ones((2,)), "right": lm.zeros((3,))})
    >>> list(scales.state_dict())
    ['left', 'right']
    """

    def _checked(self, item: Any) -> Parameter:
        return item if isinstance(item, Parameter) else Parameter(item)

    def extra_repr(self) -> str:
        return ", ".join(f"{key}: {item.spec!r}" for key, item in self.items())
