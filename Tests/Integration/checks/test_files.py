"""The changes of watched files: in the bundle, in `show` and `explain`, and on the page."""

import json
import pathlib
import plistlib
import subprocess
import tempfile
import unittest

import browser
from harness import SuiteCase, needs, needs_program
from test_report import report
from test_source_lines import TOOL, kept

SUITE = "ExplicitSuite.FileTests"
CHANGED = {
    "cache/app.log": "modified", "cache/images/a b.png": "added", "old.txt": "deleted", "own.sqlite-journal": "added",
    "settings.json": "modified"}


class Files(SuiteCase):
    @needs_program("sqlite3")
    def changed(self):
        # Reading the files must not change the test's own result, which includes the lock of its store.
        return self.leaves(f"{SUITE}/testChangesFiles")

    def test_changes_of_a_directory(self):
        bundle = self.changed()
        self.assertTest(bundle, "FileTests", "testChangesFiles", "the retries", "again")
        watched, = bundle.metadata["files"]
        self.assertEqual((watched["name"], watched["count"]), ("app_data", 7))
        changes = {change["path"]: change for change in watched["changes"]}
        self.assertEqual({path: change["change"] for path, change in changes.items()}, CHANGED)
        content = bundle.contents
        settings = changes["settings.json"]
        self.assertEqual(settings["earlierEntry"], "files/app_data/start/settings.json")
        self.assertEqual(settings["entry"], "files/app_data/failure/settings.json")
        self.assertEqual(json.loads(content[settings["earlierEntry"]])["retries"], 3)
        self.assertEqual(json.loads(content[settings["entry"]])["retries"], 4)
        self.assertEqual(content["files/app_data/failure/cache/app.log"], b"first\nsecond\nthird\n")
        self.assertEqual(content["files/app_data/start/cache/app.log"], b"first\nsecond\n")
        self.assertEqual(content["files/app_data/failure/cache/images/a_b.png"], bytes([0x89, 0, 1, 2]))
        self.assertEqual(content["files/app_data/start/old.txt"], b"old\n")
        self.assertNotIn("entry", changes["old.txt"])
        self.assertEqual(changes["old.txt"]["earlierBytes"], 4)
        journal = changes["own.sqlite-journal"]
        self.assertNotIn("entry", journal)
        self.assertEqual(journal["reason"], "It belongs to an SQLite database. Stores are captured apart.")

    def test_show_and_explain(self):
        bundle = self.changed()
        show = bundle.tool("show").stdout
        tree = show[show.index("Files in app_data"):].split("\n\n")[0].splitlines()
        self.assertEqual(tree[0], "Files in app_data, 5 changes")
        text = [" ".join(line.split()) for line in tree[1:]]
        self.assertEqual(text[:5], [
            "cache/", "modified app.log 13 B → 19 B", "second", "+ third", "cache/images/"])
        self.assertIn("deleted old.txt 4 B", text)
        at = text.index('- "retries":3,')
        self.assertEqual(text[at - 2:at + 2], [
            "modified settings.json 112 B", '"theme":"dark",', '- "retries":3,', '+ "retries":4,'])
        explain = json.loads(bundle.tool("explain", "--json").stdout)
        self.assertEqual({file["path"]: file["change"] for file in explain["files"][0]["changes"]}, CHANGED)
        self.assertIn("Files in app_data, 5 changes", bundle.tool("explain").stdout)

    def test_no_change(self):
        bundle = self.leaves(f"{SUITE}/testChangesNothing")
        self.assertEqual(
            [(item["name"], item["count"], item["changes"]) for item in bundle.metadata["files"]],
            [("nothing", 1, []), ("none", 0, [])])
        self.assertIn("Files in nothing, none of 1 file changed", bundle.tool("show").stdout)

    def test_property_lists(self):
        bundle = self.leaves(f"{SUITE}/testChangesDefaults")
        suite, state = bundle.metadata["files"]
        change, = suite["changes"]
        self.assertNotIn("originalPath", suite)
        start, failure = (plistlib.loads(bundle.contents[change[key]]) for key in ("earlierEntry", "entry"))
        self.assertEqual(start, {"sound": True, "window": {"width": 300, "tabs": ["a", "b"]}})
        self.assertEqual(failure, {"sound": True, "window": {"width": 640, "tabs": ["a"]}})
        change, = state["changes"]
        self.assertEqual((change["path"], change["change"]), ("state.plist", "added"))
        self.assertEqual(plistlib.loads(bundle.contents[change["entry"]]), {"level": 12})
        show = [" ".join(line.split()) for line in bundle.tool("show").stdout.splitlines()]
        # The suite of preferences is in XML, the file in the binary format.
        for line in ("- <integer>300</integer>", "+ <integer>640</integer>"):
            self.assertIn(line, show)
        added, = (line for line in show if line.endswith(" B") and "state.plist" in line)
        self.assertRegex(added, r"added state\.plist \d+ B")

    def test_a_passing_test(self):
        self.assertEqual(self.leaves(f"{SUITE}/testChangesFilesAndPasses", count=0), [])

    def test_redactions(self):
        rules = json.dumps({"attachments": ["*.log", "settings*"]})
        with tempfile.TemporaryDirectory(prefix="files ") as directory:
            path = pathlib.Path(directory, "rules.json")
            path.write_text(rules)
            bundle = self.leaves(f"{SUITE}/testChangesFiles", variables={"FAILURE_ARTIFACTS_REDACTIONS": str(path)})
            self.check_redacted(bundle.metadata, bundle.contents)
            plain = self.changed()
            out = pathlib.Path(directory, "out")
            with kept(plain) as file:
                subprocess.run(
                    [TOOL, "extract", file, "-o", out, "--redactions", path], check=True, stdout=subprocess.DEVNULL)
            metadata = json.loads((out / "metadata.json").read_text())
            contents = {
                str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}
            self.check_redacted(metadata, contents)

    def check_redacted(self, metadata, contents):
        changes = {change["path"]: change for change in metadata["files"][0]["changes"]}
        self.assertEqual(set(changes), set(CHANGED))
        for path in ("cache/app.log", "settings.json"):
            self.assertEqual(changes[path]["reason"], "A redaction leaves it out.")
            self.assertFalse({"entry", "earlierEntry"} & set(changes[path]))
        self.assertIn("files/app_data/start/old.txt", contents)
        self.assertFalse([name for name in contents if name.endswith(("app.log", "settings.json"))])

    @needs(browser.executable(), "Chromium")
    def test_page(self):
        bundle = self.changed()
        with tempfile.TemporaryDirectory(prefix="files ") as directory, browser.page() as page:
            with kept(bundle) as path:
                file = report(pathlib.Path(directory), path)
            page.show(1280, 900, "light")
            page.open(file.as_uri())
            page.wait("!!document.querySelector('.files')")
            self.assertEqual(
                page.run("[...document.querySelectorAll('.files .change')].map(e => e.textContent + ' ' "
                         "+ e.nextElementSibling.textContent)"),
                ["modified app.log", "added a b.png", "deleted old.txt", "added own.sqlite-journal",
                 "modified settings.json"])
            self.assertEqual(
                page.run("[...document.querySelectorAll('.files details[open] del, .files[open] del')]"
                         ".map(e => e.textContent)"), ["- old", '- "retries":3,'])
            self.assertEqual(
                page.run("[...document.querySelectorAll('.files ins')].map(e => e.textContent)"),
                ["+ third", '+ "retries":4,'])
            self.assertEqual(page.complaints, [])


if __name__ == "__main__":
    unittest.main()
