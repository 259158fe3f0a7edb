"""The copy is one stand-alone file with the rows that the test's connection saw, whatever happens later and wherever the
test failed."""

import pathlib

from harness import Store, SuiteCase, run

THROWN = "no such table: vegetables"

# The message of each test, and the rows of its stores. If a third value is there, it has the store with an open
# transaction, and that store's committed rows.
TESTS = {
    "RawSuite.CopyTests/testInMemory": ("two rows in memory", {"memory": ["apple", "kiwi"]}),
    "RawSuite.CopyTests/testSeveralStores": ("three stores", {"orders": ["apple"], "stock": ["pear"], "memory": ["kiwi"]}),
    "RawSuite.AfterwardsTests/testRowsDeletedAfterwards": ("deleted afterwards", {"fruit": ["apple", "pear"]}),
    "RawSuite.AfterwardsTests/testRowsWrittenInATeardownBlock": ("written in a teardown block", {"fruit": ["apple"]}),
    "RawSuite.DeletingTearDownTests/testFileDeletedInTearDown": ("deleted in tearDown", {"deleted": ["apple"]}),
    "RawSuite.ErrorTests/testThrownWithTheStoreOpen": (THROWN, {"thrown": ["apple"]}),
    "RawSuite.ErrorTests/testThrownWithTheStoreClosed": (THROWN, {"thrown": ["apple"]}),
    "RawSuite.TeardownBlockTests/testFailureInATeardownBlock": ("in a teardown block", {"block": ["apple", "pear"]}),
    "RawSuite.ThreadTests/testFailureAfterAnAwait": ("after an await", {"async": ["apple", "pear"]}),
    "RawSuite.ThreadTests/testErrorAfterAnAwait": (THROWN, {"async": ["apple"]}),
    "RawSuite.ThreadTests/testFailureOnAnotherThread": ("on another thread", {"thread": ["apple"]}),
    "RawSuite.QuietTests/testFailsWithoutAStore": ("no store at all", {}),
    "GRDBSuite.QueueTests/testFile": ("a queue on a file", {"queue": ["apple", "pear"]}),
    "GRDBSuite.QueueTests/testInMemory": ("a queue in memory", {"memory": ["apple"]}),
    "GRDBSuite.QueueTests/testAssertionInsideWrite": (
        "inside a transaction", {"inside": ["apple", "pear"]}, ("inside", ["apple"])),
    "GRDBSuite.QueueTests/testAssertionInsideWriteInMemory": (
        "inside a transaction in memory", {"memory": ["apple", "pear"]}, ("memory", ["apple"])),
    "GRDBSuite.QueueTests/testAsyncWriteThenAssertion": ("after an asynchronous write", {"async": ["apple", "pear"]}),
    "GRDBSuite.QueueTests/testAsyncAccessInMemory": (
        "in memory, after an asynchronous write", {"memory": ["apple", "pear"]}),
    "GRDBSuite.QueueTests/testAssertionAfterARollback": ("after a rollback", {"after": ["apple"]}),
    "GRDBSuite.PoolTests/testFile": ("a pool", {"pool": ["apple", "pear"]}),
    "GRDBSuite.PoolTests/testConcurrentReaders": ("while two readers read", {"pool": ["apple", "pear"]}),
    "GRDBSuite.PoolTests/testAssertionInsideWrite": (
        "inside a pool's transaction", {"pool": ["apple", "pear"]}, ("pool", ["apple"])),
} | {
    f"GRDBSuite.ThrownErrorTests/{name}": (THROWN, {store: ["apple", "pear"]}, (store, ["apple"]))
    for name, store in (
        ("testQueue", "thrown"), ("testClosedQueue", "closed"), ("testQueueInMemory", "memory"),
        ("testClosedQueueInMemory", "memory"), ("testPool", "pool"), ("testClosedPool", "pool"))
}


class Copies(SuiteCase):
    def test_rows(self):
        for selection, (message, stores, *transaction) in TESTS.items():
            with self.subTest(selection):
                suite, name = selection.split(".")[1].split("/")
                bundle = self.left_by(selection)
                self.assertTest(bundle, suite, name, message, kind="error" if message == THROWN else "assertion")
                self.assertStores(bundle, **stores)
                if message == THROWN:
                    self.assertNotIn("file", bundle.metadata["failures"][0])
                for store, rows in transaction:
                    self.assertEqual(bundle.store(store, "committedEntry").rows(), rows)
                for store in bundle.metadata["stores"]:
                    self.assertIs(store.get("transactionOpen", False), bool(transaction))
                    self.assertIs(store["capture"]["consistent"], True)
                    if suite == "ThrownErrorTests":
                        self.assertEqual(store["capture"]["method"], "beforeRollback")

    def test_rows_in_the_wal(self):
        bundle = self.left_by("RawSuite.CopyTests/testRowsInTheWAL")
        self.assertTest(bundle, "CopyTests", "testRowsInTheWAL", "two rows in the WAL")
        self.assertStores(bundle, wal=["apple", "pear"])
        described = bundle.described("wal")
        self.assertEqual((described["journalMode"], described["storage"]), ("wal", "file"))
        self.assertIs(described["transactionOpen"], False)
        self.assertGreater(described["bytes"]["wal"], 0)

    def test_journal_modes(self):
        bundle = self.left_by("RawSuite.CopyTests/testSeveralStores")
        modes = {name: bundle.described(name).get("journalMode") for name in ("orders", "stock")}
        self.assertEqual(modes, {"orders": "wal", "stock": "delete"})
        self.assertNotIn("originalPath", bundle.described("memory"))

    def test_two_stores_of_one_name(self):
        bundle = self.left_by("RawSuite.CopyTests/testTwoStoresOfOneName")
        self.assertEqual(len({store["name"] for store in bundle.metadata["stores"]}), 2)
        self.assertEqual(len([name for name in bundle.names if name.startswith("stores/")]), 2)

    def test_names_of_entries_that_collide(self):
        bundle = self.left_by("RawSuite.CopyTests/testNamesOfEntriesThatCollide")
        stores = {pathlib.PurePath(store["originalPath"]).name: store for store in bundle.metadata["stores"]}
        self.assertEqual(len(stores), 9)
        for name, store in stores.items():
            with self.subTest(store=name):
                is_open = name in ("x.db", "y.db")
                self.assertEqual(
                    Store(bundle.contents[store["entry"]]).rows(), [name] + ["not committed"] * is_open)
                self.assertEqual("committedEntry" in store, is_open)
                if is_open:
                    self.assertEqual(Store(bundle.contents[store["committedEntry"]]).rows(), [name])

    def test_file_name_in_japanese(self):
        bundle = self.left_by("RawSuite.CopyTests/testFileNameInJapanese")
        self.assertStores(bundle, **{"りんごの 在庫": ["apple"]})
        self.assertIn("りんごの", bundle.described("りんごの 在庫")["entry"])

    def test_empty_store(self):
        bundle = self.left_by("RawSuite.CopyTests/testEmptyStore")
        self.assertEqual(bundle.store("empty").query("SELECT * FROM sqlite_master"), [])


class Failures(SuiteCase):
    SEVERAL = "RawSuite.AfterwardsTests/testSeveralFailures"

    def test_several(self):
        bundle = self.left_by(self.SEVERAL)
        self.assertTest(bundle, "AfterwardsTests", "testSeveralFailures", "first", "second", "third")
        self.assertStores(bundle, fruit=["apple"])
        self.assertNotIn("snapshots", bundle.metadata)
        lines = [failure["line"] for failure in bundle.metadata["failures"]]
        self.assertEqual(lines, sorted(set(lines)))

    def test_each_of_several(self):
        bundle = self.leaves(self.SEVERAL, variables={"FAILURE_ARTIFACTS": "every-failure"})
        self.assertStores(bundle, fruit=["apple"])
        snapshots = [name for name in bundle.names if name.startswith("snapshots/")]
        self.assertEqual(len(snapshots), 2, bundle.names)
        for name in snapshots:
            self.check_store(bundle.contents[name])

    def test_none(self):
        for name in ("testPasses", "testSkips"):
            self.assertEqual(self.leaves(f"RawSuite.QuietTests/{name}", count=0), [])

    def test_one_failure_has_one_fingerprint(self):
        def fingerprint(selection):
            (bundle,) = run(selection).bundles
            return bundle.metadata["fingerprint"]

        self.assertEqual(fingerprint(self.SEVERAL), fingerprint(self.SEVERAL))
        self.assertNotEqual(fingerprint(self.SEVERAL), fingerprint("RawSuite.AfterwardsTests/testRowsDeletedAfterwards"))
