"""The cost for passing tests: the statement log with values and source lines, an ordinary test, and one that opens a store."""

from bench import run, scratch
from places import SUITE


def thread_time(test, count, mode):
    """The processor time of a test's own thread, in seconds."""
    with scratch() as directory:
        report = directory / "report.txt"
        ended = run(
            [SUITE, f"BenchmarkSuite.{test}"], directory=directory, environment={
                "BENCHMARK_COUNT": count, "BENCHMARK_REPORT": report, "FAILURE_ARTIFACTS": mode,
                "FAILURE_ARTIFACTS_DIR": directory / "artifacts"})
        assert ended.status == 0, ended
        return float(report.read_text())


def measure(bench):
    count, rounds = bench.pick(1_000, 500_000, 1_000_000), bench.pick(0, 5, 9)
    for where, test in (("in memory", "testStatementsInMemory"), ("in a file in WAL mode", "testStatementsInWALMode")):
        times = bench.interleave(
            rounds,
            without=lambda: thread_time(f"StatementTests/{test}", count, "off"),
            with_us=lambda: thread_time(f"StatementTests/{test}", count, "first-failure"))
        bench.compare(
            f"{count:,} small inserts and as many selects {where}, with the statement log", times["with_us"],
            "without the product", times["without"], goal=1.15)

    count = bench.pick(5, 200, 1_000)
    times = bench.interleave(
        rounds,
        without=lambda: thread_time("OrdinaryTests/testNothing", count, "off"),
        with_us=lambda: thread_time("OrdinaryTests/testNothing", count, "first-failure"))
    bench.compare(
        f"{count:,} GRDB tests in memory: migrate, 20 inserts, 10 queries", times["with_us"], "without the product",
        times["without"], goal=1.05)

    count = bench.pick(20, 1_000, 3_000)
    times = bench.interleave(
        rounds,
        without=lambda: thread_time("PassingTests/testNothing", count, "off"),
        with_us=lambda: thread_time("PassingTests/testNothing", count, "first-failure"))
    bench.compare(
        f"{count:,} passing tests that open and close one store", times["with_us"], "without the product",
        times["without"], goal=1.2)
