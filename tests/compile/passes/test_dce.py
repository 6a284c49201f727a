"""dce: what is left out and what stays."""

from typing import ClassVar

from lumus.compile.passes.dce import dce
from lumus.compile.passes.verify import verified
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.trace.program import Program
from tests.compile.build import Build, f32, text


def cleaned(program: Program) -> str:
    return str(verified(dce)(program))


def test_what_no_result_depends_on_is_left_out() -> None:
    build = Build()
    x, w = build.input("x", 4), build.capture("w", [1.0] * 4)
    unused = build.capture("unused", [1.0] * 4)
    y = build.op("add", x, w)
    build.op("exp", build.op("add", y, unused))
    values, places = build.op("topk", y, k=2, axis=0, largest=True)
    program = build.program(places)
    assert str(program) == text("""
        f(x: float32[4]):
            w: float32[4] = captured
            unused: float32[4] = captured
            a: float32[4] = x + w
            b: float32[4] = a + unused
            c: float32[4] = exp(b)
            d: float32[2], e: int64[2] = topk[k=2, axis=0, largest](a)
            return e
        """)
    assert cleaned(program) == text("""
        f(x: float32[4]):
            w: float32[4] = captured
            a: float32[4] = x + w
            b: float32[2], c: int64[2] = topk[k=2, axis=0, largest](a)
            return c
        """)
    assert values.spec is f32(2)


def test_what_is_written_is_a_result_and_its_target_stays() -> None:
    build = Build()
    x, w = build.input("x", 2), build.capture("w", [1.0, 2.0])
    build.write(w, build.op("exp", x), "copy_")
    assert cleaned(build.program()) == text("""
        f(x: float32[2]):
            w: float32[2] = captured
            a: float32[2] = exp(x)
            w <- a  # copy_
        """)


def test_inputs_and_host_inputs_stay_though_nobody_reads_them() -> None:
    build = Build()
    build.input("x", 2)
    build.host("rate", 0.1)
    assert cleaned(build.program()) == text("""
        f(x: float32[2]):
            rate: float32[1] = given
        """)


def test_a_kernel_that_does_more_than_compute_stays() -> None:
    @frozen
    class Shout(Kernel):
        is_pure: ClassVar[bool] = False

    build = Build()
    x = build.input("x", 2)
    build.joined(Shout(), build.op("exp", x), outputs=(f32(2),), op="shout")
    assert cleaned(build.program(x)) == text("""
        f(x: float32[2]):
            a: float32[2] = exp(x)
            b: float32[2] = shout(a)
            return x
        """)


def test_every_kernel_of_python_code_says_that_it_is_not_pure() -> None:
    pending = [Kernel]
    while pending:
        kernel = pending.pop()
        pending.extend(kernel.__subclasses__())
        has_code = any("Callable" in str(kind) for kind in kernel.__annotations__.values())
        assert not (has_code and kernel.is_pure), kernel
