"""Bundles of format 1.0, written by the version that introduced it: every command still reads them."""

import json
import pathlib
import re
import subprocess
import unittest

import harness
from harness import TOOL, Bundle, clean_environment

FIXTURES = harness.ROOT / "Tests" / "Integration" / "Fixtures" / "1.0"
ORDINARY, TWICE, REDACTED, KILLED = (
    FIXTURES / f"FixtureTests.{name}.zip"
    for name in ("testOrdinary-e6814f0f", "testFailsTwice-4228c3e3", "testRedacted-72285d66", "testIsKilled-57217cfd"))
ALONE = [KILLED, ORDINARY, REDACTED, TWICE]
HOLDER, SHARING = (
    FIXTURES / "shared" / f"FixtureTests.{name}.zip"
    for name in ("testSharesFirst-3830e867", "testSharesSecond-3d8c93d7"))
ROWS = {"Cash": 400, "Bank": 900, "Loan": -300}
ACCOUNTS = "SELECT name, cents FROM account ORDER BY id"


class OldBundles(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = harness.fresh_directory(self)
        (self.directory / "tmp").mkdir()

    def tool(self, *words, status=0):
        """Runs a command; gives its output. It must end with a status, and say something on errors only."""
        result = subprocess.run(
            [TOOL, *map(str, words)], cwd=self.directory, capture_output=True, text=True, timeout=120,
            env=clean_environment(self.directory / "tmp"))
        self.assertEqual(result.returncode, status, (words, result.stdout, result.stderr))
        if status in (0, 1):
            # What `open` shows before the store.
            self.assertTrue(result.stderr == "" or words[0] == "open", (words, result.stderr))
            return result.stdout
        return result.stderr

    def rows(self, bundle, sql=ACCOUNTS, *options):
        return {row["name"]: row["cents"] for row in json.loads(self.tool("query", bundle, sql, "--json", *options))}


class Commands(OldBundles):
    def test_list(self):
        lines = [json.loads(line) for line in self.tool("list", FIXTURES, "--json").splitlines()]
        found = {pathlib.Path(line["bundle"]).name: line["metadata"] for line in lines}
        self.assertEqual(set(found), {path.name for path in [*ALONE, HOLDER, SHARING]})
        for path in [*ALONE, HOLDER, SHARING]:
            self.assertEqual(found[path.name], Bundle(path).metadata)
        self.assertEqual(len(self.tool("list", FIXTURES).splitlines()), 6)

    def test_show(self):
        for path in [*ALONE, HOLDER, SHARING]:
            metadata = json.loads(self.tool("show", path, "--json"))["metadata"]
            self.assertEqual(metadata, Bundle(path).metadata, path)
            text = self.tool("show", path)
            for failure in metadata["failures"]:
                self.assertIn(failure["message"].removeprefix("XCTAssertEqual failed: "), text)
            everything = self.tool("show", path, "--all")
            for store in metadata["stores"]:
                self.assertIn(f"Store {store['name']}\n", everything)
                self.assertRegex(text, rf"\n(Store |  ){re.escape(store['name'])}[:\n]")
        text = self.tool("show", ORDINARY, "--statements")
        self.assertIn("DELETE FROM account WHERE id = 2", text)
        self.assertIn("UPDATE account SET cents = 400 WHERE id = 1", text)

    def test_query(self):
        self.assertEqual(self.rows(ORDINARY), {"Cash": 1, "Loan": -300})
        self.assertEqual(self.rows(ORDINARY, ACCOUNTS, "--store", "ledger.committed"), ROWS)
        self.assertEqual(self.rows(ORDINARY, ACCOUNTS, "--at", "2"), {"Cash": 500, "Bank": 900})
        settings = self.tool("query", ORDINARY, "SELECT key, value FROM setting", "--store", "settings", "--csv")
        self.assertEqual(settings.splitlines(), ["key,value", "theme,dark"])
        self.assertEqual(self.rows(TWICE), ROWS)
        self.assertEqual(self.rows(TWICE, ACCOUNTS, "--store", "snapshots/failure-2/ledger.sqlite"), {**ROWS, "Late": 0})
        self.assertEqual(self.rows(KILLED), ROWS)
        users = json.loads(self.tool("query", REDACTED, "SELECT name, token FROM user ORDER BY id", "--json"))
        self.assertEqual([user["name"] for user in users], ["Ada", "Bo"])
        self.assertEqual([user["token"] for user in users], [row[0] for row in Bundle(REDACTED).store("users").query(
            "SELECT token FROM user ORDER BY id")])

    def test_history(self):
        for path in (ORDINARY, TWICE, KILLED):
            history = json.loads(self.tool("history", path, "--json"))
            self.assertEqual(history["store"], "ledger")
            changes = [
                [(table["inserted"], table["updated"], table["deleted"]) for table in transaction["changes"]["tables"]]
                for transaction in history["transactions"]]
            self.assertEqual(changes, [[], [(2, 0, 0)], [(0, 1, 0)], [(1, 0, 0)]], path)
        # Its statements tell which one made a transaction.
        self.assertIn("UPDATE account SET cents = 400 WHERE id = 1", self.tool("history", ORDINARY))
        self.assertIn("cannot be redacted", self.tool("history", REDACTED, status=66))

    def test_diff(self):
        def counts(*words):
            (table,) = json.loads(self.tool("diff", *words, "--json", status=1))["tables"]
            return table["name"], table["inserted"], table["updated"], table["deleted"]

        # What was not committed; between two states; between two bundles; between two snapshots.
        self.assertEqual(counts(ORDINARY), ("account", 0, 1, 1))
        self.assertEqual(counts(ORDINARY, KILLED, "--store", "ledger"), ("account", 1, 1, 0))
        self.assertEqual(
            counts(TWICE, "--store", "ledger", "--store", "snapshots/failure-2/ledger.sqlite"), ("account", 1, 0, 0))
        self.tool("diff", TWICE, KILLED)

    def test_extract(self):
        for path in [*ALONE, HOLDER]:
            target = self.directory / path.stem
            self.tool("extract", path, "-o", target)
            content = Bundle(path).contents
            files = {str(file.relative_to(target)): file for file in target.rglob("*") if file.is_file()}
            for name in content:
                if name.startswith(("stores/", "snapshots/", "statements/")):
                    self.assertEqual(files[name].read_bytes(), content[name], (path, name))

    def test_verify(self):
        for path in [*ALONE, HOLDER]:
            self.assertEqual(json.loads(self.tool("verify", path, "--json"))["problems"], [])


class SharedStores(OldBundles):
    """A bundle whose store is in another one: that is said, and what else is in it can be read."""

    def assertSaid(self, text):
        for part in ("stores/same.sqlite", SHARING.name, HOLDER.name, "older version"):
            self.assertIn(part, re.sub(r"\s+", " ", text))

    def test_holder(self):
        fruit = json.loads(self.tool("query", HOLDER, "SELECT name FROM fruit", "--json"))
        self.assertEqual(fruit, [{"name": "apple"}, {"name": "pear"}])

    def test_what_needs_the_store(self):
        query = ("query", SHARING, "SELECT name FROM fruit")
        for words in (query, ("diff", HOLDER, SHARING), ("open", SHARING, "--", ".tables"),
                      ("extract", SHARING, "-o", self.directory / "out")):
            self.assertSaid(self.tool(*words, status=66))
        self.assertSaid(self.tool("verify", SHARING, status=1))

    def test_what_does_not(self):
        text = self.tool("show", SHARING)
        self.assertIn("INSERT INTO fruit VALUES ('apple'), ('pear')", text)
        self.assertIn(HOLDER.name, text)
