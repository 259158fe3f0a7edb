"""The memory that capturing a large store takes beyond capturing a tiny one."""

from bench import GIBIBYTE, MEBIBYTE
from capture import capture
import workloads


def measure(bench):
    usual = min(capture(workloads.store(100 << 10)).ended.peak for _ in range(3))
    sizes = {"smoke": [2 * MEBIBYTE], "quick": [65 * MEBIBYTE], "full": [65 * MEBIBYTE, GIBIBYTE, 4 * GIBIBYTE]}
    for size in sizes[bench.mode]:
        peak = capture(workloads.store(size)).ended.peak
        bench.absolute(
            f"memory added by a capture of {size // MEBIBYTE} MiB", max(0, peak - usual), goal=96 * MEBIBYTE,
            unit="bytes")
