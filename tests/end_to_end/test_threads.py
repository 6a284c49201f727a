"""Trainings in several Python threads do not disturb each other."""

import threading

import lumus as lm
from lumus import nn

NUM_THREADS = 8


def trained(seed):
    """The bits of a small model after a training of its own."""
    generator = lm.random.Generator(seed)
    model = nn.Sequential(
        nn.Linear(5, 32, generator=generator), nn.GELU(), nn.Dropout(0.1, generator=generator),
        nn.Linear(32, 3, generator=generator),
    )  # fmt: skip
    x = lm.random.normal((64, 5), generator=generator)
    y = lm.random.integers((64,), 0, 3, generator=generator)
    optimizer = lm.optim.AdamW(model.parameters(), lr=0.01)
    for images, labels in (
        batch
        for _ in range(4)
        for batch in lm.data.Batches(x, y, batch_size=8, shuffle=True, generator=generator)
    ):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.step(loss.backward())
        with lm.no_grad():
            model.eval()(images)
            model.train()
    return [one.detach().numpy().tobytes() for one in model.parameters()]


def test_eight_threads_that_train_separately_get_the_bits_of_training_alone():
    alone = [trained(seed) for seed in range(NUM_THREADS)]
    together = [None] * NUM_THREADS
    barrier = threading.Barrier(NUM_THREADS)

    def work(seed):
        barrier.wait()
        together[seed] = trained(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(NUM_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert together == alone
    assert len({tuple(one) for one in alone}) == NUM_THREADS
