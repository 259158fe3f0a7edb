"""The delay of a failing test with a store in WAL mode."""

from bench import MEBIBYTE, scratch, timed
from capture import capture
import workloads


def measure(bench):
    size = bench.pick(MEBIBYTE, 65 * MEBIBYTE)
    store = workloads.store(size)
    with scratch() as directory:
        copy = directory / "copy.sqlite"
        found = bench.interleave(
            bench.pick(0, 5, 9), ours=lambda: capture(store, wal=True).held,
            cp=lambda: timed(["cp", store, copy]))
    bench.compare(
        f"a failing test is held up, {size // MEBIBYTE} MiB in WAL mode", found["ours"], "cp", found["cp"], goal=3)
