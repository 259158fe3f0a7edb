"""GRDB's own test suite, all of which passes, with the product and without it."""

import sys

from bench import scratch
import grdb
from places import GRDB_TESTS, KEPT


def measure(bench):
    # It takes minutes, most of them to build the tests; that they give the same results is checked by `Scripts/soak`.
    if bench.mode != "full":
        return
    # With its long loops, which have nothing of ours in them, the ratio would be nearer to one.
    programs = grdb.build_both(GRDB_TESTS, KEPT / "grdb-tests-build", KEPT / "grdb-tests-build", shortened=True)
    # One run of each takes a minute; to warm up a part of it is enough.
    for program in programs.values():
        seconds(program, ["DatabasePoolTests", "RecordPrimaryKeySingleTests"])
    found = bench.interleave(
        0, without=lambda: seconds(programs["without"]), with_us=lambda: seconds(programs["with"]))
    bench.compare("GRDB's own tests", found["with_us"], "without us", found["without"], goal=1.02)


def seconds(program, tests=None):
    # What the suite leaves is removed before the next is timed.
    with scratch() as directory:
        temporary = directory / "tmp"
        temporary.mkdir()
        with open(KEPT / f"{program.stem}.log", "wb") as log:
            status, taken = grdb.run(
                program, GRDB_TESTS, log, tests, TMPDIR=temporary,
                FAILURE_ARTIFACTS_DIR=directory / "artifacts")
    # Some of its tests are decided by a race; one that fails takes no longer.
    if status not in (0, 1):
        sys.exit(f"GRDB's tests ended with status {status}: {log.name}")
    return taken
