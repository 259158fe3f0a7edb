"""A store beyond the limits of ZIP without its 64-bit records, which takes no more memory than a small one."""

import contextlib
import json
import os
import pathlib
import sqlite3
import struct
import subprocess
import tempfile
import unittest
import zipfile

from harness import EXECUTABLE, clean_environment, measured

PAGE = 65536
SIZE = 4_402_380_800  # 4.1 GiB, in whole pages
LOCK_PAGE = (1 << 30) // PAGE + 1  # Never used: https://www.sqlite.org/fileformat2.html#the_lock_byte_page
MEBIBYTE = 1 << 20


def make_store(path):
    """Creates a valid database that has mostly free pages. The file has a hole in their place."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA page_size = {PAGE}; CREATE TABLE fruit(name); INSERT INTO fruit VALUES ('apple')")
    used = os.path.getsize(path) // PAGE
    free = [page for page in range(used + 1, SIZE // PAGE + 1) if page != LOCK_PAGE]
    per_trunk = PAGE // 4 - 8  # The last six slots stay empty, as SQLite itself leaves them.
    trunks = [free[start:start + 1 + per_trunk] for start in range(0, len(free), 1 + per_trunk)]
    with open(path, "r+b") as file:
        file.truncate(SIZE)
        for index, (trunk, *leaves) in enumerate(trunks):
            following = trunks[index + 1][0] if index + 1 < len(trunks) else 0
            file.seek((trunk - 1) * PAGE)
            file.write(struct.pack(f">{2 + len(leaves)}I", following, len(leaves), *leaves))
        file.seek(28)
        file.write(struct.pack(">III", SIZE // PAGE, trunks[0][0], len(free)))


class Large(unittest.TestCase):
    """Takes most of a minute and 4.1 GiB of the disk."""

    def test_store_over_four_gibibytes(self):
        with tempfile.TemporaryDirectory(prefix="integration ") as name:
            directory = pathlib.Path(name)
            store = directory / "large.sqlite"
            make_store(store)
            small = directory / "small.sqlite"
            with contextlib.closing(sqlite3.connect(small)) as db:
                db.executescript("CREATE TABLE fruit(name); INSERT INTO fruit VALUES ('apple')")
            (_, usual), (bundle, peak) = self.capture(small), self.capture(store)
            self.assertLess(peak - usual, 96 * MEBIBYTE)

            with zipfile.ZipFile(bundle) as archive:
                entry = archive.getinfo("stores/large.sqlite")
                metadata = json.loads(archive.read("metadata.json"))
            self.assertEqual((entry.file_size, entry.extract_version), (SIZE, 45))
            described = metadata["stores"][0]
            self.assertEqual(described["bytes"], {"original": SIZE, "copy": SIZE})
            listing = subprocess.run(
                ["bsdtar", "-tvf", str(bundle)], check=True, capture_output=True, text=True).stdout
            self.assertIn(f" {SIZE} ", listing)

            store.unlink()
            # This also checks the CRC-32.
            subprocess.run(["unzip", "-q", str(bundle), entry.filename, "-d", str(directory)], check=True)
            check = "PRAGMA integrity_check; SELECT name FROM fruit"
            output = subprocess.run(
                ["sqlite3", "-readonly", str(directory / entry.filename), check],
                check=True, capture_output=True, text=True).stdout
            self.assertEqual(output, "ok\napple\n")

    def capture(self, store):
        """The bundle of a test that fails with `store` open, and the maximum memory of its process, in bytes."""
        artifacts = store.parent / store.stem
        environment = clean_environment(
            store.parent, SUITE_STORE=str(store), FAILURE_ARTIFACTS_DIR=str(artifacts),
            FAILURE_ARTIFACTS_MAX_STORE_BYTES=str(8 << 30), FAILURE_ARTIFACTS_MAX_TOTAL_BYTES=str(8 << 30))
        status, peak = measured(
            [EXECUTABLE, "RawSuite.LargeTests/testGivenStore"], cwd=store.parent, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(status, 1)
        [bundle] = artifacts.glob("*.zip")
        return bundle, peak
