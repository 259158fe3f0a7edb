"""A failing test with an open store, as in a user's package, and its bundle."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import sqlite3
import sys
import zipfile

from bench import Ended, run, scratch
from places import KEPT, SUITE
import workloads


@dataclasses.dataclass
class Capture:
    bundle_bytes: int
    metadata: dict
    held: float  # The duration of the assertion, in seconds.
    total: float  # The time from the assertion until the process has ended and the bundle is complete, in seconds.
    ended: Ended


def capture(store, keep=None, wal=False, lines=True, transactions=0, query=None):
    """Runs the test, and moves its bundle to `keep`.

    With `wal`, the store is in WAL mode and the test writes to it first; with `transactions`, so many small
    transactions. With `lines`, statements get source lines. The assertion compares the result of `query`.
    """
    with scratch() as directory:
        if wal:
            store = shutil.copy(store, directory / "wal.sqlite")
            with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as database:
                database.execute("PRAGMA journal_mode = wal")
            os.sync()
        artifacts, report = directory / "artifacts", directory / "report.json"
        ended = run(
            [SUITE, "BenchmarkSuite.CaptureTests/testFailWithStore"], directory=directory, environment={
                "BENCHMARK_STORE": store, "BENCHMARK_WRITES": int(wal and not transactions),
                "BENCHMARK_TRANSACTIONS": transactions, "BENCHMARK_REPORT": report, "FAILURE_ARTIFACTS_DIR": artifacts,
                **({"BENCHMARK_QUERY": query} if query else {}),
                "FAILURE_ARTIFACTS_SOURCE_LINES": "on" if lines else "off",
                "FAILURE_ARTIFACTS_MAX_STORE_BYTES": 1 << 40, "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES": 1 << 40})
        bundles = list(artifacts.glob("*.zip"))
        if ended.status != 1 or len(bundles) != 1:
            sys.exit(f"The test ended with status {ended.status}, and left {len(bundles)} bundles.")
        times = json.loads(report.read_text())
        with zipfile.ZipFile(bundles[0]) as archive:
            metadata = json.loads(archive.read("metadata.json"))
        if not metadata["stores"][0].get("entry"):
            sys.exit(f"The store was not captured: {metadata['stores'][0]}")
        size = bundles[0].stat().st_size
        if keep:
            os.replace(bundles[0], keep)
        return Capture(
            size, metadata, (times["left"] - times["reached"]) / 1e9, ended.at - times["reached"] / 1e9, ended)


def bundle(size, transactions=0, query=None):
    """The path of a bundle with a store of about `size` bytes. Each run that needs it creates it anew.

    With `transactions`, the store has a history of so many transactions. The assertion compares the result of `query`.
    """
    name = "".join(filter(str.isalnum, query or ""))
    path = KEPT / f"bundle-{size}-{transactions}-{name}.zip"
    if path not in made:
        capture(
            workloads.store(size), keep=path, wal=transactions > 0, transactions=transactions, query=query)
        made.add(path)
    return path


made: set[pathlib.Path] = set()
