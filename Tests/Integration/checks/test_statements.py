"""The bundle has the last statements of a store's connections, including those of its transactions."""

import browser
from harness import SuiteCase

RAW = "RawSuite.StatementTests/testStatementsOfTwoConnections"
POOL = "GRDBSuite.PoolStatementTests/testStatementsOfAPool"


class Statements(SuiteCase):
    def statements(self, bundle, store="statements"):
        described = bundle.described(store)["statements"]
        records = bundle.statements(bundle.described(store))
        for line, record in zip(bundle.contents[described["entry"]].decode().splitlines(keepends=True), records):
            self.assertTrue(line.endswith("}\n"))
            self.assertEqual(list(record), sorted(record))
            self.assertRegex(record["at"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            self.assertRegex(record["thread"], "^[0-9a-f]+$")
            # What could not be prepared did not run.
            if record.get("error", {}).get("code") != 1:
                self.assertLess(record["duration"], 60)
            self.assertNotIn("stack", record)
        self.assertNotIn("reason", described)
        return records

    def test_two_connections(self):
        bundle = self.left_by(RAW)
        self.assertTest(bundle, "StatementTests", "testStatementsOfTwoConnections", "after some statements")
        self.assertStores(bundle, statements=["apple", "pear", "plum"])
        records = self.statements(bundle)
        facts = [(r["sql"][:24], r.get("changes"), r["phase"], r.get("error")) for r in records]
        failed = {"code": 2067, "message": "UNIQUE constraint failed: fruit.name"}
        general = {"code": 2067, "message": "constraint failed"}
        self.assertEqual(facts, [
            ("PRAGMA journal_mode = wa", 0, "earlier", None),
            ("CREATE TABLE fruit (name", 0, "earlier", None),
            ("INSERT INTO fruit (name)", 1, "earlier", None),
            ("CREATE UNIQUE INDEX by_n", 0, "test", None),
            ("INSERT INTO fruit (name)", 1, "test", None),
            ("INSERT INTO fruit (name)", 0, "test", failed),
            ("INSERT /* long long long", 0, "test", general),
            ("INSERT INTO vegetables V", 0, "test", {"code": 1, "message": "no such table: vegetables"}),
            ("INSERT INTO fruit\n\tVALUE", 1, "test", None),
            ("INSERT /* long long long", 0, "test", failed),
        ])
        self.assertEqual(records[8]["sql"], "INSERT INTO fruit\n\tVALUES ('plum') -- \"ä\" \\ \u0001")
        # Those of the class's set-up are no test's.
        (test,) = bundle.metadata["tests"]
        self.assertEqual(test["name"], "testStatementsOfTwoConnections")
        self.assertEqual([r.get("test") for r in records], [None] * 3 + [test["id"]] * 7)
        first = records[0]["connection"]
        self.assertEqual(
            [r["connection"] == first for r in records], [True] * 4 + [False] + [True] * 5)
        self.assertEqual(len({r["thread"] for r in records}), 1)

    def test_a_scan(self):
        bundle = self.left_by("RawSuite.StatementTests/testAScan")
        records = bundle.statements(bundle.described("scanned"))
        self.assertGreater(records[-1]["fullScanSteps"], 1000)
        self.assertNotIn("queryPlan", records[-1])
        plan = bundle.json("show")["statements"]["scanned"][-1]["queryPlan"]
        self.assertEqual(plan[0], "SCAN fruit")
        self.assertIn("\n    " + "\n    ".join(plan) + "\n", bundle.said("show"))
        self.assertIn(">" + "\n".join(plan) + "</pre>", bundle.said("report", "-o", "-"))

    def test_a_pool(self):
        bundle = self.leaves(POOL)
        self.assertStores(bundle, statements=["apple", "pear", "plum"])
        records = self.statements(bundle)
        self.assertGreater(len({r["connection"] for r in records}), 1, "the readers' are missing")
        inserts = [r for r in records if r["sql"].startswith("INSERT")]
        self.assertEqual([r["changes"] for r in inserts], [1, 1, 1])
        self.assertEqual([r["values"] for r in inserts], [["apple"], ["pear"], ["plum"]])
        self.assertFalse([r for r in inserts if "apple" in r["sql"]])
        self.assertIn("VALUES ('plum')", bundle.said("show"))
        (test,) = bundle.metadata["tests"]
        self.assertEqual((test["suite"], test["name"]), ("PoolStatementTests", "testStatementsOfAPool"))
        self.assertEqual({r["test"] for r in records}, {test["id"]})

    def test_without_values(self):
        bundle = self.leaves(POOL, variables={"FAILURE_ARTIFACTS_VALUES": "off"})
        self.assertFalse([r for r in self.statements(bundle) if "values" in r])

    def test_the_last_ones(self):
        bundle = self.leaves(RAW, variables={"FAILURE_ARTIFACTS_STATEMENTS": "2"})
        records = self.statements(bundle)
        # Older ones stand for others that are like them.
        last = [r for r in records if "repeated" not in r]
        self.assertEqual([r["sql"][:6] for r in last], ["INSERT"] * 2)
        self.assertEqual(records[-2:], last)
        self.assertEqual(records[0]["sql"], "PRAGMA journal_mode = wal")
        self.assertEqual(sum(r.get("repeated", 1) for r in records), 10)
        self.assertEqual(bundle.described("statements")["statements"]["limit"], 2)
        # Each transaction has its statement all the same.
        self.assertNotIn("Older statements", bundle.said("history"))
        self.assertNotIn("limit", self.left_by(RAW).described("statements")["statements"])

    def test_a_trace_that_was_replaced(self):
        bundle = self.left_by("RawSuite.StatementTests/testAReplacedTrace")
        described = bundle.described("replaced")["statements"]
        self.assertRegex(described["reason"], "replaced the trace")
        self.assertNotIn("pear", bundle.contents[described["entry"]].decode())
        shown = bundle.said("show")
        self.assertRegex(shown, r"(?s)\nLast statements in the log[^\n]*\n.*apple.*\nStatements[^\n]*: The application has replaced")
        self.assertIn("Statements in the log</h4>\n<p class=\"cut\">The application has replaced",
                      bundle.said("report", "-o", "-"))

    def test_the_statements_of_transactions(self):
        bundle = self.left_by(RAW)
        transactions = bundle.json("history")["transactions"]
        self.assertEqual(
            [[s["order"] for s in t.get("statements", [])] for t in transactions],
            [[r["order"]] for r in self.statements(bundle)
             if not r.get("error") and "PRAGMA" not in r["sql"]])
        shown = bundle.said("show")
        self.assertIn("error 2067: UNIQUE constraint failed: fruit.name)", shown)
        # In the report's data, each transaction has its own statements.
        page = bundle.said("report", "-o", "-")
        store = browser.page_data(page)["stores"][0]
        self.assertEqual(
            [[store["statements"][index]["sql"] for index in step["statements"]] for step in store["steps"]],
            [[statement["sql"] for statement in transaction["statements"]] for transaction in transactions])

    def test_the_statements_of_a_pools_transactions(self):
        bundle = self.leaves(POOL)
        transactions = bundle.json("history")["transactions"]
        texts = [" ".join(s["sql"].strip() for s in t.get("statements", [])) for t in transactions]
        # GRDB's own statement ensures that there is a WAL; the other two are the test's.
        self.assertEqual(len(texts), 3)
        self.assertRegex(texts[0], "^CREATE TABLE grdb_issue_102 .*DROP TABLE grdb_issue_102")
        self.assertRegex(texts[1], '^CREATE TABLE "fruit" .*INSERT INTO "fruit".*INSERT INTO "fruit"')
        self.assertRegex(texts[2], '^INSERT INTO "fruit"')
