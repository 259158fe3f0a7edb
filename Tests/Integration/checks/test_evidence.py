"""`explain` says nothing false about what a bundle lacks, and uses SQLite's own errors."""

import json

from harness import SuiteCase
from test_testing import TestingCase, only

RAW = "RawSuite."


class Evidence(SuiteCase):
    def findings(self, bundle, code=None):
        result = bundle.tool("explain", "--all", "--json")
        result.check_returncode()
        found = json.loads(result.stdout)["findings"]
        return [finding for finding in found if code in (None, finding["code"])]

    def text(self, bundle, command, *arguments):
        result = bundle.tool(command, *arguments)
        result.check_returncode()
        # Long statements are wrapped.
        return " ".join(result.stdout.split())


class UnknownChanges(Evidence):
    def test_a_row_of_this_test_is_no_leftover(self):
        bundles = self.leaves(RAW + "SharedRowTests", count=2)
        own, other = sorted(bundles, key=lambda bundle: bundle.metadata["test"]["name"], reverse=True)
        self.assertEqual(own.metadata["test"]["name"], "testFindsItsOwnRow")
        # The history tells which row the test inserted, and which was there.
        rows = [finding["rows"] for finding in self.findings(own, "leftover")]
        self.assertEqual([[row["key"] for row in found] for found in rows], [[{"rowid": 1}]] * 2)
        found = self.findings(other, "leftover")
        self.assertEqual([finding["title"] for finding in found], ["1 row of fruit was in the store before the test"] * 2)
        self.assertTrue(found[0]["explanation"].startswith("This test didn't insert it."))

    def test_a_transaction_of_a_closed_connection_is_not_open(self):
        bundle = self.leaves(RAW + "UnloggedTests/testClosedTransaction")
        self.assertEqual(self.findings(bundle, "open-transaction"), [])

    def test_an_error_that_sqlite_does_not_log(self):
        bundle = self.leaves(RAW + "UnloggedTests/testRollbackAfterAnUnloggedError")
        [found] = self.findings(bundle, "rolled-back")
        self.assertEqual(found["title"], "1 change in fruit was rolled back")
        self.assertEqual(
            found["explanation"],
            "A statement of the transaction failed: FOREIGN KEY constraint failed. The changes before it are lost, too.")

    def test_updates_of_rows_that_may_be_others(self):
        bundle = self.leaves(RAW + "UnloggedTests/testUpdatesOfTwoRows")
        for found in self.findings(bundle, "lost-update"):
            self.assertIn("may have been computed", found["title"])
            self.assertIn("if both are of the same row", found["explanation"])


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
        bundle = self.leaves(self.bundle_of)
        for command in ("show", "history"):
            text = self.text(bundle, command, *(["--statements"] if command == "show" else []))
            self.assertRegex(text, r"INSERT INTO note \(text\) VALUES .{,200}\(10 rows", command)
        records = [json.loads(line) for line in
                   bundle.contents[bundle.described("notes")["statements"]["entry"]].splitlines()]
        [insert] = [record for record in records if record["sql"].startswith("INSERT INTO note (text)")]
        self.assertGreater(insert["changes"], 10)
        self.assertEqual(insert["ownChanges"], 10)

    def test_the_last_query_is_shown_to_its_end(self):
        bundle = self.leaves(self.bundle_of)
        for command, arguments in (("explain", []), ("explain", ["--markdown"]), ("show", [])):
            text = self.text(bundle, command, *arguments)
            self.assertIn("FROM note WHERE text LIKE 'note%' ORDER BY text DESC", text, command)
