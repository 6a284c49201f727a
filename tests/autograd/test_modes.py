"""no_grad and enable_grad: blocks, decorators, generators, tasks."""

import asyncio
import contextvars
import inspect

import pytest

import lumus as lm


def recorded():
    x = lm.tensor(2.0, requires_grad=True)
    return (x * x).requires_grad


def test_blocks_nest():
    with lm.no_grad():
        assert not recorded()
        with lm.enable_grad():
            assert recorded()
            with lm.no_grad():
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


def test_one_switch_can_be_entered_again():
    switch = lm.no_grad()
    with switch:
        with switch:
            assert not recorded()
        assert not recorded()
    assert recorded()


def test_decorator_holds_for_the_call_alone():
    @lm.no_grad()
    def without(x):
        """Documented."""
        return recorded(), x

    assert without(3) == (False, 3)
    assert recorded()
    assert without.__name__ == "without"
    assert without.__doc__ == "Documented."


def test_decorated_function_may_recurse():
    @lm.no_grad()
    def count(n):
        return [recorded()] + (count(n - 1) if n else [])

    assert count(3) == [False] * 4
    assert recorded()


def test_decorated_method_keeps_its_self():
    class Model:
        factor = 3

        @lm.no_grad()
        def times(self, x):
            return x * self.factor, recorded()

    assert Model().times(2) == (6, False)


def test_decorator_restores_after_an_exception():
    @lm.no_grad()
    def fail():
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert recorded()


def test_decorated_generator_is_a_generator_with_send_throw_and_return():
    @lm.no_grad()
    def talk():
        heard = []
        try:
            while True:
                heard.append((yield recorded()))
        except KeyError:
            heard.append("thrown")
            yield recorded()
        return heard

    assert inspect.isgeneratorfunction(talk)
    generator = talk()
    assert next(generator) is False
    assert recorded()
    assert generator.send("a") is False
    assert generator.throw(KeyError("k")) is False
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert stopped.value.value == ["a", "thrown"]
    assert recorded()


def test_closing_a_decorated_generator_runs_its_end():
    ended = []

    @lm.no_grad()
    def generate():
        try:
            yield 1
        finally:
            ended.append(recorded())

    generator = generate()
    next(generator)
    generator.close()
    assert ended == [False]
    assert recorded()


def test_two_decorated_generators_interleaved():
    @lm.no_grad()
    def without():
        for _ in range(3):
            yield recorded()

    @lm.enable_grad()
    def within():
        for _ in range(3):
            yield recorded()

    assert list(zip(without(), within(), strict=True)) == [(False, True)] * 3
    with lm.no_grad():
        assert list(zip(without(), within(), strict=True)) == [(False, True)] * 3
        assert not recorded()


def test_tasks_do_not_see_each_others_mode():
    async def flip(mode, count):
        found = []
        for _ in range(count):
            with mode():
                await asyncio.sleep(0)
                found.append(recorded())
            await asyncio.sleep(0)
            found.append(recorded())
        return found

    async def main():
        return await asyncio.gather(flip(lm.no_grad, 5), flip(lm.enable_grad, 5))

    without, within = asyncio.run(main())
    assert without == [False, True] * 5
    assert within == [True] * 10


def test_task_inherits_the_mode_of_its_maker():
    async def main():
        async def child():
            return recorded()

        with lm.no_grad():
            task = asyncio.create_task(child())
        return await task

    assert asyncio.run(main()) is False


def test_copied_context_keeps_the_mode():
    with lm.no_grad():
        context = contextvars.copy_context()
    assert context.run(recorded) is False
    assert recorded()
