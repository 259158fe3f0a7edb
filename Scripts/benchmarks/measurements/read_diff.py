"""`diff` of two large tables that are almost the same."""

from bench import MEBIBYTE, run, timed
from places import TOOL
import workloads


def measure(bench):
    count = bench.pick(1_000, 100_000, 1_000_000)
    pair = workloads.pair(count, changed=min(100, count // 10))
    label = f"diff of two tables of {count:,} rows"
    # The tool's exit status 1 means that the tables differ, as with diff(1).
    found = bench.interleave(
        bench.pick(0, 3, 5), ours=lambda: timed([TOOL, "diff", *pair], status=1),
        other=lambda: timed(["sqldiff", *pair]))
    bench.compare(label, found["ours"], "sqldiff", found["other"], goal=1.0)
    bench.absolute(f"{label}, memory", run([TOOL, "diff", *pair]).peak, goal=64 * MEBIBYTE, unit="bytes")
