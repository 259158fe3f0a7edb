"""`reduce` of a store of five tables, by a query and by a command."""

import json
import pathlib
import shlex
import subprocess
import tempfile

import workloads
from bench import run, timed
from capture import capture
from places import KEPT, TOOL

CHECK = "SELECT transferID FROM posting GROUP BY transferID HAVING sum(cents) > 0 AND count(*) > 1"


def measure(bench):
    rows = bench.pick(500, 10_000)
    path = KEPT / f"ledger-{rows}.zip"
    capture(workloads.ledger(rows), keep=path)
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "reduced.sqlite"
        command = [TOOL, "reduce", path, "--check", CHECK, "-o", file]

        def reduce():
            for old in (file, file.with_suffix(".sql")):
                old.unlink(missing_ok=True)
            return timed(command)

        found = bench.interleave(bench.pick(0, 5), ours=reduce)
        bench.absolute(f"reduce {rows} rows by a query", found["ours"], goal=5)
        file.unlink()
        file.with_suffix(".sql").unlink()
        bench.absolute(f"reduce {rows} rows by a query, memory", run(command).peak, goal=128 << 20, unit="bytes")
        script = f'test -z "$(sqlite3 "$FAILURE_ARTIFACTS_FIXTURE" {shlex.quote(CHECK)})"'
        result = subprocess.run(
            [TOOL, "reduce", path, "-o", pathlib.Path(directory) / "other.sqlite", "--json", "--", "sh", "-c", script],
            capture_output=True, check=True)
        found = json.loads(result.stdout)
        assert found["before"]["rows"] == rows and found["end"] == "complete", found
        bench.absolute(f"reduce {rows} rows by a command, runs", found["runs"], goal=60, unit="runs")
        bench.absolute(f"reduce {rows} rows by a command, rows that are left", found["after"]["rows"], goal=10, unit="rows")
