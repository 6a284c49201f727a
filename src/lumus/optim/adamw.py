"""AdamW: Adam with weight decay apart from the gradient."""

from __future__ import annotations

from lumus.optim.adam import Adam
from lumus.optim.optimizer import Parameters


class AdamW(Adam):
    """Adam with decoupled weight decay: ``p *= 1 - lr * weight_decay``, then the step of `Adam`.

    **Raises.** ArgumentError for hyperparameters out of range.

    Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019.

    >>> import lumus as lm
    >>> p = lm.nn.Parameter(lm.tensor([2.0]))
    >>> lm.optim.AdamW([p], lr=0.1, weight_decay=0.3).step((p * 0.0).sum().backward())
    >>> round(p.item(), 6)
    1.94
    """

    decoupled = True

    def __init__(
        self,
        parameters: Parameters,
        lr: float = 0.001,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay)
