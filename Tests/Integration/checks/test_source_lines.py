"""Each statement of a bundle has the line of the package's own sources that ran it."""

import json
import re
import tempfile

import test_testing
from harness import SUITES, SuiteCase

RAW = "RawSuite.SourceLineTests/testLines"
GRDB = "GRDBSuite.SourceLineTests/"
UNNOTICED = "RawSuite.UnnoticedSymbolizerTests"


def marked_lines(file):
    """Returns the number of each line that a comment marks, by the marker."""
    lines = (SUITES / file).read_text().splitlines()
    marks = [(re.search("// line: (.+)$", line), number) for number, line in enumerate(lines, 1)]
    found = [(mark[1], number) for mark, number in marks if mark]
    assert len(dict(found)) == len(found), f"a marker of {file} occurs twice"
    return dict(found)


def records(bundle):
    """Returns all statements of a bundle."""
    entries = [name for name in bundle.names if name.startswith("statements/")]
    return [json.loads(line) for name in entries for line in bundle.contents[name].decode().splitlines()]


class SourceLineCase(SuiteCase):
    def assertLines(self, bundle, suite, functions):
        """Checks the sources of statements.

        `functions` has the expected function by the marker of the line. The marker is part of the statement, or the
        marker and the start of the statement are a pair.
        """
        file = f"Tests/{suite}/SourceLineTests.swift"
        lines = marked_lines(file)
        for key, function in functions.items():
            marker, pattern = key if isinstance(key, tuple) else (key, f"'{key}")
            found = [r for r in records(bundle) if pattern in r["sql"]]
            self.assertEqual(len(found), 1, f"statements with {pattern}")
            self.assertEqual(
                found[0].get("source"), {"file": file, "function": function, "line": lines[marker]}, marker)
        # Neither the product nor a dependency is a source.
        for record in records(bundle):
            self.assertRegex(record.get("source", {}).get("file", file), f"^Tests/{suite}/[A-Za-z]+[.]swift$")

    def assertNoLines(self, bundle):
        self.assertStores(bundle, lines=[
            "plain", "wrapper", "callback", "generic 7", "stored", "thread", "queue", "detached", "await"])
        self.assertEqual(len(records(bundle)), 12)
        self.assertEqual([r for r in records(bundle) if "source" in r], [])


class SourceLines(SourceLineCase):
    def test_the_c_interface(self):
        bundle = self.left_by(RAW)
        self.assertLines(bundle, "RawSuite", {
            "plain": "SourceLineTests.testLines()",
            "wrapper": "SourceLineTests.step(_:in:)",
            ("row query", "SELECT 1"): "SourceLineTests.insertInRowCallback(_:)",
            "callback": "closure #1 in SourceLineTests.insertInRowCallback(_:)",
            "generic": "SourceLineTests.insert<A>(_:in:)",
            "stored": "closure #1 in SourceLineTests.testLines()",
            "thread": "closure #1 in SourceLineTests.insertOnThread(_:)",
            "queue": "closure #1 in SourceLineTests.insertOnQueue(_:)",
            "detached": "closure #2 in SourceLineTests.testLines()",
            "await": "SourceLineTests.insertAfterAwait(_:)",
        })
        line = marked_lines("Tests/RawSuite/SourceLineTests.swift")["await"]
        self.assertIn(f"SourceLineTests.insertAfterAwait(_:) Tests/RawSuite/SourceLineTests.swift:{line}", bundle.said("show"))
        # The metadata has the test framework's path.
        self.assertTrue(bundle.metadata["failures"][0]["file"].startswith("/"))
        self.assertEqual(bundle.json("explain")["failure"]["file"], "Tests/RawSuite/SourceLineTests.swift")

    def test_c_code(self):
        """A statement that C code runs has the line of Swift that called the C code."""
        function = "SourceLineTests.testCCode()"
        self.assertLines(self.left_by("RawSuite.SourceLineTests/testCCode"), "RawSuite", {
            "called back": f"closure #1 in {function}",
            "direct": function,
        })

    def test_c_code_in_a_callback(self):
        """The functions outside SQLite's callback are unknown, so the line of C code is the best one."""
        bundle = self.left_by("RawSuite.SourceLineTests/testCCodeInACallback")
        found = {record["sql"]: record.get("source") for record in records(bundle)}
        lines = marked_lines("Tests/RawSuite/SourceLineTests.swift")
        self.assertEqual(found["SELECT 1"], {
            "file": "Tests/RawSuite/SourceLineTests.swift", "function": "SourceLineTests.testCCodeInACallback()",
            "line": lines["for a row"]})
        file = "Sources/CSuiteCallbacks/callbacks.c"
        self.assertEqual(found["INSERT INTO fruit VALUES ('for a row')"], {
            "file": file, "function": "suite_run", "line": marked_lines(file)["suite_run"]})

    def test_interleaved_transactions(self):
        """The transactions of two connections on two threads are tied to the statements that made them."""
        lines = marked_lines("Tests/RawSuite/SourceLineTests.swift")
        # Three statements for each transaction.
        bundle = self.leaves(
            "RawSuite.SourceLineTests/testInterleavedTransactions", variables={"FAILURE_ARTIFACTS_STATEMENTS": "400"})
        expected = [(f"{thread} {number}", lines[f"{thread} thread"])
                    for number in range(50) for thread in ("first", "second")]
        found = bundle.json("history")["transactions"][-100:]
        rows = [transaction["changes"]["tables"] for transaction in found]
        inserted = [[(table["name"], table["inserted"]) for table in tables] for tables in rows]
        self.assertEqual(inserted, 100 * [[("fruit", 1)]])
        tied = 0
        for transaction, (value, line) in zip(found, expected):
            statements = [s for s in transaction.get("statements", []) if s["sql"].startswith("INSERT")]
            if not statements:
                continue
            tied += 1
            self.assertEqual([s["sql"] for s in statements], [f"INSERT INTO fruit VALUES ('{value}')"])
            self.assertEqual([s["source"]["line"] for s in statements], [line])
        self.assertGreaterEqual(tied, 99)

    def test_writes_of_a_queue(self):
        self.assertLines(self.left_by(GRDB + "testWritesOfAQueue"), "GRDBSuite", {
            ("migration", 'CREATE TABLE "fruit"'): "closure #1 in SourceLineTests.migrate(_:)",
            "sync": "closure #1 in SourceLineTests.writeInQueue(_:)",
            "async": "closure #1 in SourceLineTests.testWritesOfAQueue()",
            "first": "closure #1 in SourceLineTests.writeTwice(_:)",
            "second": "closure #1 in SourceLineTests.writeTwice(_:)",
            # Only GRDB's own code is inside DispatchQueue.sync(execute:), which has no frame pointer on x86-64.
            ("vacuum", "VACUUM"): "SourceLineTests.vacuum(_:)",
        })

    def test_records_in_memory(self):
        function = "closure #1 in SourceLineTests.testRecords()"
        self.assertLines(self.left_by(GRDB + "testRecords"), "GRDBSuite", {
            ("insertion", 'INSERT INTO "fruit"'): function,
            ("update", 'UPDATE "fruit"'): function,
            ("deletion", 'DELETE FROM "fruit"'): function,
            ("fetch", 'SELECT * FROM "fruit"'): function,
            # GRDB runs this one for the insertion.
            ("insertion", "table_xinfo"): function,
        })

    def test_a_pool(self):
        self.assertLines(self.left_by(GRDB + "testPool"), "GRDBSuite", {
            "written": "closure #1 in SourceLineTests.testPool()",
            "reader 1": "closure #1 in closure #1 in static SourceLineTests.readTwice(_:)",
            "reader 2": "closure #2 in static SourceLineTests.readTwice(_:)",
        })

    def test_an_observation(self):
        self.assertLines(self.left_by(GRDB + "testObservation"), "GRDBSuite", {
            "observed": "closure #1 in SourceLineTests.testObservation()",
        })

    def test_without_lines(self):
        self.assertNoLines(self.leaves(RAW, variables={"FAILURE_ARTIFACTS_SOURCE_LINES": "off"}))

    def test_without_a_symbolizer(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertNoLines(self.leaves(RAW, variables={"PATH": empty}))

    def test_the_process_does_not_notice_the_symbolizer(self):
        for bundle in self.leaves(UNNOTICED, count=2):
            # The symbolizer has run.
            self.assertEqual({r["source"]["function"] for r in records(bundle)}, {"Database.execute(_:)"})


class SourceLinesOfSwiftTesting(SourceLineCase, test_testing.TestingCase):
    def test_a_suite_with_the_trait(self):
        self.assertLines(self.leaves(test_testing.only("SourceLineTests")), "TestingSuite", {
            "trait": "closure #1 in SourceLineTests.line()",
        })


class FailedCommits(SourceLineCase):
    """A deferred foreign key rejects a COMMIT, which SQLite doesn't log, and GRDB then rolls back."""

    def assertNamesTheDelete(self, bundle):
        file = "Tests/GRDBSuite/PoolTests.swift"
        commits = [record for record in records(bundle) if record["sql"].startswith("COMMIT")]
        self.assertEqual([i for i, r in enumerate(commits) if "leftOpen" in r], [len(commits) - 1])
        self.assertIs(commits[-1]["leftOpen"], True)
        found, shown = bundle.json("explain")["findings"][0], bundle.said("show")
        self.assertEqual((found["code"], found["confidence"]), ("foreign-key-violation", "certain"))
        self.assertEqual(found["statement"]["sql"], "DELETE FROM maker WHERE id = 1")
        self.assertEqual(
            (found["source"]["file"], found["source"]["line"]), (file, marked_lines(file)["removed"]))
        self.assertEqual(
            found["explanation"],
            "The transaction that was rolled back removed maker id = 1, which part.maker still names.")
        self.assertIn("error 787: FOREIGN KEY constraint failed)", shown)
        self.assertIn("a transaction was rolled back\n", shown)

    def test_in_a_pool(self):
        """The pool is closed when the error leaves the test, but its history is known."""
        bundle = self.left_by("GRDBSuite.DeferredKeyTests/testPool")
        self.assertNamesTheDelete(bundle)
        blamed = bundle.json("blame", "maker", "1")["transactions"]
        self.assertEqual(
            [[s["sql"] for s in transaction["statements"]] for transaction in blamed],
            [["INSERT INTO maker VALUES (1), (2)"], ["DELETE FROM maker WHERE id = 1"]])
        self.assertEqual(["transaction" in transaction for transaction in blamed], [True, False])

    def test_in_memory(self):
        self.assertNamesTheDelete(self.left_by("GRDBSuite.DeferredKeyTests/testQueueInMemory"))
