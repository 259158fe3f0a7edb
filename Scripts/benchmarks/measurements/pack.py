"""The time from a store to a finished zip, including the copy."""

from bench import GIBIBYTE, MEBIBYTE, scratch, timed
from capture import capture
import workloads


def measure(bench):
    pack(bench, bench.pick(MEBIBYTE, 65 * MEBIBYTE), rounds=bench.pick(1, 3, 5))
    if bench.mode == "full":
        pack(bench, GIBIBYTE, rounds=3)


def pack(bench, size, rounds):
    store = workloads.store(size)
    label = f"pack {size // MEBIBYTE} MiB"
    with scratch() as directory:
        copy, zipped = directory / "copy.sqlite", directory / "copy.zip"
        backup = ["sqlite3", store, f".backup '{copy}'"]

        def peer(*command):
            def way():
                zipped.unlink(missing_ok=True)
                return timed(backup, command)
            return way

        zip_6 = peer("zip", "-q", "-j", "-6", zipped, copy)
        found = bench.interleave(
            rounds, ours=lambda: capture(store).total,
            # This leaves copy.sqlite unchanged.
            pigz=peer("pigz", "-1", "--keep", "--force", copy))
        # This takes several times as long, so one or two rounds are enough.
        slow = bench.interleave(bench.pick(0, 1) if size < GIBIBYTE else 0, zip_6=zip_6)
    bench.compare(label, found["ours"], ".backup + zip -6", slow["zip_6"], goal=0.25)
    bench.compare(label, found["ours"], ".backup + pigz -1", found["pigz"], goal=0.9)
