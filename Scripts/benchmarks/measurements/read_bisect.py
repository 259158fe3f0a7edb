"""`explain` with a question, and `bisect` and `blame` over the history of a large store."""

import json
import subprocess

from bench import MEBIBYTE, run, timed
from capture import bundle
from places import TOOL

# The result is empty in all states, so that each one is searched to the end.
QUERIES = {"an index": "SELECT id FROM note WHERE changed < 0", "a small table": "SELECT id FROM tally WHERE n < 0"}


def measure(bench):
    explain(bench)
    size = bench.pick(MEBIBYTE, 65 * MEBIBYTE)
    count = bench.pick(30, 1000)
    path = bundle(size, transactions=count)
    history = json.loads(subprocess.run([TOOL, "bisect", path, "SELECT 1", "--json"], capture_output=True).stdout)
    assert history["transactionCount"] == count, history["transactionCount"]
    label = f"of {count} transactions, {size // MEBIBYTE} MiB"
    rounds = bench.pick(0, 3)
    for name, query in QUERIES.items():
        found = bench.interleave(rounds, ours=lambda: timed([TOOL, "bisect", path, query], status=1))
        bench.absolute(f"bisect {label}, {name}", found["ours"], goal=3)
    # A third of the transactions changes the table that this query scans.
    scan = "SELECT id FROM note WHERE uuid = ''"
    found = bench.interleave(rounds, ours=lambda: timed([TOOL, "bisect", path, scan], status=1))
    bench.absolute(f"bisect {label}, a scan of the large table", found["ours"], goal=3)
    first = [TOOL, "bisect", path, "SELECT id FROM tally WHERE n = 1"]
    found = bench.interleave(rounds, ours=lambda: timed(first))
    bench.absolute(f"bisect {label}, found at once", found["ours"], goal=3)
    found = bench.interleave(rounds, ours=lambda: timed([TOOL, "blame", path, "note", "30"]))
    bench.absolute(f"blame {label}", found["ours"], goal=3)
    # No index helps to find these rows.
    many = [TOOL, "blame", path, "note WHERE id % 60 = 7 AND length(uuid) > 0"]
    found = bench.interleave(rounds, ours=lambda: timed(many))
    bench.absolute(f"blame {label}, many rows", found["ours"], goal=3)
    bench.absolute(f"bisect {label}, memory", run(first).peak, goal=128 * MEBIBYTE, unit="bytes")


def explain(bench):
    small, large = (100, bench.pick(20, 50)), (bench.pick(1024, 65 * 1024), bench.pick(30, 200))
    for (kibibytes, count), query, seconds in [
        (small, "SELECT sum(score) FROM note", 0.1), (large, "SELECT sum(n) FROM tally", 2),
        (large, "SELECT sum(score) FROM note", 2),
    ]:
        path = bundle(kibibytes * 1024, transactions=count, query=query)
        command = [TOOL, "explain", path]
        document = json.loads(subprocess.run(command + ["--json"], capture_output=True).stdout)
        assert document["question"]["sql"] == query, document
        assert any(finding.get("undone") for finding in document["findings"]), document
        found = bench.interleave(bench.pick(0, 5), ours=lambda: timed(command))
        label = f"explain {count} transactions, {kibibytes} KiB, {query.split()[-1]}"
        bench.absolute(label, found["ours"], goal=seconds)
        bench.absolute(f"{label}, memory", run(command).peak, goal=128 * MEBIBYTE, unit="bytes")
