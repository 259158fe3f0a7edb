"""GRDB's own tests, which all pass, with the product and without it."""

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
    # One run takes a minute, so only a part of the tests runs to warm up.
    for program in programs.values():
        seconds(program, ["DatabasePoolTests", "RecordPrimaryKeySingleTests"])
    found = bench.interleave(
        0, without=lambda: seconds(programs["without"]), with_us=lambda: seconds(programs["with"]))
    bench.compare("GRDB's own tests", found["with_us"], "without the product", found["without"], goal=1.03)


def seconds(program, tests=None):
    # The cleanup after a run is not part of the measured time.
    with scratch() as directory:
        temporary = directory / "tmp"
        temporary.mkdir()
        with open(KEPT / f"{program.stem}.log", "wb") as log:
            status, taken = grdb.run(
                program, GRDB_TESTS, log, tests, TMPDIR=temporary,
                FAILURE_ARTIFACTS_DIR=directory / "artifacts")
    # Races decide some of the tests, and a failing test takes no longer.
    if status not in (0, 1):
        sys.exit(f"GRDB's tests ended with status {status}: {log.name}")
    return taken
