"""Losses of single elements and of vectors: from their definitions, an element at a time."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import mpmath
import numpy as np

import lumus as lm
from lumus.nn import functional
from lumus.testing.op_spec import Case, Cases, Domain, Edge, OpSpec, Source

FLOATS = (lm.float64, lm.float32, lm.float16, lm.bfloat16)
INF = math.inf
CALLS: tuple[tuple[tuple[int, ...], str], ...] = (
    ((2, 3), "mean"), ((6,), "sum"), ((2, 2), "none"), ((), "mean"),
)  # fmt: skip
UNIT = Domain(low=0.05, high=0.95)
POSITIVE = Domain(low=0.2, high=3.0)
REAL = Domain(low=-3.0, high=3.0)


def reduced(losses: Any, reduction: str) -> Any:
    losses = np.asarray(losses, np.float64)
    if reduction == "none":
        return losses
    total = math.fsum(losses.ravel())
    if reduction == "sum":
        return np.array(total)
    if reduction == "batchmean":
        return np.array(total / (losses.shape[0] if losses.ndim else 1))
    return np.array(total / losses.size if losses.size else math.nan)


def by_element(function: Callable[..., float], options: tuple[str, ...] = ()) -> Callable[..., Any]:
    """The formula of a loss whose elements are `function` of the inputs' elements and options."""

    def formula(*inputs: Any, reduction: str = "mean", **kwargs: Any) -> Any:
        chosen = {name: kwargs[name] for name in options if name in kwargs}
        together = np.broadcast_arrays(*inputs)
        elements = zip(*[one.ravel().tolist() for one in together], strict=True)
        losses = [function(*one, **chosen) for one in elements]
        return reduced(np.reshape(losses, together[0].shape), reduction)

    return formula


def softplus(x: float) -> float:
    with mpmath.workdps(40):
        return float(mpmath.log1p(mpmath.exp(mpmath.mpf(x))))


def cases_of(domains: tuple[Domain, ...], *options: dict[str, Any]) -> Cases:
    """All reductions, of several shapes and of nothing, with each of the options."""

    def cases(source: Source) -> Iterable[Case]:
        for number, kwargs in enumerate(({}, *options)):
            for shape, reduction in CALLS:
                inputs = tuple(source.draw(shape, domain) for domain in domains)
                chosen = {**kwargs, "reduction": reduction}
                yield Case(f"{number}: shape {shape}, {chosen}", inputs, chosen)
        nothing = tuple(source.draw((0, 2), domain) for domain in domains)
        yield Case("a sum of nothing", nothing, {"reduction": "sum"})
        yield Case("a mean of nothing", nothing, {}, smooth=False)

    return cases


def signs(source: Source, shape: tuple[int, ...]) -> Any:
    """Targets that are 1 or -1, with both of them."""
    flat = np.where(np.arange(math.prod(shape)) % 2 == 0, 1, -1)
    return source.random.permutation(flat).reshape(shape)


def signed_cases(num_inputs: int, margins: tuple[float, ...], *, first: Domain = REAL) -> Cases:
    """Inputs away from the kink, then targets that are 1 or -1 (Int)."""

    def cases(source: Source) -> Iterable[Case]:
        for margin in margins:
            for shape, reduction in CALLS:
                inputs = [source.draw(shape, first) for _ in range(num_inputs)]
                kwargs = {"reduction": reduction, **({"margin": margin} if margins != (0,) else {})}
                yield Case(f"{shape}, {kwargs}", (signs(source, shape), *inputs), kwargs)

    return cases


def target_last(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same with the target, which keeps its dtype, as the first input."""
    return lambda target, *inputs, **kwargs: function(*inputs, target, **kwargs)


# ----------------------------------------------------------------------------- formulas of elements


def smooth_l1(x: float, t: float, beta: float = 1.0) -> float:
    d = abs(x - t)
    return d * d / (2 * beta) if d < beta else d - beta / 2


def huber(x: float, t: float, delta: float = 1.0) -> float:
    d = abs(x - t)
    return d * d / 2 if d <= delta else delta * (d - delta / 2)


def clamped_log(p: float) -> float:
    return max(math.log(p), -100.0) if p > 0 else -100.0


def bce(p: float, t: float, w: float = 1.0) -> float:
    return -w * (t * clamped_log(p) + (1 - t) * clamped_log(1 - p))


def bce_with_logits(x: float, t: float, w: float = 1.0, positive: float = 1.0) -> float:
    return w * ((1 - t) * softplus(x) + positive * t * softplus(-x))


def kl(x: float, t: float, log_target: bool = False) -> float:
    if log_target:
        return math.exp(t) * (t - x)
    return t * (math.log(t) - x) if t else 0.0


def poisson(
    x: float, t: float, log_input: bool = True, full: bool = False, eps: float = 1e-8
) -> float:
    value = math.exp(x) - t * x if log_input else x - t * math.log(x + eps)
    if full and t > 1:
        value += t * math.log(t) - t + math.log(2 * math.pi * t) / 2
    return value


def gaussian(x: float, t: float, v: float, full: bool = False, eps: float = 1e-6) -> float:
    v = max(v, eps)
    return (math.log(v) + (x - t) ** 2 / v + (math.log(2 * math.pi) if full else 0)) / 2


def hinge_embedding(x: float, t: float, margin: float = 1.0) -> float:
    return x if t == 1 else max(0.0, margin - x)


def ranking(x: float, y: float, t: float, margin: float = 0.0) -> float:
    return max(0.0, margin - t * (x - y))


def with_weights(function: Any, *names: str) -> Any:
    """The loss with its weights as further inputs."""

    def call(x: Any, t: Any, *weights: Any, **kwargs: Any) -> Any:
        return function(x, t, **dict(zip(names, weights, strict=False)), **kwargs)

    return call


def weighted_cases(domains: tuple[Domain, ...], shapes: tuple[tuple[int, ...], ...]) -> Cases:
    """Unweighted cases, and some with weights of `shapes`, which broadcast to (2, 3)."""

    def cases(source: Source) -> Iterable[Case]:
        yield from cases_of(domains)(source)
        for reduction in ("mean", "none"):
            inputs = [source.draw((2, 3), domain) for domain in domains]
            weights = [source.draw(shape, POSITIVE) for shape in shapes]
            yield Case(f"weighted, {reduction}", (*inputs, *weights), {"reduction": reduction})

    return cases


# -------------------------------------------------------------------------------------- of vectors


def distance(x: Any, y: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> Any:
    difference = np.abs(x - y + eps)
    powers = difference.max(axis=-1) if p == INF else (difference**p).sum(axis=-1) ** (1 / p)
    return powers[..., None] if keepdims else powers


def distance_cases(source: Source) -> Iterable[Case]:
    for shapes, kwargs in (
        (((3, 4), (3, 4)), {}),
        (((2, 3, 4), (4,)), {"p": 3.0, "keepdims": True}),
        (((4,), (4,)), {"p": 1.0, "eps": 0.0}),
        (((2, 4), (2, 4)), {"p": INF}),
        (((0, 4), (0, 4)), {}),
    ):
        yield Case(f"{shapes}, {kwargs}", tuple(map(source.draw, shapes)), kwargs)


def triplet(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    **options: Any,
) -> Any:
    near, far = distance(anchor, positive, **options), distance(anchor, negative, **options)
    if swap:
        far = np.minimum(far, distance(positive, negative, **options))
    return reduced(np.maximum(near - far + margin, 0.0), reduction)


def triplet_cases(source: Source) -> Iterable[Case]:
    for shape, kwargs in (
        ((4, 3), {}),
        ((4, 3), {"margin": 4.0, "swap": True, "reduction": "none"}),
        ((3,), {"p": 1.0, "reduction": "sum", "margin": 5.0}),
    ):
        yield Case(f"{shape}, {kwargs}", tuple(source.draw(shape) for _ in range(3)), kwargs)


def cosine_embedding(x: Any, y: Any, t: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    cosine = (x * y).sum(axis=-1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1)
    return reduced(np.where(t == 1, 1 - cosine, np.maximum(0, cosine - margin)), reduction)


def cosine_cases(source: Source) -> Iterable[Case]:
    for shape, kwargs in (
        ((4, 3), {"margin": -0.9}),
        ((3, 2), {"reduction": "none", "margin": -0.9}),
        ((3,), {"reduction": "sum"}),
    ):
        vectors = (source.draw(shape), source.draw(shape))
        yield Case(f"{shape}, {kwargs}", (signs(source, shape[:-1]), *vectors), kwargs)


EQUAL = ([2.0, 3.0], [2.0, 3.0])
STILL = ([0.0, 0.0], [0.0, 0.0])


def spec(name: str, formula: Any, cases: Cases, **kwargs: Any) -> OpSpec:
    options: dict[str, Any] = {
        "function": getattr(functional, name),
        "dtypes": FLOATS,
        "absolute": True,
        "tolerance": 4,
    }
    return OpSpec(name=name, formula=formula, cases=cases, **{**options, **kwargs})


SPECS = [
    spec(
        "l1_loss",
        by_element(lambda x, t: abs(x - t)),
        cases_of((Domain(low=1.0, high=3.0), Domain(low=-3.0, high=0.5))),
        edges=(Edge("equal", EQUAL, STILL),),
    ),
    spec(
        "smooth_l1_loss",
        by_element(smooth_l1, ("beta",)),
        cases_of((REAL, REAL), {"beta": 0.3}, {"beta": 5.0}),
        edges=(
            Edge("equal", EQUAL, STILL),
            Edge("equal without a round part", EQUAL, STILL, kwargs={"beta": 0.0}),
        ),
    ),
    spec(
        "huber_loss",
        by_element(huber, ("delta",)),
        cases_of((REAL, REAL), {"delta": 0.3}),
        edges=(
            Edge("equal", EQUAL, STILL),
            Edge("far apart", ([9.0], [0.0]), ([2.0], [-2.0]), kwargs={"delta": 2.0}),
        ),
    ),
    spec(
        "binary_cross_entropy",
        by_element(bce),
        weighted_cases((UNIT, UNIT), ((3,),)),
        function=with_weights(functional.binary_cross_entropy, "weight"),
        edges=(
            Edge(
                "right to the last bit",
                ([0.0, 1.0], [0.0, 1.0]),
                ([1.0, -1.0], None),
                kwargs={"reduction": "sum"},
            ),
            Edge(
                "cut off",
                ([0.0, 1.0], [1.0, 0.0]),
                ([0.0, 0.0], [100.0, -100.0]),
                grad=1.0,
                kwargs={"reduction": "sum"},
            ),
        ),
    ),
    spec(
        "binary_cross_entropy_with_logits",
        by_element(bce_with_logits),
        weighted_cases((Domain(low=-8.0, high=8.0), UNIT), ((2, 3), (3,))),
        function=with_weights(functional.binary_cross_entropy_with_logits, "weight", "pos_weight"),
        edges=(
            Edge(
                "extremes",
                ([-100.0, 100.0, 0.0, -1000.0, INF, -INF], [1.0, 0.0, 0.5, 0.0, 1.0, 0.0]),
                ([-1.0, 1.0, 0.0, 0.0, 0.0, 0.0], None),
                kwargs={"reduction": "none"},
            ),
        ),
    ),
    spec(
        "kl_div",
        by_element(kl, ("log_target",)),
        cases_of((REAL, POSITIVE), {"log_target": True}),
        edges=(
            Edge(
                "no probability",
                ([-INF, -1.0], [0.0, 1.0]),
                ([0.0, -1.0], None),
                kwargs={"reduction": "sum"},
            ),
            Edge(
                "no probability, by its logarithm",
                ([-INF, -1.0], [-INF, 0.0]),
                ([0.0, -1.0], [0.0, 2.0]),
                kwargs={"reduction": "sum", "log_target": True},
            ),
            Edge(
                "a batch",
                ([[-1.0, -1.0], [-1.0, -1.0]], [[0.5, 0.5], [1.0, 0.25]]),
                ([[-0.25, -0.25], [-0.5, -0.125]], None),
                kwargs={"reduction": "batchmean"},
            ),
        ),
    ),
    spec(
        "poisson_nll_loss",
        by_element(poisson, ("log_input", "full", "eps")),
        cases_of(
            (POSITIVE, Domain(low=1.2, high=4.0)),
            {"full": True},
            {"log_input": False, "eps": 1e-3, "full": True},
        ),
        edges=(
            Edge(
                "no events at a rate of 0",
                ([0.0], [0.0]),
                ([1.0], None),
                kwargs={"log_input": False, "eps": 0.0},
            ),
        ),
    ),
    spec(
        "gaussian_nll_loss",
        by_element(gaussian, ("full", "eps")),
        cases_of((REAL, REAL, POSITIVE), {"full": True}),
        edges=(
            Edge(
                "a variance below eps",
                ([1.0], [0.0], [0.25]),
                ([2.0], [-2.0], [0.0]),
                kwargs={"eps": 0.5},
            ),
        ),
    ),
    spec(
        "hinge_embedding_loss",
        target_last(by_element(hinge_embedding, ("margin",))),
        signed_cases(1, (1.0, 5.0)),
        function=target_last(functional.hinge_embedding_loss),
        fixed=(0,),
        edges=(Edge("the margin", ([-1], [1.0]), (None, [0.0])),),
    ),
    spec(
        "margin_ranking_loss",
        target_last(by_element(ranking, ("margin",))),
        signed_cases(2, (0.0, 7.0)),
        function=target_last(functional.margin_ranking_loss),
        fixed=(0,),
        edges=(Edge("the margin", ([1], [2.0], [2.0]), (None, [0.0], [0.0])),),
    ),
    spec(
        "soft_margin_loss",
        target_last(by_element(lambda x, t: softplus(-t * x))),
        signed_cases(1, (0,)),
        function=target_last(functional.soft_margin_loss),
        fixed=(0,),
        edges=(Edge("far off", ([1, -1], [-1e4, -1e4]), (None, [-0.5, 0.0])),),
    ),
    spec(
        "triplet_margin_loss",
        triplet,
        triplet_cases,
        edges=(
            Edge(
                "all the same",
                ([1.0, 2.0], [1.0, 2.0], [1.0, 2.0]),
                ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]),
                kwargs={"eps": 0.0},
            ),
        ),
    ),
    spec(
        "cosine_embedding_loss",
        target_last(cosine_embedding),
        cosine_cases,
        function=target_last(functional.cosine_embedding_loss),
        fixed=(0,),
    ),
]
