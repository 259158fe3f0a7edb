"""The copy is one stand-alone file with the rows that the test's connection saw."""

import pathlib

from harness import Store, SuiteCase


class Copying(SuiteCase):
    def copied(self, selection, message, **stores):
        suite, name = selection.split("/")
        bundle = self.left_by(selection)
        self.assertTest(bundle, suite.split(".")[1], name, message)
        self.assertStores(bundle, **stores)
        return bundle


class CopyOfRaw(Copying):
    def test_rows_in_the_wal(self):
        bundle = self.copied(
            "RawSuite.CopyTests/testRowsInTheWAL", "two rows in the WAL", wal=["apple", "pear"])
        described = bundle.described("wal")
        self.assertEqual(described["journalMode"], "wal")
        self.assertEqual(described["storage"], "file")
        self.assertIs(described["transactionOpen"], False)
        self.assertIs(described["capture"]["consistent"], True)
        self.assertGreater(described["bytes"]["wal"], 0)

    def test_rollback_journal(self):
        bundle = self.copied(
            "RawSuite.CopyTests/testRollbackJournal", "one row, rollback journal", rollback=["apple"])
        self.assertEqual(bundle.described("rollback")["journalMode"], "delete")

    def test_journal_in_memory_without_a_mutex(self):
        bundle = self.copied(
            "RawSuite.CopyTests/testJournalInMemoryWithoutAMutex",
            "a journal in memory, without a mutex", **{"memory-journal": []})
        # The mode is the file's, because only a PRAGMA on the test's connection would return the
        # connection's.
        self.assertEqual(bundle.described("memory-journal")["journalMode"], "delete")

    def test_in_memory(self):
        bundle = self.copied(
            "RawSuite.CopyTests/testInMemory", "two rows in memory", memory=["apple", "kiwi"])
        self.assertNotIn("originalPath", bundle.described("memory"))

    def test_several_stores(self):
        self.copied(
            "RawSuite.CopyTests/testSeveralStores", "three stores", orders=["apple"], stock=["pear"],
            memory=["kiwi"])

    def test_two_stores_of_one_name(self):
        bundle = self.left_by("RawSuite.CopyTests/testTwoStoresOfOneName")
        names = {store["name"] for store in bundle.metadata["stores"]}
        self.assertEqual(len(names), 2)
        entries = [name for name in bundle.names if name.startswith("stores/")]
        self.assertEqual(len(entries), 2)

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
        bundle = self.copied(
            "RawSuite.CopyTests/testFileNameInJapanese", "a file name in Japanese",
            **{"りんごの 在庫": ["apple"]})
        entry = bundle.described("りんごの 在庫")["entry"]
        self.assertIn("りんごの", entry)

    def test_empty_store(self):
        bundle = self.left_by("RawSuite.CopyTests/testEmptyStore")
        described = bundle.described("empty")
        self.assertEqual(Store(bundle.contents[described["entry"]]).query("SELECT * FROM sqlite_master"), [])

    def test_open_transaction_in_wal(self):
        bundle = self.copied(
            "RawSuite.TransactionTests/testOpenInWAL", "a transaction, WAL", open=["apple", "pear"])
        self.assertIs(bundle.described("open")["transactionOpen"], True)
        self.assertEqual(bundle.store("open", "committedEntry").rows(), ["apple"])

    def test_open_transaction_with_rollback_journal(self):
        bundle = self.copied(
            "RawSuite.TransactionTests/testOpenWithRollbackJournal", "a transaction, rollback journal",
            open=["apple", "pear"])
        self.assertIs(bundle.described("open")["transactionOpen"], True)
        if "committedEntry" in bundle.described("open"):
            self.assertEqual(bundle.store("open", "committedEntry").rows(), ["apple"])


class CopyOfGRDB(Copying):
    def test_queue(self):
        self.copied("GRDBSuite.QueueTests/testFile", "a queue on a file", queue=["apple", "pear"])

    def test_queue_in_memory(self):
        self.copied("GRDBSuite.QueueTests/testInMemory", "a queue in memory", memory=["apple"])

    def test_assertion_inside_write(self):
        bundle = self.copied(
            "GRDBSuite.QueueTests/testAssertionInsideWrite", "inside a transaction", inside=["apple", "pear"])
        self.assertIs(bundle.described("inside")["transactionOpen"], True)

    def test_assertion_inside_write_in_memory(self):
        bundle = self.copied(
            "GRDBSuite.QueueTests/testAssertionInsideWriteInMemory", "inside a transaction in memory",
            memory=["apple", "pear"])
        self.assertIs(bundle.described("memory")["transactionOpen"], True)

    def test_errors_thrown_out_of_write(self):
        for selection, label in (
            ("QueueTests/testErrorThrownOutOfWrite", "thrown"),
            ("QueueTests/testErrorThrownOutOfWriteAndClosed", "closed"),
            ("QueueTests/testErrorThrownOutOfWriteInMemory", "memory"),
            ("QueueTests/testErrorThrownOutOfWriteInMemoryAndClosed", "memory"),
            ("PoolErrorTests/testErrorThrownOutOfWrite", "pool"),
            ("PoolErrorTests/testErrorThrownOutOfWriteAndClosed", "pool"),
        ):
            with self.subTest(selection):
                suite, name = selection.split("/")
                bundle = self.left_by(f"GRDBSuite.{selection}")
                self.assertTest(bundle, suite, name, "no such table: vegetables", kind="error")
                self.assertStores(bundle, **{label: ["apple", "pear"]})
                self.assertEqual(bundle.store(label, "committedEntry").rows(), ["apple"])
                store = bundle.described(label)
                self.assertEqual(store["capture"]["method"], "beforeRollback")
                self.assertIs(store["capture"]["consistent"], True)
                self.assertIs(store["transactionOpen"], True)

    def test_assertion_after_a_rollback(self):
        bundle = self.copied(
            "GRDBSuite.QueueTests/testAssertionAfterARollback", "after a rollback", after=["apple"])
        self.assertNotIn("committedEntry", bundle.described("after"))

    def test_async_write(self):
        self.copied(
            "GRDBSuite.QueueTests/testAsyncWriteThenAssertion", "after an asynchronous write",
            **{"async": ["apple", "pear"]})

    def test_async_access_in_memory(self):
        self.copied(
            "GRDBSuite.QueueTests/testAsyncAccessInMemory", "in memory, after an asynchronous write",
            memory=["apple", "pear"])

    def test_pool(self):
        self.copied("GRDBSuite.PoolTests/testFile", "a pool", pool=["apple", "pear"])

    def test_pool_with_concurrent_readers(self):
        bundle = self.copied(
            "GRDBSuite.PoolTests/testConcurrentReaders", "while two readers read", pool=["apple", "pear"])
        self.assertIs(bundle.described("pool")["transactionOpen"], False)

    def test_assertion_inside_the_write_of_a_pool(self):
        bundle = self.copied(
            "GRDBSuite.PoolTests/testAssertionInsideWrite", "inside a pool's transaction",
            pool=["apple", "pear"])
        self.assertIs(bundle.described("pool")["transactionOpen"], True)
        self.assertEqual(bundle.store("pool", "committedEntry").rows(), ["apple"])
