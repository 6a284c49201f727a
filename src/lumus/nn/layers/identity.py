"""Identity: nothing."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module


class Identity(Module):
    """The input itself: stands where a layer is optional.

    >>> import lumus as lm
    >>> lm.nn.Identity()(lm.ones((2,))).tolist()
    [1.0, 1.0]
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return x
