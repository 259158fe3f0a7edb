"""`explain` tries its explanations in the stores, says nothing false about what a bundle lacks, and uses SQLite's errors."""

import contextlib
import json
import os
import subprocess
import sys

from harness import LEFT_READERS, TOOL, SuiteCase, clean_environment
from test_source_lines import marked_lines
from test_testing import TestingCase, only

RAW = "RawSuite."
GRDB_MARKET = "Sources/SuiteMarket/Market.swift"


class Evidence(SuiteCase):
    def findings(self, bundle, code=None):
        found = bundle.json("explain", "--all")["findings"]
        return [finding for finding in found if code in (None, finding["code"])]

    def text(self, bundle, command, *arguments):
        # Long statements are wrapped.
        return " ".join(bundle.said(command, *arguments).split())


class Experiments(Evidence):
    """Applications with one mistake each; see `Suites/Sources`."""

    def assertLine(self, finding, file, marker):
        self.assertEqual(
            (finding["source"]["file"], finding["source"]["line"]), (file, marked_lines(file)[marker]))

    def test_a_wrong_write(self):
        """Without a transaction, the query returns the expected value. Its row and its line are the wrong ones."""
        bundle = self.left_by("GRDBSuite.ExplanationTests/testWrongWrite")
        self.assertEqual(bundle.described("memory")["storage"], "memory")
        explanation = bundle.json("explain", "--all")
        first = explanation["findings"][0]
        title = "Without transaction 5, the query returns the expected 333"
        self.assertEqual((first["code"], first["title"]), ("result-changed", title))
        self.assertEqual(first["transaction"], 5)
        self.assertEqual(first["undone"], {"transactions": [5], "result": "333", "isExpected": True})
        # Other rows of the transaction don't matter for the query.
        self.assertEqual(first["rows"], [{
            "table": "fruit", "key": {"name": "plum"}, "change": "updated",
            "columns": {"cents": {"before": 333, "after": 260}}}])
        self.assertTrue(first["statement"]["sql"].startswith("UPDATE fruit SET "))
        self.assertLine(first, GRDB_MARKET, "repriced")
        # The expected value was there before the transaction.
        found = [(each.get("transaction"), each["result"], each.get("isExpected", False))
                 for each in explanation["question"]["results"]]
        self.assertEqual(found, [(1, "no row", False), (4, "333", True), (5, "260", False)])
        self.assertIn(title, self.text(bundle, "explain"))
        # Its query is in the answer, too.
        self.assertIn("failing-query", [finding["code"] for finding in explanation["findings"][:3]])

    def test_a_wrong_part_of_a_write(self):
        """Only without one of the transaction's changes, the query returns the expected value."""
        bundle = self.left_by("GRDBSuite.ExplanationTests/testWrongPartOfAWrite")
        first = self.findings(bundle)[0]
        self.assertEqual(
            (first["code"], first["title"]),
            ("result-changed", "Without the change of fruit name = 'apple' in transaction 5, the query returns the expected 110"))
        self.assertEqual((first["confidence"], first["transaction"]), ("likely", 5))
        row = {"table": "fruit", "key": {"name": "apple"}, "change": "updated",
               "columns": {"kilos": {"before": 21, "after": 0}}}
        self.assertEqual(first["rows"][0], row)
        self.assertEqual(
            first["undone"], {"transactions": [5], "rows": [row], "result": "110", "isExpected": True})
        self.assertEqual(first["statement"]["sql"], "UPDATE fruit SET kilos = 0 WHERE kilos < 25")
        self.assertLine(first, GRDB_MARKET, "cleared")

    def test_a_wrong_query(self):
        bundle = self.left_by("GRDBSuite.ExplanationTests/testWrongQuery")
        explanation = bundle.json("explain", "--all")
        first, *others = explanation["findings"]
        self.assertEqual(
            (first["code"], first["title"], first["confidence"]),
            ("wrong-query", "The query returns the expected 61 with <= in place of <", "likely"))
        self.assertEqual(first["statement"]["sql"], "SELECT sum(kilos) FROM fruit WHERE cents < ?")
        self.assertEqual(first["statement"]["values"], [249])
        self.assertNotIn("transaction", first)
        self.assertLine(first, GRDB_MARKET, "queried")
        # No write explains it.
        self.assertEqual({finding["confidence"] for finding in others}, {"possible"})
        self.assertFalse([finding for finding in others if finding.get("undone", {}).get("isExpected")])
        self.assertFalse([each for each in explanation["question"]["results"] if each.get("isExpected")])

    def test_an_expectation_that_only_the_code_after_the_query_breaks(self):
        for name in ("testWrongCode", "testWrongReader"):
            with self.subTest(name):
                found = self.findings(self.left_by(f"GRDBSuite.ExplanationTests/{name}"))
                self.assertEqual({finding["confidence"] for finding in found}, {"possible"})
                self.assertFalse([finding for finding in found if finding.get("undone", {}).get("isExpected")])
                # The query whose result the code used is part of the answer.
                [query] = [finding for finding in found[:3] if finding["code"] in ("failing-query", "query")]
                self.assertEqual(query["statement"]["sql"], "SELECT cents FROM fruit WHERE name = ?")
                self.assertLine(query, GRDB_MARKET, "queried")


    def test_a_query_without_a_row_is_not_expected(self):
        """The assertion demands any other result."""
        bundle = self.left_by("GRDBSuite.ExplanationTests/testMissingRow")
        [query] = self.findings(bundle, "query")
        self.assertEqual(query["statement"]["values"], ["fig"])
        self.assertEqual(query["title"], "The query returned no row")
        self.assertNotIn("expected", self.text(bundle, "explain", "--all"))


class LeftReaders(Evidence):
    def test_a_query_of_another_test_is_not_the_failing_one(self):
        """Although it ran last, and returned the expected value."""
        own = "SELECT count(*) FROM fruit WHERE name = 'fig'"
        _, _, lock, opened, _ = self.leaves(LEFT_READERS, count=5)
        for bundle in lock, opened:
            with self.subTest(bundle.metadata["test"]["name"]):
                question = bundle.json("explain", "--all")["question"]
                self.assertEqual(question["sql"], own)
                self.assertEqual([found["statement"]["sql"] for found in self.findings(bundle, "query")], [own])
        # The commands begin with the store that the test itself has used last.
        self.assertRegex(self.text(lock, "show"), "Store own .* Store endless ")
        self.assertTrue(lock.said("history").startswith("History of store own, "))


class Determinism(Evidence):
    # At the lowest priority, so that they don't disturb others, but compete with a tool of the same priority.
    LOWEST = 19

    @contextlib.contextmanager
    def load(self):
        """Keeps the cores busy."""
        command = [sys.executable, "-I", "-S", "-c", "while True: pass"]
        with contextlib.ExitStack() as processes:
            for _ in range(2 * (os.cpu_count() or 1)):
                process = subprocess.Popen(command, preexec_fn=lambda: os.nice(self.LOWEST))
                processes.callback(process.wait)
                processes.callback(process.kill)
            yield

    def output(self, path):
        """The whole explanation of a bundle."""
        return subprocess.run(
            [TOOL, "explain", "--all", "--json", path], cwd=path.parent, env=clean_environment(path.parent), check=True,
            capture_output=True, preexec_fn=lambda: os.nice(self.LOWEST)).stdout

    def test_a_busy_machine_changes_nothing(self):
        """The work is limited by numbers and not by times."""
        for name in ("testWrongPartOfAWrite", "testWrongQuery", "testManyWrites"):
            with self.subTest(name), self.left_by(f"GRDBSuite.ExplanationTests/{name}").kept() as path:
                alone = self.output(path)
                with self.load():
                    self.assertEqual(self.output(path), alone)
                self.assertGreater(len(json.loads(alone)["findings"]), 1)


class UnknownChanges(Evidence):
    def test_a_transaction_of_a_closed_connection_is_not_open(self):
        bundle = self.left_by(RAW + "UnloggedTests/testClosedTransaction")
        self.assertEqual(self.findings(bundle, "open-transaction"), [])

    def test_a_table_of_an_attached_database(self):
        bundle = self.left_by(RAW + "UnloggedTests/testAttachedTable")
        found = {finding["title"] for finding in self.findings(bundle) if finding["confidence"] == "certain"}
        self.assertEqual(found, {"SQLite found no table archive.tests"})

    def test_an_error_that_sqlite_does_not_log(self):
        bundle = self.left_by(RAW + "UnloggedTests/testRollbackAfterAnUnloggedError")
        [found] = self.findings(bundle, "rolled-back")
        self.assertEqual(found["title"], "1 change in fruit was rolled back")
        self.assertEqual(
            found["explanation"],
            "A statement of the transaction failed: FOREIGN KEY constraint failed. The changes before it are lost, too.")


class Errors(Evidence):
    def certain(self, bundle):
        found = [finding for finding in self.findings(bundle) if finding["confidence"] == "certain"]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_each_kind_of_error(self):
        expected = {
            "testUnknownFunction": ("statement-failed", "no such function: jsonb_foo"),
            "testSyntax": ("statement-failed", 'near "fruit": syntax error'),
            "testNumberOfValues": ("statement-failed", "table crate has 2 columns but 1 values were supplied"),
            "testMismatch": ("statement-failed", "datatype mismatch"),
            "testTooBig": ("statement-failed", "string or blob too big"),
            "testReadOnly": ("statement-failed", "attempt to write a readonly database"),
            "testFull": ("statement-failed", "database or disk is full"),
            "testLockedTable": ("busy", "database table is locked"),
            "testConstraint": ("constraint-failed", "UNIQUE constraint failed: fruit.name"),
            "testLongStatement": ("constraint-failed", "constraint failed"),
        }
        bundles = self.leaves(RAW + "FailedStatementTests", count=len(expected))
        for bundle in bundles:
            name = bundle.metadata["test"]["name"]
            code, message = expected[name]
            with self.subTest(name):
                found = self.certain(bundle)
                self.assertEqual(found["code"], code)
                self.assertIn(message, found["title"] + found["explanation"])
                # The test's message ends with the statement.
                self.assertIn(found["statement"]["sql"], bundle.messages[0])
                self.assertRegex(found["source"]["file"], "/RawSuite/(Database|EvidenceTests).swift$")

    def test_grdb(self):
        bundle = self.leaves("GRDBSuite.FailedStatementTests/testUnknownFunction")
        found = self.certain(bundle)
        self.assertEqual((found["code"], found["title"]), ("statement-failed", "A statement failed: no such function: jsonb_foo"))
        self.assertIn("SQLite error 1: no such function: jsonb_foo - while executing", bundle.messages[0])
        self.assertEqual(found["statement"]["sql"], "SELECT jsonb_foo(name) FROM fruit")


class TestingErrors(Evidence, TestingCase):
    def test_a_description_of_the_error(self):
        bundle = self.leaves(only("ErrorTests"))
        self.assertIn('near \\"fruit\\": syntax error', bundle.messages[0])
        [found] = [finding for finding in self.findings(bundle) if finding["confidence"] == "certain"]
        self.assertEqual((found["code"], found["title"]), ("statement-failed", 'A statement failed: near "fruit": syntax error'))


class Rows(Evidence):
    bundle_of = RAW + "UnloggedTests/testRowsOfAnIndexedTable"

    def test_a_statement_has_the_rows_that_it_changed_itself(self):
        bundle = self.left_by(self.bundle_of)
        for command in ("show", "history"):
            text = self.text(bundle, command, *(["--statements"] if command == "show" else []))
            self.assertRegex(text, r"INSERT INTO note \(text\) VALUES .{,200}\(10 rows", command)
        [insert] = [record for record in bundle.statements(bundle.described("notes")) if record["sql"].startswith("INSERT INTO note (text)")]
        self.assertGreater(insert["changes"], 10)
        self.assertEqual(insert["ownChanges"], 10)

    def test_the_last_query_is_shown_to_its_end(self):
        bundle = self.left_by(self.bundle_of)
        for command, arguments in (("explain", []), ("explain", ["--markdown"]), ("show", [])):
            text = self.text(bundle, command, *arguments)
            self.assertIn("FROM note WHERE text LIKE 'note%' ORDER BY text DESC", text, command)
