"""Merging shards, retries and several machines into one directory: no loss, bounded memory, one page."""

import collections
import hashlib
import os
import pathlib
import subprocess
import tempfile
import zipfile

from harness import BUNDLE_NAME, SuiteCase, launch
from test_fleet import TOOL, peak
from test_report import bundle, metadata

FAILURES = "RawSuite.CopyTests/testRowsInTheWAL,RawSuite.CopyTests/testInMemory"


def digests(directory):
    """The bundles of a directory, by their content."""
    return collections.Counter(
        hashlib.sha256(path.read_bytes()).hexdigest() for path in pathlib.Path(directory).rglob("*.zip"))


def merge(*paths, output, status=0):
    process = subprocess.run(
        [TOOL, "merge", *map(str, paths), "-o", str(output)], capture_output=True, text=True)
    assert process.returncode == status, process.stderr
    return process.stdout


class Merge(SuiteCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="merge ")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.output = self.directory / "merged"

    def test_shards_retries_and_machines(self):
        """Merges real bundles, in folders and in zips like those of CI services. Some are identical."""
        sources = []
        for name in ("linux-1", "linux-2"):
            place = self.directory / name
            place.mkdir()
            for attempt in ("1", "2"):
                launch(
                    FAILURES, place, {
                        "GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": attempt,
                        "FAILURE_ARTIFACTS_DIR": f"attempt-{attempt}"})
                sources.append(place / f"attempt-{attempt}")
        expected = sum((digests(source) for source in sources), collections.Counter())
        self.assertEqual(sum(expected.values()), 8)
        outer = self.directory / "download.zip"
        with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sources[3].glob("*.zip"):
                archive.write(path, path.name)
        text = merge(*sources[:3], outer, sources[0], output=self.output)
        self.assertIn("8 bundles, 8 added, 2 there already", text)
        self.assertEqual(digests(self.output), collections.Counter(set(expected)))
        for path in self.output.glob("*.zip"):
            self.assertRegex(path.name, BUNDLE_NAME)
        page = (self.output / "report.html").read_text()
        self.assertNotIn(str(self.output), page)

    def test_the_memory_does_not_grow_with_the_bundles(self):
        def make(name, count):
            for number in range(count):
                folder = self.directory / name / f"shard-{number % 8}"
                folder.mkdir(parents=True, exist_ok=True)
                bundle(
                    folder / f"T.t-{number:08x}.zip",
                    metadata(name=f"test{number % 50}", message=f"message {number}", fingerprint=f"f{number % 60}"),
                    **{"attachments/r.txt": os.urandom(20_000)})
            return peak(["merge", self.directory / name, "-o", self.directory / f"{name}-merged"])

        few, many = make("few", 100), make("many", 1000)
        self.assertEqual(len(list((self.directory / "many-merged").glob("*.zip"))), 1000)
        self.assertLess(many, 256 << 20)
        self.assertLess(many - few, 32 << 20)
