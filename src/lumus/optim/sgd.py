"""SGD: stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lumus.core.scalar.expressions import Expression, expression
from lumus.errors import ArgumentError
from lumus.optim.optimizer import Optimizer, Parameters, check_number, settles


@lru_cache(maxsize=64)
def _plain(decay: float) -> Expression:
    return expression(lambda p, g, lr: p - lr * (g + decay * p if decay else g))


@lru_cache(maxsize=64)
def _with_momentum(decay: float, momentum: float, nesterov: bool) -> Expression:
    def rule(p: Any, buffer: Any, g: Any, lr: Any, share: Any) -> Any:
        change = g + decay * p if decay else g
        buffer = momentum * buffer + share * change
        return p - lr * (change + momentum * buffer if nesterov else buffer), buffer

    return expression(rule)


class SGD(Optimizer):
    """Stochastic gradient descent: ``p -= lr * d`` with ``d = g + weight_decay * p``.

    With momentum a buffer ``b = momentum * b + (1 - dampening) * d`` (``b = d`` at the first step)
    takes the place of d; ``nesterov`` uses ``d + momentum * b`` instead. Each parameter is updated
    in one pass over its memory.

    **Raises.** ArgumentError for hyperparameters out of range, or for nesterov without momentum or
    with dampening.

    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning",
    2013 (nesterov in the form without a look-ahead gradient).

    >>> import lumus as lm
    >>> p = lm.nn.Parameter(lm.tensor([1.0]))
    >>> lm.optim.SGD([p], lr=0.5).step((p * p).sum().backward())
    >>> p.tolist()
    [0.0]
    """

    def __init__(
        self,
        parameters: Parameters,
        lr: float = 0.01,
        *,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
        }
        super().__init__(parameters, options)

    def check_options(self, options: Mapping[str, Any]) -> None:
        for name in ("lr", "momentum", "weight_decay"):
            check_number("SGD", name, options[name])
        check_number("SGD", "dampening", options["dampening"], below=1.0 + 1e-12)
        if options["nesterov"] and (options["momentum"] == 0 or options["dampening"] != 0):
            raise ArgumentError(
                "SGD: nesterov needs momentum above 0 and dampening 0, got momentum "
                f"{options['momentum']} and dampening {options['dampening']}"
            )

    def slots_for(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return ("momentum",) if options["momentum"] else ()

    def rule(self, options: Mapping[str, Any]) -> Expression:
        decay, momentum = float(options["weight_decay"]), float(options["momentum"])
        if momentum == 0:
            return _plain(decay)
        return _with_momentum(decay, momentum, bool(options["nesterov"]))

    @settles(at=2)
    def numbers(self, step: int, options: Mapping[str, Any]) -> tuple[float, ...]:
        lr = float(options["lr"])
        if options["momentum"] == 0:
            return (lr,)
        # The buffer starts as the gradient itself: dampening does not apply to it yet.
        return lr, 1.0 if step == 1 else 1 - float(options["dampening"])
