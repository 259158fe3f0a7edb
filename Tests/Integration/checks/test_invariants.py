"""Invariants, checked when a test fails and by `explain`, and the difference from a passing run."""

import json
import subprocess

from harness import SUITES, clean_environment, launch, read
from test_fleet import TOOL
from test_kit import PLACEMENTS, testing
from test_passing import ENOUGH, FEW, PassingCase, tool

TEST = "RawSuite.RetriedTests/testOpen"
FILES = {
    "apples.sql": "-- There are enough apples\nSELECT name, kilos FROM fruit WHERE name = 'apple' AND kilos < 4",
    "endless.sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
    "pears.sql": "-- There are pears\nSELECT 1 WHERE NOT EXISTS (SELECT 1 FROM fruit WHERE name = 'pear')",
    "two.sql": "SELECT name FROM fruit; DELETE FROM fruit",
    "write.sql": "DELETE FROM fruit",
}


class Case(PassingCase):
    def setUp(self):
        super().setUp()
        self.files = self.directory / "invariants"
        self.files.mkdir()

    def explained(self, bundle, *options):
        """The findings by their codes."""
        explanation = json.loads(tool("explain", bundle, "--all", "--json", *options))
        return {finding["code"]: finding for finding in explanation["findings"]}

    def write(self, *names):
        for name in names:
            (self.files / name).write_text(FILES[name])


class WhenATestFails(Case):
    """The tool checks the invariants that the environment names."""

    def failed(self, *names, **variables):
        self.write(*names)
        variables = {"FAILURE_ARTIFACTS_INVARIANTS": str(self.files), **variables}
        process = launch(TEST, self.directory, {"SUITE_KILOS": FEW, **variables})
        found = read(process, self.directory / "failure-artifacts")
        self.assertNotEqual(found.status, 0, found.errors)
        self.assertEqual(len(found.bundles), 1, found.errors)
        return found, found.bundles[0]

    def explanation(self, bundle):
        """What `explain` says with the variable, and without the option."""
        result = subprocess.run(
            [TOOL, "explain", bundle.path, "--all", "--json"], check=True, capture_output=True, text=True,
            env=clean_environment("/tmp", FAILURE_ARTIFACTS_INVARIANTS=str(self.files)))
        explanation = json.loads(result.stdout)
        return {finding["code"]: finding for finding in explanation["findings"]}, explanation.get("notes", [])

    def test_broken(self):
        _, bundle = self.failed("apples.sql", "pears.sql")
        findings, notes = self.explanation(bundle)
        self.assertIn("There are enough apples", findings["invariant-broken"]["title"])
        self.assertEqual(notes, [])
        page = self.directory / "page.html"
        subprocess.run(
            [TOOL, "report", bundle.path, "-o", page], check=True, capture_output=True,
            env=clean_environment("/tmp", FAILURE_ARTIFACTS_INVARIANTS=str(self.files)))
        self.assertIn("There are enough apples", page.read_text(encoding="utf-8"))
        # SQL never comes from a bundle.
        self.assertNotIn("invariant-broken", self.explained(bundle.path))

    def test_hostile(self):
        _, bundle = self.failed("apples.sql", "endless.sql", "two.sql", "write.sql")
        findings, notes = self.explanation(bundle)
        self.assertIn("There are enough apples", findings["invariant-broken"]["title"])
        for name in ("endless.sql", "two.sql", "write.sql"):
            self.assertEqual(len([note for note in notes if f"({name}) was not checked" in note]), 1, notes)
        self.assertTrue(any(note.endswith("it needs too many steps.") for note in notes), notes)
        self.assertEqual(self.rows(bundle)["open"], [("apple", 3), ("pear", 1)])

    def test_redacted(self):
        rules = self.directory / "rules.json"
        rules.write_text('{"columns": [{"table": "fruit", "column": "kilos", "method": "blank"}]}')
        _, bundle = self.failed("apples.sql", FAILURE_ARTIFACTS_REDACTIONS=str(rules))
        findings, notes = self.explanation(bundle)
        self.assertNotIn("invariant-broken", findings)
        self.assertTrue(any("redactions changed a table" in note for note in notes), notes)

    def test_no_directory(self):
        found, _ = self.failed(FAILURE_ARTIFACTS_INVARIANTS="nowhere")
        warning = "FAILURE_ARTIFACTS_INVARIANTS is 'nowhere', which is not a directory"
        self.assertEqual(found.errors.count(warning), 1)


class Explained(Case):
    def test_the_transaction_that_broke_it(self):
        self.write("apples.sql")
        [bundle] = self.attempt(TEST, FEW, passing="never").bundles
        finding = self.explained(bundle.path, "--invariants", self.files)["invariant-broken"]
        self.assertEqual(finding["confidence"], "certain")
        self.assertEqual(finding["transaction"], 2)
        self.assertTrue(finding["statement"]["sql"].startswith("INSERT INTO fruit"))
        # The line that called the wrapper.
        self.assertRegex(finding["source"]["file"], r"RawSuite/\w+Tests[.]swift$")
        self.assertIn(("fruit", {"name": "apple"}), [(row["table"], row["key"]) for row in finding["rows"]])

    def test_the_difference_from_a_passing_run(self):
        self.attempt(TEST, FEW, passing="retry")
        found = self.by_outcome(self.attempt(TEST, ENOUGH, passing="retry"))
        # The passing bundle lies beside the failing one.
        finding = self.explained(found["failed"].path)["difference-from-pass"]
        self.assertEqual((finding["confidence"], finding["transaction"]), ("likely", 2))
        self.assertEqual(finding["rows"], [{
            "table": "fruit", "key": {"name": "apple"}, "change": "inserted",
            "columns": {"name": {"before": None, "after": "apple"}, "kilos": {"before": None, "after": 3}}}])
        # The line that called the wrapper.
        self.assertRegex(finding["source"]["file"], r"RawSuite/\w+Tests[.]swift$")
        elsewhere = self.directory / "elsewhere.zip"
        found["failed"].path.rename(elsewhere)
        self.assertNotIn("difference-from-pass", self.explained(elsewhere))
        self.assertEqual(self.explained(elsewhere, "--against", found["passed"].path)["difference-from-pass"], finding)
        refused = subprocess.run(
            [TOOL, "explain", elsewhere, "--against", elsewhere], capture_output=True, text=True,
            env=clean_environment("/tmp"))
        self.assertEqual(refused.returncode, 64, refused.stderr)


class OfTheTestKit(Case):
    """A broken invariant fails the test, at the assertion or after the test."""

    def runs(self, selection, placement):
        (self.files / "cherry.sql").write_text(
            "-- There is no cherry\nSELECT name FROM fruit WHERE name = 'cherry'")
        directory = self.directory / placement
        directory.mkdir(exist_ok=True)
        process = launch(selection, directory, {
            "FAILURE_ARTIFACTS_TEST_STORES": placement, "FAILURE_ARTIFACTS_INVARIANTS": str(self.files)})
        return read(process, directory / "failure-artifacts")

    def test_broken(self):
        message = "The invariant 'There is no cherry' (cherry.sql) is broken by 1 row: name 'cherry'."
        for placement in PLACEMENTS:
            for selection, line in (("InvariantTests/testAssertion", 13), ("InvariantsAfterEachTests/testBroken", None)):
                with self.subTest(placement=placement, selection=selection):
                    [bundle] = self.runs(f"KitSuite.{selection}", placement).bundles[-1:]
                    [failure] = bundle.metadata["failures"]
                    self.assertIn(message, failure["message"])
                    if line:
                        self.assertTrue(failure["file"].endswith("KitSuite/InvariantTests.swift"))
                        self.assertEqual(failure["line"], line)
                    bundle.path.unlink()

    def test_broken_in_swift_testing(self):
        message = "The invariant 'There is no cherry' (cherry.sql) is broken by 1 row: name 'cherry'."
        found = self.runs(testing("KitFailures", "brokenInvariant"), "disk")
        [bundle] = found.bundles
        [failure] = bundle.metadata["failures"]
        self.assertNotEqual(found.status, 0)
        self.assertIn(message, failure["message"])
        self.assertTrue(failure["file"].endswith("KitSuite/SwiftTestingTests.swift"))
        lines = (SUITES / "Tests/KitSuite/SwiftTestingTests.swift").read_text().splitlines()
        self.assertIn("assertInvariants(of: store)", lines[failure["line"] - 1])

    def test_fulfilled(self):
        found = self.runs("KitSuite.InvariantsAfterEachTests/testFulfilled", "disk")
        self.assertEqual(found.status, 0, found.output)
