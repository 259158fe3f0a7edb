"""`report` and `merge` of many bundles."""

import json
import time
import zipfile

from bench import MEBIBYTE, run, scratch
from capture import bundle
from places import KEPT, TOOL


def measure(bench):
    count = bench.pick(5, 200)
    directory = make(count)
    times, peaks = [], []
    for _ in range(bench.pick(1, 3)):
        with scratch() as place:
            ended = timed_run([TOOL, "report", directory, "-o", place / "report.html"], times)
            peaks.append(ended.peak)
    bench.absolute(f"report of {count:,} bundles", min(times), goal=10)
    bench.absolute(f"report of {count:,} bundles, peak memory", max(peaks), goal=256 * MEBIBYTE, unit="bytes")

    for count in [bench.pick(10, 500), bench.pick(20, 2_000)]:
        directory = make(count)
        times = []
        with scratch() as place:
            ended = timed_run([TOOL, "merge", directory, "-o", place / "merged"], times)
        bench.absolute(f"merge of {count:,} bundles", min(times), goal=10 if count == 2_000 else None)
        bench.absolute(f"merge of {count:,} bundles, peak memory", ended.peak, goal=256 * MEBIBYTE, unit="bytes")


def timed_run(command, times):
    start = time.monotonic()
    ended = run(command)
    assert ended.status == 0, ended
    times.append(ended.at - start)
    return ended


def make(count):
    """A directory of `count` bundles of different tests, each with a complete store."""
    directory = KEPT / f"whole-bundles-{count}"
    if directory.exists():
        return directory
    with zipfile.ZipFile(bundle(100 << 10)) as archive:
        metadata = json.loads(archive.read("metadata.json"))
        others = {name: archive.read(name) for name in archive.namelist() if name != "metadata.json"}
    with scratch() as partial:
        (partial / "made").mkdir()
        for number in range(count):
            metadata["test"]["name"] = f"testNumber{number}"
            metadata["fingerprint"] = f"{number % 40:016x}"
            name = f"CaptureTests.testNumber{number}-{number:08x}.zip"
            with zipfile.ZipFile(partial / "made" / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr("metadata.json", json.dumps(metadata, indent=2, sort_keys=True))
                for entry, content in others.items():
                    archive.writestr(entry, content)
        (partial / "made").rename(directory)
    return directory
