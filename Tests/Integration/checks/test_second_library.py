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

    def statements(self, test, store):
        """Checks the log, and that `explain` names a writing statement; returns the values and the errors."""
        bundle = self.leaves(f"RawSuite.{self.suite}/{test}")
        self.assertStores(bundle, **{store: ["apple", "kiwi", "lime"]})
        described = bundle.described(store)
        self.assertNotIn("reason", described["statements"])
        records = bundle.statements(described)
        # Statements that use no table aren't seen in a copy without traces.
        facts = [
            (r["sql"].rstrip(";"), r["changes"], r.get("commits")) for r in records if not r["sql"].startswith("PRAGMA")]
        self.assertEqual(facts[1:], [
            ("CREATE UNIQUE INDEX names ON fruit (name)", 0, 2),
            ("INSERT INTO fruit (name) VALUES ('apple')", 1, 3),
            ("BEGIN", 0, None),
            ("INSERT INTO fruit (name) VALUES (?)", 1, None),
            ("INSERT INTO fruit (name) VALUES (?)", 1, None),
            ("SELECT name FROM fruit WHERE name > ?", 0, None),
            ("UPDATE fruit SET name = 'kiwi' WHERE name = 'pear'", 1, None),
            ("COMMIT", 0, 4),
            ("BEGIN", 0, None),
            ("DELETE FROM fruit", 3, None),
            ("ROLLBACK", 0, None),
            ("SELECT name FROM fruit WHERE name > 'b'", 0, None),
            ("INSERT INTO fruit (name) VALUES ('kiwi')", 0, None),
            ("SELECT name FROM fruit WHERE name = 'pear'", 0, None),
        ])
        update = next(r for r in records if r["sql"].startswith("UPDATE"))
        self.assertTrue(update["callers"][0]["function"].startswith("OtherLibraryTests.runStatements("), update)
        (finding,) = [one for one in bundle.json("explain")["findings"] if one.get("transaction") == 4]
        self.assertEqual(finding["code"], "result-changed")
        statements = finding.get("statements") or [finding["statement"]]
        self.assertIn(update["sql"], [statement["sql"] for statement in statements])
        return [r.get("values") for r in records], [r["error"]["message"] for r in records if "error" in r]


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
        self.assertNotIn("reason", store["statements"])

    def test_statements(self):
        for test, store in (
                ("testStatementsInMemory", "memory"), ("testStatementsWithAWAL", "nio"),
                ("testStatementsWithARollbackJournal", "nio")):
            with self.subTest(test):
                values, errors = self.statements(test, store)
                self.assertFalse(any(values))
                self.assertEqual(errors, ["UNIQUE constraint failed: fruit.name"])

    def test_statements_inside_others(self):
        """Those of triggers and virtual tables aren't recorded, and a query goes on after another statement."""
        bundle = self.leaves("RawSuite.OtherLibraryTests/testStatementsInsideOthers")
        records = bundle.statements(bundle.described("memory"))
        self.assertEqual([(r["sql"].split(" (")[0][:35], r.get("commits")) for r in records], [
            ("CREATE TABLE fruit", 1),
            ("CREATE VIRTUAL TABLE word USING fts", 2),
            ("CREATE TRIGGER noted AFTER INSERT O", 3),
            ("INSERT INTO fruit VALUES", 4),
            ("SELECT name FROM fruit WHERE name <", None),
            ("INSERT INTO fruit VALUES", 5),
            ("UPDATE fruit SET name = name", None),
        ])
        finding = bundle.json("explain")["findings"][0]
        self.assertIn("can't be repeated without the values of its parameters", finding["explanation"])

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
