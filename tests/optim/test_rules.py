"""SGD, Adam and AdamW: their numbers, against worked values and an independent implementation."""

import itertools

import numpy as np
import pytest

import lumus as lm
from lumus.autograd.gradients import GradStore
from lumus.core import write
from tests.optim import reference_rules

SGD, Adam, AdamW = lm.optim.SGD, lm.optim.Adam, lm.optim.AdamW


def parameter(values, dtype=lm.float64):
    return lm.nn.Parameter(lm.tensor(values, dtype=dtype))


def store(*pairs):
    grads = GradStore()
    for one, grad in pairs:
        grads.replace(one, lm.tensor(grad, dtype=one.dtype))
    return grads


def run(make, start, grads, dtype=lm.float64):
    """The values of a 0-d parameter after each step."""
    p = parameter(start, dtype)
    optimizer = make([p])
    values = []
    for grad in grads:
        optimizer.step(store((p, grad)))
        values.append(p.item())
    return values


# Worked values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("grad", "expected"), [(0.5, -0.099999998), (1e-8, -0.05)])
def test_adam_first_step_has_eps_after_the_correction_N1(grad, expected):
    def make(ps):
        return Adam(ps, lr=0.1)

    assert run(make, 0.0, [grad]) == pytest.approx([expected], rel=1e-12)
    assert run(make, 0.0, [grad], lm.float32) == pytest.approx([expected], rel=1e-6)


def test_adam_three_steps_N2():
    expected = [-0.099999999, -0.06338964652792518, -0.0977137543982702]
    got = run(lambda ps: Adam(ps, lr=0.1), 0.0, [1.0, -2.0, 3.0])
    assert got == pytest.approx(expected, rel=1e-9)


def test_adam_counts_the_steps_of_each_parameter_alone_N2():
    p, q = parameter(0.0), parameter(0.0)
    adam = Adam([p, q], lr=0.1)
    adam.step(store((p, 1.0)))
    adam.step(store((p, -2.0), (q, 1.0)))
    assert q.item() == pytest.approx(-0.099999999, rel=1e-9)
    assert p.item() == pytest.approx(-0.06338964652792518, rel=1e-9)
    assert [adam.state[place]["step"] for place in (0, 1)] == [2, 1]


def test_adamw_decays_apart_from_the_gradient_and_adam_through_it_N3():
    assert run(lambda ps: AdamW(ps, lr=0.1, weight_decay=0.3), 2.0, [0.0]) == [
        pytest.approx(1.94, rel=1e-15)
    ]
    assert run(lambda ps: Adam(ps, lr=0.1, weight_decay=0.3), 2.0, [0.0]) == [
        pytest.approx(1.9000000017, abs=1e-10)
    ]


def test_adamw_decays_the_old_parameter_N4():
    got = run(lambda ps: AdamW(ps, lr=0.1, weight_decay=0.1), 1.0, [1.0])
    assert got == [pytest.approx(0.890000001, rel=1e-12)]


def test_sgd_first_step_has_no_dampening_N6():
    got = run(lambda ps: SGD(ps, lr=0.1, momentum=0.9, dampening=0.5), 0.0, [2.0, 2.0])
    assert got == pytest.approx([-0.2, -0.48], rel=1e-14)


def test_sgd_decay_enters_the_buffer_N7():
    got = run(lambda ps: SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.1), 1.0, [1.0, 1.0])
    assert got == pytest.approx([0.89, 0.6821], rel=1e-14)


def test_sgd_nesterov_N8():
    got = run(lambda ps: SGD(ps, lr=0.1, momentum=0.9, nesterov=True), 0.0, [1.0, 1.0])
    assert got == pytest.approx([-0.19, -0.461], rel=1e-14)


# Against the independent implementation -----------------------------------------------------------

SGD_OPTIONS = [
    {"momentum": momentum, "dampening": dampening, "weight_decay": decay, "nesterov": nesterov}
    for momentum, dampening, decay, nesterov in itertools.product(
        (0.0, 0.9), (0.0, 0.5), (0.0, 0.1), (False, True)
    )
    if not nesterov or (momentum and not dampening)
]
ADAM_OPTIONS = [
    {"betas": betas, "eps": eps, "weight_decay": decay}
    for betas, eps, decay in itertools.product(
        ((0.9, 0.999), (0.0, 0.5), (0.5, 0.25)), (1e-8, 1e-2), (0.0, 0.1)
    )
]
CASES = [
    *[(SGD, reference_rules.sgd, options) for options in SGD_OPTIONS],
    *[(Adam, reference_rules.adam, options) for options in ADAM_OPTIONS],
    *[(AdamW, reference_rules.adamw, options) for options in ADAM_OPTIONS],
]


@pytest.mark.parametrize(("dtype", "tolerance"), [(lm.float64, 1e-12), (lm.float32, 3e-5)])
@pytest.mark.parametrize(
    ("kind", "rule", "options"), CASES, ids=lambda one: getattr(one, "__name__", None)
)
def test_twenty_steps_agree_with_the_rule_in_numpy(kind, rule, options, dtype, tolerance):
    random = np.random.default_rng(0)
    shapes = [(), (3,), (2, 5), (0,), (67,)]
    starts = [random.normal(size=shape) for shape in shapes]
    parameters = [parameter(start, dtype) for start in starts]
    expected = [one.detach().numpy().astype(np.float64) for one in parameters]
    optimizer = kind(parameters, lr=0.05, **options)
    step = rule(0.05, **options)
    for turn in range(20):
        if turn == 12:  # a schedule
            optimizer.lr = 0.01
            step = _with_rate(step, rule, options, 0.01)
        grads = GradStore()
        for place, one in enumerate(parameters):
            if turn % 3 == 1 and place == 2:  # a parameter that some steps do not reach
                continue
            grad = random.normal(size=shapes[place]) * 10.0 ** (turn % 5 - 2)
            grads.replace(one, lm.tensor(grad, dtype=dtype))
            rounded = grads[one].numpy().astype(np.float64)
            expected[place] = step(place, expected[place], rounded)
        optimizer.step(grads)
        for one, values in zip(parameters, expected, strict=True):
            np.testing.assert_allclose(one.detach().numpy(), values, rtol=tolerance, atol=tolerance)


def _with_rate(step, rule, options, lr):
    """The rule with another rate and the state that it had."""
    fresh = rule(lr, **options)
    old = dict(zip(step.__code__.co_freevars, step.__closure__, strict=True))
    new = dict(zip(fresh.__code__.co_freevars, fresh.__closure__, strict=True))
    for name in {"buffers", "moments"} & set(old):
        new[name].cell_contents = old[name].cell_contents
    return fresh


# Half precision, layouts --------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "ulp"), [(lm.float16, 2**-10), (lm.bfloat16, 2**-7)])
@pytest.mark.parametrize(
    ("kind", "rule", "options"),
    [
        (SGD, reference_rules.sgd, {"momentum": 0.9, "weight_decay": 0.01}),
        (Adam, reference_rules.adam, {}),
        (AdamW, reference_rules.adamw, {}),
    ],
)
def test_half_precision_keeps_its_state_in_float32_and_rounds_once_a_step(
    kind, rule, options, dtype, ulp
):
    # Gradients whose squares are below the smallest float16.
    grads = np.array([1e-4, -2e-4, 5e-5, 1e-3])
    p = parameter([1.0, -0.5, 0.25, 2.0], dtype)
    optimizer, step = kind([p], lr=0.03, **options), rule(0.03, **options)
    for _ in range(10):
        before = p.detach().astype(lm.float64).numpy()
        given = lm.tensor(grads).astype(dtype)
        store_ = GradStore()
        store_.replace(p, given)
        optimizer.step(store_)
        expected = step(0, before, given.astype(lm.float64).numpy())
        got = p.detach().astype(lm.float64).numpy()
        np.testing.assert_allclose(got, expected, rtol=0.51 * ulp)
    tensors = [one for one in optimizer.state[0].values() if isinstance(one, lm.Tensor)]
    assert tensors
    assert {one.dtype for one in tensors} == {lm.float32}


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_transposed_parameter_is_updated_in_its_own_memory(kind):
    base = lm.ones((2, 3))
    p = lm.nn.Parameter(base.T)
    optimizer = kind([p], lr=0.5)
    optimizer.step((p * lm.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).sum().backward())
    changed = [[value != 1.0 for value in row] for row in base.tolist()]
    touched = [[True, False, False], [False, False, False]]
    assert changed == (touched if kind is not AdamW else [[True] * 3] * 2)


@pytest.mark.parametrize(
    ("kind", "options"), [(SGD, {"momentum": 0.9}), (SGD, {}), (Adam, {}), (AdamW, {})]
)
def test_update_is_one_pass_a_parameter_and_allocates_nothing(kind, options, monkeypatch):
    passes = []
    run_into = write._run_into
    monkeypatch.setattr(write, "_run_into", lambda *a: (passes.append(a[0].name), run_into(*a)))
    parameters = [parameter(np.ones(1000)), parameter(np.ones((10, 50)))]
    optimizer = kind(parameters, lr=0.1, **options)
    for turn in range(3):
        grads = store(*[(one, np.ones(one.shape)) for one in parameters])
        passes.clear()
        before = lm.memory_stats()["live_bytes"]
        optimizer.step(grads)
        assert len(passes) == len(parameters)
        if turn:  # its gradients are gone, and nothing came
            assert lm.memory_stats()["live_bytes"] == before - 8 * 1500


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_update_has_the_same_bits_for_any_number_of_threads(kind, threads):
    values = np.random.default_rng(1).normal(size=200_003)

    def trained():
        p = parameter(values, lm.float32)
        optimizer = kind([p], lr=0.1)
        for _ in range(2):
            optimizer.step(store((p, np.roll(values, 7))))
        return p.detach().numpy().tobytes()

    before = lm.num_threads()
    try:
        lm.set_num_threads(1)
        expected = trained()
        lm.set_num_threads(threads)
        assert trained() == expected
    finally:
        lm.set_num_threads(before)
