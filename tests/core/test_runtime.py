"""What is known of the process as a whole."""

import lumus as lm


def test_peak_of_a_part_alone_begins_anew() -> None:
    large = lm.zeros((10_000,))
    del large
    lm.reset_peak_memory_stats()
    live = lm.memory_stats()["live_bytes"]
    small = lm.zeros((1_000,))
    assert lm.memory_stats()["peak_bytes"] == live + 4 * small.size
