"""The cost of baselines: the processor time of a process whose tests pass, with and without them."""

import resource
import statistics

from bench import run, scratch
from places import SUITE


def processor_time(test, count, baseline):
    with scratch() as directory:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = run(
            [SUITE, f"BenchmarkSuite.{test}"], directory=directory, environment={
                "BENCHMARK_COUNT": count, "BENCHMARK_REPORT": directory / "report.txt",
                "FAILURE_ARTIFACTS_BASELINE": baseline, "FAILURE_ARTIFACTS_DIR": directory / "artifacts"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert ended.status == 0, ended
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(bench):
    rounds = bench.pick(0, 5, 9)
    for test, count, title in (
            ("OrdinaryTests/testNothing", bench.pick(5, 1_000), "GRDB tests in memory: migrate, 20 inserts, 10 queries"),
            ("PassingTests/testNothing", bench.pick(20, 1_000), "passing tests that open and close one store")):
        with scratch() as kept:
            # The first run of a build writes all files, and looks up all lines.
            first = bench.interleave(
                rounds, without=lambda: processor_time(test, count, "off"),
                with_them=lambda: new_build(test, count, kept))
            bench.compare(
                f"{count:,} {title}: the first run of a build", first["with_them"], "without baselines",
                first["without"], goal=1.15)
            again = bench.interleave(
                rounds, without=lambda: processor_time(test, count, "off"),
                with_them=lambda: processor_time(test, count, kept / "baselines"))
            bench.compare(
                f"{count:,} {title}: a later run", again["with_them"], "without baselines", again["without"], goal=1.05)
            files = list((kept / "baselines").iterdir())
            bench.absolute(
                "A test's baseline in the median",
                round(statistics.median(file.stat().st_size for file in files) / 1024, 1), unit="KiB")


def new_build(test, count, kept):
    """The time of a run whose baselines are all of another build."""
    for file in (kept / "baselines").glob("*"):
        file.unlink()
    return processor_time(test, count, kept / "baselines")
