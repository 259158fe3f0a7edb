"""Stores of other copies of SQLite, with different symbols. They are found and keep their locks."""

import unittest

import other_sqlite
from harness import BUILD, NEEDS, SuiteCase


class OtherCase(SuiteCase):
    suite = "OtherLibraryTests"

    @classmethod
    def setUpClass(cls):
        cls.library = other_sqlite.library("second_", BUILD / "integration" / "second-sqlite")
        if cls.library is None:
            raise unittest.SkipTest(NEEDS + "a static library of SQLite, nm, objcopy and cc")
        cls.needs = (("SECOND_SQLITE", str(cls.library)),)

    def scenario(self, name, message, store, method, rows, warnings=0, kind="assertion"):
        bundle = self.leaves(f"RawSuite.{self.suite}/{name}", warnings=warnings)
        self.assertTest(bundle, self.suite, name, message, kind=kind)
        self.assertStores(bundle, **{store: rows})
        described = bundle.described(store)
        self.assertEqual(described["capture"]["method"], method)
        self.assertIs(described["capture"]["consistent"], True)
        return bundle, described


class Unknown(OtherCase):
    """A copy with a prefix that nothing names. The files of its stores are known."""

    suite = "SecondLibraryTests"

    def test_files(self):
        for name, message, warning in (
                ("testOutside", "in a second library", None),
                ("testInside", "in a second library's transaction", "other-writer"),
                ("testDeleted", "deleted in a second library", "deleted")):
            for journal in ("AWAL", "ARollbackJournal"):
                with self.subTest(f"{name}With{journal}"):
                    bundle, store = self.scenario(
                        f"{name}With{journal}", message, "second", "fileCopy", ["apple"], warnings=bool(warning))
                    self.assertIs(store.get("deleted", False), warning == "deleted")
                    if warning == "other-writer":
                        self.assertEqual(bundle.metadata["warnings"][0]["code"], warning)


class NIO(OtherCase):
    """A copy with the names and the omissions of sqlite-nio."""

    def test_in_memory(self):
        _, store = self.scenario("testInMemory", "in memory", "memory", "ownConnection", ["apple"])
        self.assertIs(store["transactionOpen"], False)
        self.assertIn("sqlite_nio_sqlite3", store["statements"]["reason"])
        self.assertEqual(store["statements"]["count"], 0)

    def test_in_a_transaction(self):
        apples = ["apple"] * 400
        for name, message, store, rows, committed in (
                ("testInMemoryInATransaction", "in memory in a transaction", "memory", ["apple", "pear"], None),
                ("testFileInATransactionWithAWAL", "file in a transaction", "nio", [*apples, "pear"], apples),
                ("testFileInATransactionWithARollbackJournal", "file in a transaction", "nio", [*apples, "pear"], apples),
                # It is larger than the cache.
                ("testSpilled", "a transaction that was spilled", "nio", ["pear"] * 400, apples)):
            with self.subTest(name):
                bundle, described = self.scenario(name, message, store, "pageCache", rows)
                self.assertIs(described["transactionOpen"], True)
                if committed:
                    self.assertEqual(bundle.store(store, "committedEntry").rows(), committed)

    def test_closed_in_memory(self):
        bundle, _ = self.scenario("testClosedInMemory", "closed", "memory", "recorded", ["apple"], warnings=1)
        self.assertIn("doesn't report when a store is closed", bundle.metadata["warnings"][0]["text"])


class Configured(OtherCase):
    """A copy with another prefix, which the configuration names, and without omissions."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.needs += (("FAILURE_ARTIFACTS_SQLITE_PREFIXES", "first_,second_"),)

    def test_in_memory_in_a_transaction(self):
        _, store = self.scenario(
            "testSecondInMemoryInATransaction", "in memory in a transaction", "memory", "pageCache", ["apple", "pear"])
        self.assertIn("second_sqlite3", store["statements"]["reason"])

    def test_closed_in_memory(self):
        self.scenario("testSecondClosedInMemory", "closed", "memory", "atClose", ["apple"])

    def test_rolled_back(self):
        self.scenario(
            "testSecondRolledBack", "thrown after a rollback", "memory", "beforeRollback", ["apple", "pear"],
            kind="error")
