"""`list` of many bundles."""

import json
import zipfile

from bench import scratch, timed
from capture import bundle
from places import KEPT, TOOL


def measure(bench):
    count = bench.pick(20, 10_000)
    directory = make(count)
    found = bench.interleave(bench.pick(0, 3), ours=lambda: timed([TOOL, "list", directory]))
    bench.absolute(f"list {count:,} bundles", found["ours"], goal=2)


def make(count):
    """A directory of copies of one bundle under different names, each with its own metadata."""
    directory = KEPT / f"bundles-{count}"
    if directory.exists():
        return directory
    with zipfile.ZipFile(bundle(100 << 10)) as archive:
        metadata = json.loads(archive.read("metadata.json"))
        store = archive.read(metadata["stores"][0]["entry"])[:8192]
    with scratch() as partial:
        (partial / "made").mkdir()
        for number in range(count):
            metadata["test"]["name"] = f"testNumber{number}"
            name = f"CaptureTests.testNumber{number}-{number:08x}.zip"
            with zipfile.ZipFile(partial / "made" / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr("metadata.json", json.dumps(metadata, indent=2, sort_keys=True))
                archive.writestr(metadata["stores"][0]["entry"], store)
        (partial / "made").rename(directory)
    return directory
