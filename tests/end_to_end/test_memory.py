"""Training holds on to nothing: no cycles, no growing caches."""

import gc
from collections import Counter

import lumus as lm
from lumus import nn


def test_thousand_training_steps_leave_as_much_alive_as_ten():
    generator = lm.random.Generator(1)
    model = nn.Sequential(
        nn.Linear(6, 8, generator=generator), nn.ReLU(), nn.Dropout(0.2, generator=generator),
        nn.Linear(8, 3, generator=generator),
    )  # fmt: skip
    optimizer = lm.optim.Adam(model.parameters())
    x = lm.random.normal((30, 6), generator=generator)
    y = lm.random.integers((30,), 0, 3, generator=generator)
    batches = lm.data.Batches(x, y, batch_size=10, shuffle=True, generator=generator)

    def train(num_steps):
        """(bytes, storages, objects of lumus by class) alive after that many steps."""
        done = 0
        while done < num_steps:
            for images, labels in batches:
                optimizer.lr = 0.01 / (1 + done)  # a schedule: another number in each step
                loss = nn.functional.cross_entropy(model(images), labels)
                grads = loss.backward()
                grads.clip_(1e-3)
                optimizer.step(grads)
                loss.item()
                done += 1
        del images, labels, loss, grads
        stats = lm.memory_stats()
        objects = Counter(
            type(one).__name__
            for one in gc.get_objects()
            if str(type(one).__module__).startswith("lumus") and not isinstance(one, type)
        )
        return stats["live_bytes"], stats["live_storages"], objects

    gc.collect()
    gc.disable()
    try:
        train(10)  # plans and constants that come once
        before = train(10)
        after = train(1000)
    finally:
        gc.enable()
    assert after[:2] == before[:2]
    assert after[2] - before[2] == Counter()


def test_a_warm_training_step_takes_no_memory_from_the_system():
    generator = lm.random.Generator(2)
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2, generator=generator), nn.BatchNorm2d(6), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(6, 16, 5, generator=generator), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 32, generator=generator), nn.LayerNorm(32), nn.GELU(),
        nn.Linear(32, 10, generator=generator),
    )  # fmt: skip
    optimizer = lm.optim.Adam(model.parameters())
    x = lm.random.normal((16, 1, 28, 28), generator=generator)
    y = lm.random.integers((16,), 0, 10, generator=generator)

    def memory_after(num_steps):
        """Bytes of tensors with what is kept for reuse: all that the system has been asked for."""
        for _ in range(num_steps):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.step(loss.backward())
        del loss
        stats = lm.memory_stats()
        return stats["live_bytes"] + stats["cached_bytes"]

    # With several threads the scratch memory of pieces that happen to run at once adds up, so the
    # most that is ever needed comes after some steps; with one it is there after the second.
    threads = lm.num_threads()
    lm.set_num_threads(1)
    try:
        gc.collect()
        warm = memory_after(3)
        assert memory_after(40) == warm
    finally:
        lm.set_num_threads(threads)
