"""SGD: stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lumus.core.kinds import Float
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.tensor import Tensor
from lumus.core.write import update
from lumus.errors import ArgumentError
from lumus.optim.optimizer import Optimizer, Parameters, State, check_number, slot


@lru_cache(maxsize=64)
def _plain(decay: float) -> Expression:
    return expression(lambda p, g, lr: p - lr * (g + decay * p))


@lru_cache(maxsize=64)
def _first(decay: float, momentum: float, nesterov: bool) -> Expression:
    # The buffer starts as the gradient itself: neither momentum nor dampening applies to it yet.
    def rule(p: Any, g: Any, lr: Any) -> Any:
        change = g + decay * p
        return p - lr * (change + momentum * change if nesterov else change), change

    return expression(rule)


@lru_cache(maxsize=64)
def _later(decay: float, momentum: float, dampening: float, nesterov: bool) -> Expression:
    def rule(p: Any, buffer: Any, g: Any, lr: Any) -> Any:
        change = g + decay * p
        buffer = momentum * buffer + (1 - dampening) * change
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

    def update(
        self, parameter: Tensor[Float], grad: Tensor[Float], state: State, options: dict[str, Any]
    ) -> None:
        (rate,) = self.numbers((float(options["lr"]),), parameter)
        decay, momentum = float(options["weight_decay"]), float(options["momentum"])
        nesterov = bool(options["nesterov"])
        if momentum == 0:
            update("SGD.step", _plain(decay), (parameter,), (parameter, grad, rate))
        elif "momentum" not in state:
            buffer = slot(state, "momentum", parameter)
            rule = _first(decay, momentum, nesterov)
            update("SGD.step", rule, (parameter, buffer), (parameter, grad, rate))
        else:
            buffer = state["momentum"]
            rule = _later(decay, momentum, float(options["dampening"]), nesterov)
            update("SGD.step", rule, (parameter, buffer), (parameter, buffer, grad, rate))
