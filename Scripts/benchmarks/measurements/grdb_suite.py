"""GRDB's own tests, which all pass, with the product and without it."""

import resource
import sys

from bench import scratch
import grdb
from places import GRDB_TESTS, KEPT


def measure(bench):
    # This takes minutes, mostly for building. `Scripts/soak` checks that the results are the same.
    if bench.mode != "full":
        return
    # The suite's long loops don't run the product's code and would bring the ratio closer to one.
    programs = grdb.build_both(GRDB_TESTS, KEPT / "grdb-tests-build", KEPT / "grdb-tests-build", shortened=True)
    found = bench.interleave(
        2, without=lambda: processor_time(programs["without"]), with_us=lambda: processor_time(programs["with"]))
    bench.compare(
        "GRDB's own tests, processor time", found["with_us"], "without the product", found["without"], goal=1.03)


def processor_time(program):
    """The processor time of all tests, in seconds.

    By the clock, chance decides: a waiting XCTest may miss that an asynchronous set-up has ended, and then goes on after
    0.1 s. On one machine that happened to 72 to 85 of the 2777 tests without the product.
    """
    # The cleanup after a run is not part of it.
    with scratch() as directory:
        temporary = directory / "tmp"
        temporary.mkdir()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(KEPT / f"{program.stem}.log", "wb") as log:
            status, _ = grdb.run(
                program, GRDB_TESTS, log, TMPDIR=temporary, FAILURE_ARTIFACTS_DIR=directory / "artifacts")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Races decide some of the tests, and a failing test takes no longer.
    if status not in (0, 1):
        sys.exit(f"GRDB's tests ended with status {status}: {log.name}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
