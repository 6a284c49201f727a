"""The memory plan: values alive together do not share bytes, the others do."""

from hypothesis import given
from hypothesis import strategies as st

from lumus.compile.memory import ALIGNMENT, Lifetime, plan_memory

LIFETIMES = st.lists(
    st.builds(
        lambda nbytes, first, length: Lifetime(nbytes, first, first + length),
        st.integers(0, 1000),
        st.integers(0, 30),
        st.integers(0, 10),
    ),
    max_size=40,
)


def rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


@given(LIFETIMES)
def test_values_alive_together_lie_apart(lifetimes: list[Lifetime]) -> None:
    plan = plan_memory(lifetimes)
    places = list(zip(lifetimes, plan.offsets, strict=True))
    for number, (one, start) in enumerate(places):
        assert start % ALIGNMENT == 0
        assert start + rounded(one.nbytes) <= plan.arena_bytes or not one.nbytes
        for other, other_start in places[number + 1 :]:
            together = one.first <= other.last and other.first <= one.last
            overlap = start < other_start + other.nbytes and other_start < start + one.nbytes
            assert not (together and overlap and one.nbytes and other.nbytes)
    alive = [
        sum(rounded(one.nbytes) for one in lifetimes if one.first <= step <= one.last)
        for step in range(50)
    ]
    assert plan.peak_bytes == max(alive)
    assert plan.peak_bytes <= plan.arena_bytes <= plan.naive_bytes


def test_a_chain_needs_two_places() -> None:
    chain = [Lifetime(256, step, step + 1) for step in range(100)]
    plan = plan_memory(chain)
    assert (plan.arena_bytes, plan.naive_bytes, plan.peak_bytes) == (512, 25_600, 512)


def test_nothing_takes_no_memory() -> None:
    assert plan_memory([]).arena_bytes == 0
    assert plan_memory([Lifetime(0, 0, 5)]).arena_bytes == 0


def test_a_small_value_goes_into_a_gap() -> None:
    plan = plan_memory([Lifetime(640, 0, 1), Lifetime(320, 2, 5), Lifetime(64, 2, 5)])
    assert plan.arena_bytes == 640
