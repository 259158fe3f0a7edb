"""The time from the failure to the finished zip of a small store, in a process with earlier failures."""

import json
import statistics
import sys

from bench import run, scratch
from places import SUITE
import workloads


def measure(bench):
    count = bench.pick(3, 100, 300)
    with scratch() as directory:
        report = directory / "report.json"
        ended = run(
            [SUITE, "BenchmarkSuite.SmallCaptureTests/testNothing"], directory=directory, environment={
                "BENCHMARK_STORE": workloads.store(100 << 10), "BENCHMARK_COUNT": count, "BENCHMARK_REPORT": report,
                "FAILURE_ARTIFACTS_DIR": directory / "artifacts", "FAILURE_ARTIFACTS_MAX_BUNDLES": count})
        bundles = len(list((directory / "artifacts").glob("*.zip")))
        times = json.loads(report.read_text())
        if len(times) != count or bundles != count:
            sys.exit(f"{len(times)} tests failed, with {bundles} bundles; status {ended.status}.")
    bench.absolute("100 KiB store, from the failure to the finished zip", statistics.median(times) / 1e9, goal=0.005)
