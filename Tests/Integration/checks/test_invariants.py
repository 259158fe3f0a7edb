"""Invariants, checked when a test fails and by `explain`, and the difference from a passing run."""

import json
import subprocess

from harness import clean_environment, launch, read
from test_fleet import TOOL
from test_kit import PLACEMENTS
from test_passing import FEW, PassingCase

TEST = "RawSuite.RetriedTests/testOpen"
FILES = {
    "apples.sql": "-- There are enough apples\nSELECT name, kilos FROM fruit WHERE name = 'apple' AND kilos < 4",
    "pears.sql": "-- There are pears\nSELECT 1 WHERE NOT EXISTS (SELECT 1 FROM fruit WHERE name = 'pear')",
}


class Case(PassingCase):
    def setUp(self):
        super().setUp()
        self.files = self.directory / "invariants"
        self.files.mkdir()

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

    def explanation(self, bundle, **variables):
        """What `explain` says with the variable, or with others."""
        result = subprocess.run(
            [TOOL, "explain", bundle.path, "--all", "--json"], check=True, capture_output=True, text=True,
            env=clean_environment("/tmp", **(variables or {"FAILURE_ARTIFACTS_INVARIANTS": str(self.files)})))
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
        self.assertNotIn("invariant-broken", self.explanation(bundle, NONE="")[0])

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

    def test_fulfilled(self):
        found = self.runs("KitSuite.InvariantsAfterEachTests/testFulfilled", "disk")
        self.assertEqual(found.status, 0, found.output)
