"""`show`, `verify` and `query` of a bundle with a large store."""

from bench import GIBIBYTE, MEBIBYTE, run, scratch, timed
from capture import bundle
from places import TOOL

ENTRY_QUERY = "SELECT id FROM note LIMIT 1"


def measure(bench):
    size = bench.pick(MEBIBYTE, 65 * MEBIBYTE, GIBIBYTE)
    path = bundle(size)
    label = f"{size // MEBIBYTE} MiB"
    rounds = bench.pick(0, 3)

    peak = run([TOOL, "show", path]).peak
    found = bench.interleave(bench.pick(0, 5), show=lambda: timed([TOOL, "show", path]))
    bench.absolute(f"show {label}", found["show"], goal=0.05)
    bench.absolute(f"show {label}, memory", peak, goal=64 * MEBIBYTE, unit="bytes")

    with scratch() as directory:
        unzip = ["unzip", "-q", "-o", path, "-d", directory / "files"]
        timed(unzip)
        [store] = (directory / "files" / "stores").glob("*.sqlite")
        found = bench.interleave(
            rounds, ours=lambda: timed([TOOL, "verify", path]),
            other=lambda: timed(["unzip", "-tqq", path], ["sqlite3", "-readonly", store, "PRAGMA integrity_check"]))
        bench.compare(f"verify {label}", found["ours"], "unzip -t + integrity_check", found["other"], goal=1.2)

        def fresh():
            timed(["rm", "-rf", directory / "files"])

        def theirs():
            fresh()
            return timed(unzip, ["sqlite3", "-readonly", store, ENTRY_QUERY])

        def query():
            return timed([TOOL, "query", path, ENTRY_QUERY])

        def open_store():
            return timed([TOOL, "open", path, "--", ENTRY_QUERY])

        def first(way):
            def measured():
                fresh()
                return way()
            return measured

        found = bench.interleave(rounds, theirs=theirs, open=first(open_store), query=first(query))
        bench.compare(f"query {label}, first row", found["query"], "unzip + sqlite3", found["theirs"], goal=1.1)
        bench.compare(f"open {label}, first row", found["open"], "unzip + sqlite3", found["theirs"], goal=1.1)
