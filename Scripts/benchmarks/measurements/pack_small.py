"""The time from the failure to the finished zip of a small store, in a process with earlier failures."""

import json
import statistics
import sys

from bench import run, scratch, timed
from places import SUITE
import workloads


def measure(bench):
    count, rounds = bench.pick(3, 50, 100), bench.pick(0, 3, 5)
    store = workloads.store(100 << 10)
    with scratch() as directory:
        found = bench.interleave(
            rounds, ours=lambda: captures(store, count),
            peer=lambda: statistics.median(backup_and_zip(store, directory) for _ in range(count)))
    bench.compare(
        "100 KiB store, from the failure to the finished zip", found["ours"], ".backup + zip", found["peer"], goal=0.5)


def captures(store, count):
    """The median time of captures in one process."""
    with scratch() as directory:
        report = directory / "report.json"
        ended = run(
            [SUITE, "BenchmarkSuite.SmallCaptureTests/testNothing"], directory=directory, environment={
                "BENCHMARK_STORE": store, "BENCHMARK_COUNT": count, "BENCHMARK_REPORT": report,
                "FAILURE_ARTIFACTS_DIR": directory / "artifacts", "FAILURE_ARTIFACTS_MAX_BUNDLES": count})
        bundles = len(list((directory / "artifacts").glob("*.zip")))
        times = json.loads(report.read_text())
        if len(times) != count or bundles != count:
            sys.exit(f"{len(times)} tests failed, with {bundles} bundles; status {ended.status}.")
        return statistics.median(times) / 1e9


def backup_and_zip(store, directory):
    copy, zipped = directory / "copy.sqlite", directory / "copy.zip"
    for path in (copy, zipped):
        path.unlink(missing_ok=True)
    return timed(["sqlite3", store, f".backup '{copy}'"], ["zip", "-q", "-j", zipped, copy])
