"""Switching recording off and on, for a block or a function.

Local to the thread or asyncio task.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from lumus.autograd.twice import refuse_no_grad
from lumus.core.mode import EAGER, MODE, Mode

P = ParamSpec("P")
T = TypeVar("T")


class ModeSwitch(ABC):
    """A context manager and decorator for how ops run.

    As a decorator on a generator function it holds while the generator's body runs and not between
    its yields. A `with` block inside a generator, in contrast, stays in force in the caller between
    yields, since a generator shares its caller's context.
    """

    @abstractmethod
    def mode_within(self, mode: Mode) -> Mode:
        """The mode of the block, whose `outer` is `mode`, that around it."""

    def __enter__(self) -> None:
        MODE.set(self.mode_within(MODE.get()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The way back is kept in the context, so that threads can share one switch.
        MODE.set(MODE.get().outer or EAGER)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        if inspect.isgeneratorfunction(function):
            return cast("Callable[P, T]", _wrap_generator(function, self))
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_coroutine(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return cast("Callable[P, T]", run_coroutine)

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with self:
                return function(*args, **kwargs)

        return run


def _wrap_generator(function: Callable[..., Any], switch: ModeSwitch) -> Callable[..., Any]:
    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        step, value = generator.send, None
        try:
            while True:
                try:
                    with switch:
                        item = step(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    value = yield item
                    step = generator.send
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step, value = generator.throw, error
        finally:
            with switch:
                generator.close()

    return generate


class _RecordingSwitch(ModeSwitch):
    """Sets whether ops are recorded; in a generator it holds as any `ModeSwitch`."""

    _records: bool

    def mode_within(self, mode: Mode) -> Mode:
        if not self._records:
            refuse_no_grad()
        return mode.with_(records=self._records, notes_cuts=True)


class no_grad(_RecordingSwitch):  # noqa: N801 - used as a statement, as in `with no_grad():`
    """Ops inside are not recorded: nothing made there requires grad.

    A context manager and a decorator. What is cut off here is remembered, so that a missing
    gradient can name the line.

    >>> import lumus as lm
    >>> w = lm.tensor(2.0, requires_grad=True)
    >>> with lm.no_grad():
    ...     y = w * w
    >>> y.requires_grad
    False
    """

    _records = False


class enable_grad(_RecordingSwitch):  # noqa: N801
    """Ops inside are recorded again, within a `no_grad` block.

    A context manager and a decorator.
    """

    _records = True


def is_grad_enabled() -> bool:
    """Whether ops are recorded here and now."""
    return MODE.get().records
