"""check_finite: the first op that makes a NaN or an infinity is named, forward and backward."""

from __future__ import annotations

from collections.abc import Iterable

from lumus.autograd.modes import ModeSwitch
from lumus.core.argument import flag
from lumus.core.mode import Mode
from lumus.core.op import OPS, Op
from lumus.errors import ArgumentError, TraceError
from lumus.inspect.hunt import Checker, Hunt
from lumus.inspect.suspect import Kinds
from lumus.nn.module import Module

_NAME = "check_finite"


class check_finite(ModeSwitch):  # noqa: N801 - used as a statement, as in `with check_finite():`
    """Inside, the first op whose result holds a NaN or an infinity raises NonFiniteError.

    A context manager and a decorator, local to the thread or asyncio task like `no_grad`. It looks
    at every result of the forward pass, at every gradient of a `backward` called inside, and at
    what is written in place, by optimisers too (then nothing is written: the parameter keeps its
    values). The error names the op, the first such element and how many there are, the numbers
    that it was computed from where that is one element of each input, and the line; in backward
    also the line of the op whose gradient it was.

    A value that was not made inside is told as such: the tensor that came in with it, and where
    that was created. What is meant does not count: an infinity written as a Python number
    (``lm.where(mask, scores, -math.inf)``), results of the ops in `allow`, and what passes these
    values on; a NaN that comes of them does. Ops other than elementwise ones count as passing on
    when any element of an input holds such a value.

    `nan`, `inf`: the values to look for. `backward`: whether to look at the gradients of backward
    passes, `forward`: at all else. `allow`: names of ops whose results (and gradients) may hold
    anything, or custom ops themselves. `model`: its parameters and buffers are called by their
    names.

    **Cost.** One pass that reads each result, and a copy of what is written in place while it is
    written. A training step of an MLP (784-256-10, batch 128, AdamW) takes 1.2 times as long, one
    of a small transformer layer 1.4 and of a tiny MLP (16-32-4, batch 8) 1.6 times. No memory is
    kept, and outside of a block nothing is paid.

    **Raises.** NonFiniteError; ArgumentError for options that cannot be.

    >>> import lumus as lm
    >>> x = lm.tensor([4.0, -1.0])
    >>> with lm.inspect.check_finite():  # doctest: +ELLIPSIS
    ...     x.sqrt().log()
    Traceback (most recent call last):
    lumus.errors.NonFiniteError: sqrt: the result holds nan at (1,) (1 of 2 elements is not finite)
      ...
      from x[1] = -1.0
    """

    def __init__(
        self,
        *,
        nan: bool = True,
        inf: bool = True,
        forward: bool = True,
        backward: bool = True,
        allow: Iterable[str | Op] = (),
        model: Module | None = None,
    ) -> None:
        kinds = Kinds(nan=flag(_NAME, "nan", nan), inf=flag(_NAME, "inf", inf))
        forward = flag(_NAME, "forward", forward)
        backward = flag(_NAME, "backward", backward)
        if not (kinds.nan or kinds.inf) or not (forward or backward):
            raise ArgumentError(
                f"{_NAME}: nothing is left to look for",
                hint="give nan=True or inf=True, and forward=True or backward=True",
            )
        if model is not None and not isinstance(model, Module):
            raise ArgumentError(f"{_NAME}: model must be a Module, got {type(model).__name__}")
        self._hunt = Hunt(kinds, forward=forward, backward=backward, allow=_ops(allow), model=model)

    def mode_within(self, mode: Mode) -> Mode:
        """The same, with what runs ops now inside a checker."""
        if mode.tracer is not None:
            raise TraceError(
                f"{_NAME}: in a compiled function there are no values to look at while it is "
                "traced",
                hint="put it around the call of the compiled function, which then runs eagerly",
            )
        checker = Checker(self._hunt, mode.interpreter)
        return Mode(mode.records, mode.notes_cuts, checker, mode)


def _ops(names: Iterable[str | Op]) -> frozenset[str]:
    if isinstance(names, str):
        raise ArgumentError(
            f"{_NAME}: allow must be names of ops, got the string {names!r}",
            hint=f"write allow=({names!r},)",
        )
    given = frozenset(names)
    listed = frozenset(one.name if isinstance(one, Op) else one for one in given)
    for name in given:
        if not isinstance(name, Op) and name not in OPS:
            raise ArgumentError(
                f"{_NAME}: allow names {name!r}, which is no op",
                hint="give the names that the error and print(loss.graph()) show",
            )
    return listed
