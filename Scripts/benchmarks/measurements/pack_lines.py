"""The cost of finding the source lines of statements, in a process with one failing test."""

from bench import Median
from capture import capture
import workloads


def measure(bench):
    store = workloads.store(100 << 10)
    found = bench.results(
        bench.pick(0, 5, 9), with_lines=lambda: capture(store, wal=True),
        without=lambda: capture(store, wal=True, lines=False))
    times = {name: [capture.total for capture in captures] for name, captures in found.items()}
    peaks = {name: [capture.ended.peak for capture in captures] for name, captures in found.items()}
    for what, values, unit in (("from the failure to the end of the process", times, "s"), ("peak memory", peaks, "bytes")):
        bench.compare(
            f"100 KiB store, {what}, with source lines", Median("with_lines", values), "without",
            Median("without", values), unit=unit)
