"""Merging shards, retries and several machines into one directory: no loss, bounded memory, one page."""

import collections
import hashlib
import json
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest
import zipfile

import browser
from harness import BUNDLE_NAME, SuiteCase, launch, needs
from test_fleet import TOOL, peak
from test_report import AXE, SCREENSHOTS, bundle, described, metadata, store

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
        log = [json.loads(line) for line in (self.output / "merged.jsonl").read_text().splitlines()]
        self.assertEqual(
            {line["bundle"] for line in log}, {path.name for path in self.output.glob("*.zip")})
        self.assertEqual(len(log), 8)  # Bundles that were merged twice are from the same place.
        page = (self.output / "report.html").read_text()
        self.assertEqual(page.count("2 attempts side by side"), 2)
        self.assertIn('<th scope="col">attempt 1</th><th scope="col">attempt 2</th>', page)
        self.assertIn("<td>download.zip", page)
        # Commands refer to the page's directory.
        self.assertIn("In the directory of this page", page)
        self.assertNotIn(str(self.output), page)

    def test_names_that_collide(self):
        """A thousand different bundles with the same name."""
        for number in range(1000):
            folder = self.directory / "source" / str(number)
            folder.mkdir(parents=True)
            bundle(folder / "T.t-00000000.zip", metadata(message=str(number)))
        before = digests(self.directory / "source")
        text = merge(self.directory / "source", output=self.output)
        self.assertIn("1000 bundles, 1000 added, 999 of them under another name", text)
        self.assertEqual(digests(self.output), before)

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

        few, many = make("few", 100), make("many", 2000)
        self.assertEqual(len(list((self.directory / "many-merged").glob("*.zip"))), 2000)
        self.assertLess(many, 256 << 20)
        self.assertLess(many - few, 48 << 20)

    def test_a_bar_on_a_terminal_only(self):
        for number in range(300):
            folder = self.directory / "source"
            folder.mkdir(exist_ok=True)
            bundle(folder / f"T.t-{number:08x}.zip", metadata(message=str(number)))
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [TOOL, "merge", str(self.directory / "source"), "-o", str(self.output)],
            stdout=subprocess.PIPE, stderr=terminal, text=True)
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:  # Linux reports no end of file here.
                break
            if not part:
                break
            shown += part
        os.close(controller)
        output, _ = process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertNotIn("\x1b", output)
        self.assertRegex(shown.decode(), r"\r\x1b\[KMerging \[#* *\] \d+ of 300")
        # The bar is removed at the end.
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        quiet = subprocess.run(
            [TOOL, "merge", self.directory / "source", "-o", self.output], capture_output=True, text=True)
        self.assertEqual(quiet.stderr, "")


@needs(browser.executable(), "Chromium")
class Page(unittest.TestCase):
    """The differences between attempts, shown in a browser."""

    def test_attempts_side_by_side(self):
        with tempfile.TemporaryDirectory(prefix="merge <&> ") as name:
            directory = pathlib.Path(name)
            for attempt, kilos in ((1, 3), (2, 4)):
                content = store(
                    directory / f"{attempt}.sqlite",
                    "CREATE TABLE fruit (id INTEGER PRIMARY KEY, name, kilos); CREATE TABLE draw (id INTEGER PRIMARY KEY, n)",
                    ("INSERT INTO fruit VALUES (?, ?, ?)", [(1, "<b>apple</b>", kilos), (2, "pear", 1)]),
                    ("INSERT INTO draw VALUES (?, ?)", [(i, i * kilos) for i in range(1, 30)]))
                description = metadata(
                    message=f"<i>{kilos}</i>", fingerprint=f"f{attempt}",
                    stores=[described("fruits", "stores/fruits.sqlite")])
                description["environment"]["ci"]["variables"]["GITHUB_RUN_ATTEMPT"] = str(attempt)
                (directory / f"try-{attempt}").mkdir()
                bundle(
                    directory / f"try-{attempt}" / "T.t-00000001.zip", description,
                    **{"stores/fruits.sqlite": content})
            merge(directory / "try-1", directory / "try-2", output=directory / "merged")
            with browser.page() as page:
                page.show(1200, 1400, "light")
                page.open((directory / "merged" / "report.html").as_uri())
                rows = page.run(
                    "[...document.querySelectorAll('table.attempts tr')]"
                    ".map(row => [...row.cells].map(cell => cell.textContent))")
                self.assertEqual(rows[0], ["What differs", "attempt 1", "attempt 2"])
                self.assertIn(["Message", "<i>3</i>", "<i>4</i>"], rows)
                self.assertIn(["From", "try-1", "try-2"], rows)
                changed = page.run(
                    "[...document.querySelectorAll('[aria-label^=\"Changes of fruit\"] td')].map(c => c.textContent)")
                self.assertEqual(changed, ["kilos 3 → 4"])
                # Values that differ everywhere, such as random ones, don't precede the one cell that matters.
                captions = page.run("[...document.querySelectorAll('#f1 .attempts-part caption')].map(c => c.textContent)")
                self.assertEqual(captions, ["fruit 1 updated", "draw 29 updated"])
                # A link in the other cause's section leads there.
                page.run("document.querySelectorAll('#list a')[1].click()")
                page.run("document.querySelector('#f2 a[href=\"#f1\"]').click()")
                page.wait("!document.querySelector('#f1').hidden && location.hash.startsWith('#f1')")
                page.screenshot(SCREENSHOTS / "attempts.png")
                page.run(AXE.read_text() + "; 0")
                found = page.run("axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html))")
                self.assertEqual(found, [])
                self.assertEqual(page.complaints, [])
