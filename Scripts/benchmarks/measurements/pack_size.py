"""The size of a bundle."""

from bench import GIBIBYTE, MEBIBYTE, scratch, timed
from capture import capture
import workloads


def measure(bench):
    sizes = [bench.pick(MEBIBYTE, 65 * MEBIBYTE)] + ([GIBIBYTE] if bench.mode == "full" else [])
    for size in sizes:
        for free, goal in [(False, 1.02), (True, 0.75)]:
            store = workloads.store(size, free=free)
            with scratch() as directory:
                timed(["sqlite3", store, f".backup '{directory / 'copy'}'"],
                      ["zip", "-q", "-j", "-1", directory / "copy.zip", directory / "copy"])
                other = (directory / "copy.zip").stat().st_size
            what = f"bundle of {size // MEBIBYTE} MiB" + (", a third of the pages free" if free else "")
            bench.compare(what, capture(store).bundle_bytes, "zip -1", other, goal=goal, unit="bytes")
