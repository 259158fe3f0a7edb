"""Stores of other copies of SQLite, with different symbols. They are found and keep their locks."""

import unittest

import other_sqlite
from harness import BUILD, NEEDS, SuiteCase


def second_library():
    return other_sqlite.library("second_", BUILD / "integration" / "second-sqlite")


class SecondLibrary(SuiteCase):
    @classmethod
    def setUpClass(cls):
        if second_library() is None:
            raise unittest.SkipTest(NEEDS + "a static library of SQLite, nm, objcopy and cc")
        cls.needs = (("SECOND_SQLITE", str(second_library())),)

    def scenario(self, name, message, warnings=0):
        bundle = self.leaves(f"RawSuite.SecondLibraryTests/{name}", warnings=warnings)
        self.assertTest(bundle, "SecondLibraryTests", name, message)
        self.assertStores(bundle, second=["apple"])
        store = bundle.described("second")
        self.assertEqual(store["capture"]["method"], "fileCopy")
        self.assertIs(store["capture"]["consistent"], True)
        return bundle

    def test_outside_a_transaction(self):
        for name in ("testOutsideWithAWAL", "testOutsideWithARollbackJournal"):
            with self.subTest(name):
                self.scenario(name, "in a second library")

    def test_inside_a_transaction(self):
        for name in ("testInsideWithAWAL", "testInsideWithARollbackJournal"):
            with self.subTest(name):
                bundle = self.scenario(name, "in a second library's transaction", warnings=1)
                self.assertEqual(bundle.metadata["warnings"][0]["code"], "other-writer")

    def test_deleted(self):
        for name in ("testDeletedWithAWAL", "testDeletedWithARollbackJournal"):
            with self.subTest(name):
                bundle = self.scenario(name, "deleted in a second library", warnings=1)
                self.assertIs(bundle.described("second")["deleted"], True)


class OtherCase(SuiteCase):
    """Copies of SQLite that are known by their prefixes."""

    def scenario(self, name, message, store, method, rows, warnings=0, kind="assertion"):
        bundle = self.leaves(f"RawSuite.OtherLibraryTests/{name}", warnings=warnings)
        self.assertTest(bundle, "OtherLibraryTests", name, message, kind=kind)
        self.assertStores(bundle, **{store: rows})
        described = bundle.described(store)
        self.assertEqual(described["capture"]["method"], method)
        if rows is not None:
            self.assertIs(described["capture"]["consistent"], True)
            self.check_store(bundle.contents[described["entry"]])
        return bundle, described


class NIO(OtherCase):
    """A copy with the names and the omissions of sqlite-nio."""

    @classmethod
    def setUpClass(cls):
        archive = other_sqlite.archive("sqlite_nio_", BUILD / "integration", other_sqlite.OMITTED_BY_NIO)
        if archive is None:
            raise unittest.SkipTest(NEEDS + "a static library of SQLite, nm, objcopy and cc")

    def test_in_memory(self):
        _, store = self.scenario("testInMemory", "in memory", "memory", "ownConnection", ["apple"])
        self.assertIs(store["transactionOpen"], False)
        self.assertIn("sqlite_nio_sqlite3", store["statements"]["reason"])
        self.assertEqual(store["statements"]["count"], 0)

    def test_in_memory_in_a_transaction(self):
        _, store = self.scenario(
            "testInMemoryInATransaction", "in memory in a transaction", "memory", "pageCache", ["apple", "pear"])
        self.assertIs(store["transactionOpen"], True)

    def test_a_file_in_a_transaction(self):
        for name in ("testFileInATransactionWithAWAL", "testFileInATransactionWithARollbackJournal"):
            with self.subTest(name):
                bundle, store = self.scenario(
                    name, "file in a transaction", "nio", "pageCache", ["apple"] * 400 + ["pear"])
                self.assertIs(store["transactionOpen"], True)
                committed = bundle.store("nio", "committedEntry")
                self.assertEqual(committed.rows(), ["apple"] * 400)

    def test_a_transaction_that_is_larger_than_the_cache(self):
        bundle, store = self.scenario(
            "testSpilled", "a transaction that was spilled", "nio", "pageCache", ["pear"] * 400)
        self.assertIs(store["transactionOpen"], True)
        self.assertEqual(bundle.store("nio", "committedEntry").rows(), ["apple"] * 400)

    def test_closed_in_memory(self):
        bundle, _ = self.scenario("testClosedInMemory", "closed", "memory", "recorded", ["apple"], warnings=1)
        self.assertIn("doesn't report when a store is closed", bundle.metadata["warnings"][0]["text"])


class Configured(OtherCase):
    """A copy with another prefix, which the configuration names, and without omissions."""

    @classmethod
    def setUpClass(cls):
        if second_library() is None:
            raise unittest.SkipTest(NEEDS + "a static library of SQLite, nm, objcopy and cc")
        cls.needs = (
            ("SECOND_SQLITE", str(second_library())), ("FAILURE_ARTIFACTS_SQLITE_PREFIXES", "first_,second_"))

    def test_in_memory_in_a_transaction(self):
        _, store = self.scenario(
            "testSecondInMemoryInATransaction", "in memory in a transaction", "memory", "serialize", ["apple", "pear"])
        self.assertIn("second_sqlite3", store["statements"]["reason"])

    def test_closed_in_memory(self):
        self.scenario("testSecondClosedInMemory", "closed", "memory", "atClose", ["apple"])

    def test_rolled_back(self):
        self.scenario(
            "testSecondRolledBack", "thrown after a rollback", "memory", "beforeRollback", ["apple", "pear"],
            kind="error")
