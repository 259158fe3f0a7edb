"""Packing a small store, apart from the copy."""

import statistics

from capture import capture
import workloads


def measure(bench):
    store = workloads.store(100 << 10)
    # `capture.duration` is the time until the copies were there; the rest of the assertion packs them.
    times = [found.held - found.metadata["capture"]["duration"]
             for found in (capture(store) for _ in range(bench.pick(2, 15, 30)))]
    bench.absolute("packing 100 KiB, first of a process", statistics.median(times), goal=0.002)
