"""Adam: steps scaled by running moments of the gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lumus.core.broadcast import listed
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.errors import ArgumentError
from lumus.optim.optimizer import Optimizer, Parameters, check_number


@lru_cache(maxsize=64)
def adam_rule(beta1: float, beta2: float, eps: float, decay: float) -> Expression:
    """One step; `shrink` is decoupled decay, `rate` and `root` carry the bias corrections."""

    def rule(p: Any, m: Any, v: Any, g: Any, shrink: Any, rate: Any, root: Any) -> Any:
        if decay:
            g = g + decay * p
        m = m + (1 - beta1) * (g - m)
        v = beta2 * v + (1 - beta2) * (g * g)
        return p * shrink - rate * (m / (scalar.sqrt(v) * root + eps)), m, v

    return expression(rule)


class Adam(Optimizer):
    """Adam: ``p -= lr * m_hat / (sqrt(v_hat) + eps)``, by running moments m, v of the gradient.

    ``m = beta1 * m + (1 - beta1) * g`` and ``v = beta2 * v + (1 - beta2) * g**2``; the corrections
    ``m_hat = m / (1 - beta1**t)`` and ``v_hat = v / (1 - beta2**t)`` are computed in float64.
    ``weight_decay`` adds ``weight_decay * p`` to the gradient (an L2 penalty; for decoupled decay
    see `AdamW`). Each parameter is updated in one pass over its memory.

    **Raises.** ArgumentError for hyperparameters out of range.

    Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.

    >>> import lumus as lm
    >>> p = lm.nn.Parameter(lm.tensor([1.0]))
    >>> lm.optim.Adam([p], lr=0.5).step((p * p).sum().backward())
    >>> p.tolist()
    [0.5]
    """

    slots = ("m", "v")
    decoupled = False

    def __init__(
        self,
        parameters: Parameters,
        lr: float = 0.001,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        pair = tuple(listed(betas))
        options = {"lr": lr, "betas": pair, "eps": eps, "weight_decay": weight_decay}
        super().__init__(parameters, options)

    def check_options(self, options: Mapping[str, Any]) -> None:
        name = type(self).__name__
        for option in ("lr", "eps", "weight_decay"):
            check_number(name, option, options[option])
        if len(options["betas"]) != 2:
            raise ArgumentError(f"{name}: betas must be two numbers, got {options['betas']!r}")
        for place, beta in enumerate(options["betas"]):
            check_number(name, f"betas[{place}]", beta, below=1.0)

    def slots_for(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return self.slots

    def rule(self, options: Mapping[str, Any]) -> Expression:
        beta1, beta2 = options["betas"]
        decay = 0.0 if self.decoupled else float(options["weight_decay"])
        return adam_rule(float(beta1), float(beta2), float(options["eps"]), decay)

    def numbers(self, step: int, options: Mapping[str, Any]) -> tuple[float, ...]:
        beta1, beta2 = options["betas"]
        lr = float(options["lr"])
        # In float32 `1 - beta**t` would be off by 1e-5 at small t.
        rate = lr / (1 - beta1**step)
        root = 1 / math.sqrt(1 - beta2**step)
        shrink = 1 - lr * float(options["weight_decay"]) if self.decoupled else 1.0
        return shrink, rate, root
