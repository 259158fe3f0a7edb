"""Stores that can't be opened, and those that are locked: the bundle has or describes them, and names the lock's holder."""

import os
import sqlite3
import sys
import unittest

import harness
from harness import SuiteCase
from test_surroundings import run

TESTS = "ExplicitSuite.UnusableStoreTests"
LINUX = sys.platform.startswith("linux")


class UnusableStores(SuiteCase):
    def setUp(self):
        self.directory = harness.fresh_directory(self)

    def store(self, selection, is_database=True, **variables):
        """The description of the only store in the only bundle, and the bundle."""
        found = run(selection, self.directory, **variables)
        (bundle,) = found.bundles
        if is_database:
            self.check(bundle)
        (store,) = bundle.metadata["stores"]
        return store, bundle

    def assertDescribed(self, store, *texts):
        self.assertEqual(store["capture"]["method"], "described")
        for text in texts:
            self.assertIn(text, store["capture"]["reason"])

    @unittest.skipUnless(LINUX, "Only Linux tells the holder of a lock.")
    def test_another_process_has_the_lock(self):
        path = self.directory / "locked.sqlite"
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("CREATE TABLE fruit (name TEXT)")
            other.execute("INSERT INTO fruit VALUES ('apple')")
            other.execute("BEGIN EXCLUSIVE")
            store, bundle = self.store(f"{TESTS}/testAnotherProcessHasTheLock", SUITE_LOCKED=str(path))
            other.execute("ROLLBACK")
        self.assertEqual(store["originalPath"], str(path))
        self.assertEqual(store["lockedBy"]["process"], os.getpid())
        with open("/proc/self/comm") as file:
            self.assertEqual(store["lockedBy"]["command"], file.read().strip())
        self.assertEqual(bundle.store("locked").query("SELECT name FROM fruit"), [("apple",)])
        self.assertIn(f"At the failure, process {os.getpid()} ", bundle.said("explain"))

    @unittest.skipUnless(LINUX, "Only Linux tells the holder of a lock.")
    def test_another_connection_has_the_lock(self):
        store, _ = self.store(f"{TESTS}/testAnotherConnectionHasTheLock")
        self.assertEqual(store["lockedBy"]["connection"], 1)
        self.assertNotIn("test", store["lockedBy"])

    def test_another_test_has_left_the_lock(self):
        # The tests of a class run in the order of their names.
        found = run(TESTS, self.directory, SUITE_LOCKED=str(self.directory / "unused"))
        (bundle,) = [bundle for bundle in found.bundles if bundle.metadata["test"]["name"] == "testLeft2Fails"]
        (store,) = bundle.metadata["stores"]
        self.assertTrue(store["originalPath"].endswith("left.sqlite"))
        self.assertEqual(store["lockedBy"]["test"]["name"], "testLeft1Passes")

    def test_a_directory(self):
        for selection in (f"{TESTS}/testDirectory", "GRDBSuite.UnusableQueueTests/testDirectory"):
            with self.subTest(selection):
                store, bundle = self.store(selection)
                self.assertDescribed(store, f"SQLite could not open '{store['originalPath']}'", "directory")
                bundle.path.unlink(missing_ok=True)

    def test_a_missing_file(self):
        store, _ = self.store(f"{TESTS}/testMissing")
        self.assertTrue(store["originalPath"].endswith("missing.sqlite"))
        self.assertDescribed(store, "There is no such file.")

    def test_a_file_that_is_no_database(self):
        store, bundle = self.store(f"{TESTS}/testNoDatabase", is_database=False)
        self.assertTrue(store["originalPath"].endswith("text.sqlite"))
        self.assertIn(b"This is no database", bundle.contents[store["entry"]])
