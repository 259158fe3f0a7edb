"""Runs the measurements; see `Scripts/benchmark`.

A measurement is a file in `measurements` with a function `measure(bench)`. All files there are found automatically. They
run in the order of their names.
"""

import argparse
import importlib
import os
import pathlib
import platform
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "measurements"), str(HERE.parent / "lib")]

from bench import Bench  # noqa: E402
import growth  # noqa: E402

# These run only if they are named, because building them takes minutes.
LONG = ("grdb_suite",)


def main():
    names = sorted(path.stem for path in (HERE / "measurements").glob("*.py"))
    parser = argparse.ArgumentParser(prog="Scripts/benchmark", description=__doc__)
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--quick", dest="mode", action="store_const", const="quick", help="nothing large")
    modes.add_argument("--growth", action="store_true", help="the cost by size and count, drawn for the documentation")
    modes.add_argument("--smoke", dest="mode", action="store_const", const="smoke",
                       help="tiny stores, only to check that the measurements work")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in names:
            parser.error(f"there is no measurement '{name}'")
    bench = Bench(arguments.mode or "full")
    if arguments.growth:
        growth.measure_and_draw(bench)
        return 0
    start = time.monotonic()
    for name in arguments.names or [name for name in names if name not in LONG]:
        print(f"{name} (after {time.monotonic() - start:.0f} s)", file=sys.stderr, flush=True)
        importlib.import_module(name).measure(bench)
    print(f"\n{bench.mode}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
          f"{time.monotonic() - start:.0f} s; medians\n\n{bench.table()}")
    return 1 if any(row.met is False for row in bench.rows) else 0


sys.exit(main())
