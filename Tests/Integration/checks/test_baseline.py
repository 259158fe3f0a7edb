"""Baselines: the content of a store when the test began to use it."""

import pathlib
import subprocess
import tempfile
import zipfile

from harness import TOOL, Store, SuiteCase



class Baseline(SuiteCase):
    def starts(self, name, before, after, store="template"):
        bundle = self.leaves(f"RawSuite.BaselineTests/{name}")
        self.check_start(bundle, before, after, store)
        return bundle

    def check_start(self, bundle, before, after, name):
        # The other stores are the shared one and the one that created the template.
        (store,) = [store for store in bundle.metadata["stores"] if store["name"] == name]
        self.assertEqual(Store(bundle.contents[store["entry"]]).rows(), after)
        (snapshot,) = bundle.metadata["snapshots"]
        self.assertEqual(snapshot["label"], "start")
        (start,) = [start for start in snapshot["stores"] if start["name"] == name]
        self.assertEqual(start["capture"]["method"], "atStart")
        self.assertEqual(start["entry"], f"snapshots/start/{name}.sqlite")
        content = Store(bundle.contents[start["entry"]])
        if before is None:
            self.assertEqual(content.query("SELECT * FROM sqlite_master"), [])
        else:
            self.assertEqual(content.rows(), before)
        self.assertLessEqual(snapshot["at"], bundle.metadata["failures"][0]["at"])

    def diff(self, bundle, *options):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "again.zip"
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in bundle.contents.items():
                    archive.writestr(name, content)
            return subprocess.run([TOOL, "diff", *options, path], capture_output=True, text=True, check=False)

    def test_template_in_wal_mode(self):
        bundle = self.starts("testTemplateInWALMode", ["apple", "pear"], ["kiwi"])
        # One command shows the test's changes.
        changes = self.diff(bundle, "--json", "--store", "template")
        self.assertEqual((changes.returncode, changes.stderr), (1, ""))
        self.assertIn("kiwi", changes.stdout)
        self.assertIn("pear", changes.stdout)

    def test_template_with_a_rollback_journal(self):
        self.starts("testTemplateWithARollbackJournal", ["apple", "pear"], ["kiwi"])

    def test_store_that_was_closed_meanwhile(self):
        self.starts("testStoreThatWasClosedMeanwhile", ["apple", "pear"], ["pear", "kiwi"])

    def test_store_that_is_closed(self):
        self.starts("testStoreThatIsClosed", ["apple", "pear"], ["pear"])

    def test_new_store_in_memory(self):
        bundle = self.starts("testNewStoreInMemory", None, ["apple"], "memory")
        # Everything in it is new, so the last transaction is shown.
        changes = self.diff(bundle, "--store", "memory")
        self.assertEqual(changes.returncode, 1, changes.stderr)
        self.assertIn("after transaction 1 of 2", changes.stdout)
        self.assertIn("apple", changes.stdout)

    def test_shared_store(self):
        self.starts("testWithTheSharedStore", ["apple"], ["apple", "kiwi"], "shared")

    def test_store_beyond_the_limit(self):
        bundle = self.leaves("RawSuite.BaselineTests/testStoreBeyondTheLimit", warnings=1)
        (snapshot,) = bundle.metadata["snapshots"]
        (start,) = [start for start in snapshot["stores"] if start["name"] == "template"]
        self.assertNotIn("entry", start)
        self.assertEqual(start["capture"]["method"], "described")
        self.assertRegex(
            start["capture"]["reason"], r"^The store had \d{8} bytes when the test began .* were not kept")
        (store,) = [store for store in bundle.metadata["stores"] if store["name"] == "template"]
        self.assertEqual(Store(bundle.contents[store["entry"]]).rows(), ["apple", "pear", "kiwi"])

    def test_store_that_threads_begin_to_use_at_once(self):
        self.starts("testStoreThatThreadsBeginToUseAtOnce", ["apple", "pear"], ["apple", "pear"] + 8 * ["kiwi"])

    def test_shared_store_that_an_earlier_test_has_changed(self):
        bundles = self.leaves("RawSuite.BaselineTests", count=8, warnings=1)
        (bundle,) = [
            bundle for bundle in bundles if bundle.metadata["test"]["name"] == "testWithTheSharedStore"]
        self.check_start(bundle, ["apple", "pear", "plum"], ["apple", "pear", "plum", "kiwi"], "shared")
