"""What a compiled function assigns in Python: done at each call, or refused and put back."""

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import TraceError

X = lm.tensor([1.0, 2.0])
WEIGHT = lm.nn.Parameter(lm.tensor([1.0, 2.0]))
COUNT = 0


class Model(lm.nn.Module):
    """Keeps what it computes, in the ways that people do."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.mean = lm.zeros((2,))
        self.latest: Any = None
        self.by_name = {"mean": lm.zeros((2,))}
        self.history: list[Any] = []
        self.recent: deque[Any] = deque(maxlen=2)
        self.num_calls = 0

    def forward(self, x: Any) -> Any:
        match self.how:
            case "attribute":
                self.mean = self.mean * 0.5 + x
            case "new attribute":
                self.fresh = x * 2.0
            case "within a tuple":
                self.latest = (x * 2.0, 1)
            case "argument":
                self.latest = x
            case "item":
                self.by_name["mean"] = self.by_name["mean"] * 0.5 + x
            case "list":
                self.history.append(x * 2.0)
            case "deque":
                self.recent.append(x * 2.0)
            case "number":
                self.num_calls += 1
            case "deleted":
                del self.mean
            case _:
                raise AssertionError(self.how)
        return x * float(1 + self.num_calls)


class Plain:
    """The same for objects that are no modules, with a slot."""

    __slots__ = ("__dict__", "num_calls")
    total = 0

    def __init__(self) -> None:
        self.num_calls = 0
        self.mean = lm.zeros((2,))

    def slot(self, x: Any) -> Any:
        self.num_calls += 1
        return x * float(self.num_calls)

    def of_class(self, x: Any) -> Any:
        Plain.total += 1
        return x * float(Plain.total)

    def tensor(self, x: Any) -> Any:
        self.mean = self.mean * 0.5 + x
        return self.mean

    def by_name(self, x: Any) -> Any:
        setattr(self, f"{type(self).__name__.lower()}_made", x * 2.0)
        return x


def state_of(model: Model) -> list[Any]:
    held = [model.mean, model.latest, dict(model.by_name), list(model.history)]
    return [*held, list(model.recent), model.num_calls, sorted(vars(model))]


@pytest.mark.parametrize(
    "how",
    ["attribute", "new attribute", "within a tuple", "argument", "item", "list", "deque", "number"],
)
def test_what_a_module_assigns_is_refused_and_put_back(how: str) -> None:
    model = Model(how)
    before = state_of(model)
    with pytest.raises(TraceError, match=r"Model|forward"):
        lm.compile(model)(X)
    assert all(
        one is other or one == other for one, other in zip(before, state_of(model), strict=True)
    )
    assert model.recent.maxlen == 2
    assert model(X).tolist() == Model(how)(X).tolist()  # it can go on without compile


@pytest.mark.parametrize("how", ["slot", "of_class", "tensor", "by_name"])
def test_what_an_object_assigns_is_refused_and_put_back(how: str) -> None:
    one = Plain()
    held = (one.num_calls, Plain.total, one.mean, sorted(vars(one)))
    with pytest.raises(TraceError, match="later calls run its plan"):
        lm.compile(getattr(one, how))(X)
    assert held == (one.num_calls, Plain.total, one.mean, sorted(vars(one)))


def line_with(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(at for at, line in enumerate(lines, 1) if text in line)


def test_a_message_has_the_name_the_line_and_what_to_do() -> None:
    with pytest.raises(TraceError) as caught:
        lm.compile(Model("attribute"))(X)
    assert "keeps a tensor that it computes, as mean at " in str(caught.value)
    assert f"test_assigned.py:{line_with('self.mean = self.mean')}" in str(caught.value)
    assert "mean.copy_(value)" in str(caught.value)
    line = line_with("self.num_calls += 1")
    with pytest.raises(TraceError, match=rf"changes num_calls at .*:{line} \(0 -> 1\) each time"):
        lm.compile(Model("number"))(X)
    with pytest.raises(TraceError, match=r"as by_name\['mean'\]; .*\n.*by_name\['mean'\].copy_"):
        lm.compile(Model("item"))(X)


def global_weight(x: Any) -> Any:
    global WEIGHT
    with lm.no_grad():
        WEIGHT -= 0.1 * x
    return WEIGHT * x


def global_count(x: Any) -> Any:
    global COUNT
    COUNT += 1
    return x * float(COUNT)


def global_made(x: Any) -> Any:
    global MADE_BY_IT
    MADE_BY_IT = x * 2.0
    return x


def test_global_names() -> None:
    weight = WEIGHT
    for function in (global_weight, global_count, global_made):
        with pytest.raises(TraceError, match=r"WEIGHT|COUNT|MADE_BY_IT"):
            lm.compile(function)(X)
    assert WEIGHT is weight
    assert COUNT == 0
    assert "MADE_BY_IT" not in globals()


def test_enclosed_names_and_defaults() -> None:
    count = 0

    def enclosed(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * float(count)

    def default(x: Any, memo: dict[str, int] = {}) -> Any:  # noqa: B006
        memo["count"] = memo.get("count", 0) + 1
        return x * float(memo["count"])

    for function in (enclosed, default):
        with pytest.raises(TraceError, match="each time it runs"):
            lm.compile(function)(X)
    assert count == 0
    assert default.__defaults__ == ({},)


@pytest.mark.parametrize(
    "change",
    [
        lambda x, held: held["list"].append(x * 2.0),
        lambda x, held: held["list"].append(1.0),
        lambda x, held: held.pop("list"),
        lambda x, held: held.setdefault("more", 1),
        lambda x, held: held["inner"][0].update(a=2),
    ],
)
def test_what_is_changed_of_an_argument_is_refused(change: Callable[..., Any]) -> None:
    def function(x: Any, held: Any) -> Any:
        change(x, held)
        return x

    held = {"list": [1.0], "inner": ({"a": 1},)}
    with pytest.raises(TraceError, match="held"):
        lm.compile(function)(X, held)
    assert held == {"list": [1.0], "inner": ({"a": 1},)}


def test_an_error_leaves_python_as_it_was() -> None:
    seen: list[int] = []
    numbers = {3, 4}
    ordered = OrderedDict(b=1, a=2)

    def function(x: Any) -> Any:
        seen.append(1)
        numbers.discard(3)
        ordered.move_to_end("b")
        ordered["b"] = 5
        return x.item()

    with pytest.raises(TraceError, match="is read"):
        lm.compile(function)(lm.ones(()))
    assert seen == []
    assert numbers == {3, 4}
    assert list(ordered.items()) == [("b", 1), ("a", 2)]


def test_containers_with_rules_of_their_own_are_put_back() -> None:
    class Strict(dict[str, Any]):
        def __setitem__(self, key: str, value: Any) -> None:
            raise AssertionError(key)

        def update(self, *_: Any, **__: Any) -> None:  # type: ignore[override]
            raise AssertionError

    strict = Strict(a=1)
    counts = Counter({"a": 2, "b": -1})
    by_name: defaultdict[str, list[int]] = defaultdict(list)

    def function(x: Any) -> Any:
        dict.__setitem__(strict, "a", 2)
        counts["a"] += 1
        by_name["new"].append(1)
        return x.item()

    with pytest.raises(TraceError, match="is read"):
        lm.compile(function)(lm.ones(()))
    assert (dict(strict), dict(counts), dict(by_name)) == ({"a": 1}, {"a": 2, "b": -1}, {})


def test_numpy_arrays_that_it_writes() -> None:
    counts, filled = np.zeros(3), np.zeros((2, 2))
    held = {"counts": counts}

    def function(x: Any) -> Any:
        held["counts"][1] += 1.0
        return x * float(counts[1])

    with pytest.raises(TraceError, match=r"changes (counts|held\['counts'\]) \(other elements\)"):
        lm.compile(function)(X)
    assert counts.tolist() == [0.0, 0.0, 0.0]

    def fill(x: Any) -> Any:
        filled[:] = 5.0
        return x * 2.0

    compiled = lm.compile(fill)
    compiled(X)
    filled[0] = 1.0
    compiled(X)
    assert (filled == 5.0).all()


def test_looking_at_a_program_assigns_nothing() -> None:
    class Sized:
        def step(self, x: Any) -> Any:
            self.size = x.shape[0]
            return x * float(self.size)

    one = Sized()
    compiled = lm.compile(one.step)
    compiled.program(X)
    compiled.optimised(X)
    compiled.explain(X)
    assert vars(one) == {}
    compiled(X)
    assert one.size == 2


class Lazy(lm.nn.Module):
    """Remembers what depends on its settings and on shapes, and reads it before it sets it."""

    def __init__(self) -> None:
        self.size = -1
        self.table: dict[int, float] = {}

    @cached_property
    def factor(self) -> float:
        return 3.0

    def forward(self, x: Any) -> Any:
        result = x * float(self.size) * self.factor
        self.size = x.shape[0]
        if self.size not in self.table:
            self.table[self.size] = float(self.size)
        return result + self.table[self.size]


def test_what_settles_is_assigned_at_each_call_as_in_eager_execution() -> None:
    compiled, model = lm.compile(one := Lazy()), Lazy()
    for length in (2, 2, 3, 3, 2, 3, 2, 2, 3):
        x = lm.ones((length,))
        assert compiled(x).tolist() == model(x).tolist()
        assert (one.size, one.table, sorted(vars(one))) == (
            (model.size, model.table, sorted(vars(model)))
        )
    reasons = [variant.reason for variant in compiled.cache_info().variants]
    assert len(reasons) < 9
    assert "size: -1 -> 2" in reasons[1]


def test_a_call_that_fails_assigns_nothing() -> None:
    class Sized:
        size = 0

        def step(self, x: Any, at: Any) -> Any:
            self.size = 2
            return x[at]

    one = Sized()
    compiled = lm.compile(one.step)
    with pytest.raises(IndexError):
        compiled(X, lm.tensor([7]))
    assert one.size == 0
    compiled(X, lm.tensor([1]))
    assert one.size == 2


def test_a_mode_that_is_set_back_is_nothing_assigned() -> None:
    model = lm.nn.Sequential(lm.nn.Linear(2, 2), lm.nn.Dropout(0.5))

    def function(x: Any) -> Any:
        model.eval()
        result = model(x)
        model.train()
        return result

    compiled = lm.compile(function)
    assert compiled(X).tolist() == function(X).tolist()
    assert len(compiled.cache_info().variants) == 1
    assert model.training


def test_the_rate_is_set_outside() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0]))
    opt = lm.optim.SGD([w], lr=1.0)

    @lm.compile
    def step(rate: float) -> None:
        opt.lr = rate
        opt.step(w.sum().backward())

    for rate in (1.0, 0.5):
        with pytest.raises(TraceError, match=r"SGD.lr is set at .*test_assigned.py:\d+"):
            step(rate)
    assert (opt.lr, dict(opt.state), w.item()) == (1.0, {}, 1.0)


def test_a_schedule_with_a_count_of_its_own_is_refused() -> None:
    class Schedule:
        def __init__(self) -> None:
            self.count = 0

        def step(self) -> float:
            self.count += 1
            return 1.0 / self.count

    schedule = Schedule()
    with pytest.raises(TraceError, match=r"schedule.count at .* \(0 -> 1\)"):
        lm.compile(lambda x: x * schedule.step())(X)
    assert schedule.count == 0


def test_options_of_an_optimizer_are_set_outside() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0, 2.0]))
    opt = lm.optim.SGD([w], lr=1.0)

    @lm.compile
    def step(x: Any, rate: float) -> None:
        opt.groups[0].options["lr"] = rate
        opt.step((w * x).sum().backward())

    step(X, 1.0)  # changes nothing
    with pytest.raises(TraceError, match=r"options\['lr'\] \(1.0 -> 0.5\), which is an input"):
        step(X, 0.5)
    opt.lr = 0.5
    with pytest.raises(TraceError, match=r"options\['lr'\] \(0.5 -> 1.0\)"):
        step(X, 1.0)
    assert (opt.lr, w.tolist()) == (0.5, [0.0, 0.0])
