"""A test that passed once and failed once: `explain --against` names the transaction and the line that differ.

Idiomatic tests close their stores, which checkpoints the WAL, so that the histories lack the first transactions.
"""

import json
import pathlib
import subprocess
import tempfile

from harness import SuiteCase, clean_environment, launch, read
from test_fleet import TOOL

SUITE = "GRDBSuite.ComparedRunTests/"
WRONG_LINE = "let taken = isWrong"


class ComparedRuns(SuiteCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="compared-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def bundle(self, name, outcome):
        """Runs a test and returns its bundle."""
        at = f"{name}-{outcome}"
        process = launch(
            SUITE + name, self.directory,
            {"COMPARED_RUN": "wrong" if outcome == "failed" else "", "FAILURE_ARTIFACTS_PASSING": "always",
             "FAILURE_ARTIFACTS_DIR": at})
        found = read(process, self.directory / at)
        self.assertEqual((found.warnings, len(found.bundles)), ([], 1), found.errors)
        self.assertEqual(found.bundles[0].metadata["outcome"], outcome)
        return found.bundles[0]

    def difference(self, name):
        """Runs a test twice. Returns both bundles' metadata of the store `stock`, and the finding."""
        passed, failed = self.bundle(name, "passed"), self.bundle(name, "failed")
        process = subprocess.run(
            [TOOL, "explain", "--json", "--against", passed.path, failed.path], capture_output=True, text=True,
            env=clean_environment("/tmp"), check=True)
        findings = json.loads(process.stdout)["findings"]
        (finding,) = [finding for finding in findings if finding["code"] == "difference-from-pass"]
        self.assertEqual(findings[0], finding)
        stores = [
            next(store for store in bundle.metadata["stores"] if store["name"] == "stock")
            for bundle in (passed, failed)]
        return *stores, finding

    def check_finding(self, finding, transaction, line=True):
        self.assertEqual(finding["confidence"], "likely")
        self.assertEqual(finding["transaction"], transaction)
        (row,) = finding["rows"]
        self.assertEqual(
            (row["table"], row["key"], row["change"], row["columns"]),
            ("product", {"id": 2}, "updated", {"stock": {"before": 20, "after": 15}}))
        self.assertTrue(finding["statement"]["sql"].startswith("UPDATE product SET stock = stock - ?"))
        self.assertIn("the passing run changed 1 row differently or in addition: product id = 2 updated "
                      "(stock 20 → 18)", finding["explanation"])
        if not line:
            return
        # The line after the wrong number executes the statement.
        source = pathlib.Path(__file__).parents[1] / "Suites" / finding["source"]["file"]
        self.assertIn(WRONG_LINE, source.read_text().splitlines()[finding["source"]["line"] - 2])

    def test_a_pool_that_tear_down_closes(self):
        """A passing test's store is captured before that."""
        passed, failed, finding = self.difference("testProperty")
        for store in (passed, failed):
            self.assertNotIn("reason", store["history"])
        self.check_finding(finding, 6)
        self.assertEqual(finding["title"], "Transaction 6 is the first one that differs from the passing run")

    def test_stores_that_were_closed_before_the_failure(self):
        for name in ("testClosedBefore", "testError"):
            with self.subTest(name):
                passed, failed, finding = self.difference(name)
                for store in (passed, failed):
                    self.assertNotIn("reason", store["history"])
                # An error has no file, which would tell the package root of the lines.
                self.check_finding(finding, 6, line=name != "testError")
                self.assertEqual(
                    finding["title"], "Transaction 6 is the first one that differs from the passing run")
