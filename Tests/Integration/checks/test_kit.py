"""The test kit's article, stores of another library, fixtures, and invariants.

`FailureArtifactsTestKitTests` has the rest.
"""

import contextlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import zipfile

from harness import PRODUCTS, ROOT, TOOL, SuiteCase, Store, clean_environment, fresh_directory, launch, read

PLACEMENTS = ("disk", "memory", "null")
HISTORY = ("--testing-library", "swift-testing", "--filter", r"^KitSuite\.HistoryTests/")
INVARIANTS = {
    "apples.sql": "-- There are enough apples\nSELECT name, kilos FROM fruit WHERE name = 'apple' AND kilos < 4",
    "pears.sql": "-- There are pears\nSELECT 1 WHERE NOT EXISTS (SELECT 1 FROM fruit WHERE name = 'pear')",
}


class KitCase(SuiteCase):
    def runs(self, selection, placement="disk"):
        """Runs tests, and checks that no store stays in the temporary directory."""
        with tempfile.TemporaryDirectory(prefix="kit ") as name:
            directory = pathlib.Path(name)
            environment = {"FAILURE_ARTIFACTS_TEST_STORES": placement}
            found = read(launch(selection, directory, environment), directory / "failure-artifacts")
            self.assertEqual([entry.name for entry in (directory / "tmp").iterdir()], [])
            return found

    def bundle(self, selection, placement="disk"):
        """The only bundle that the tests leave."""
        found = self.runs(selection, placement)
        self.assertNotEqual(found.status, 0)
        self.assertEqual(found.warnings, [])
        self.assertEqual(len(found.bundles), 1, found.errors)
        return found.bundles[0]


class Article(KitCase):
    """The code in TestKit.md."""

    TEXT = (ROOT / "Sources/FailureArtifacts/Documentation.docc/TestKit.md").read_text()
    SUITES = ("StationImportTests", "GameMigrationTests", "OrderTests", "FruitManagerTests")

    def test_tests_that_pass(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                found = self.runs(",".join(f"KitSuite.{suite}" for suite in self.SUITES), placement)
                self.assertEqual(found.status, 0, found.output + found.errors)
                self.assertIn("Executed 8 tests", found.output)
                self.assertTidy(found, 0)

    def test_test_that_leaves_rows_is_named(self):
        (message,) = self.bundle("KitSuite.ForgetfulTests").messages
        self.assertIn(message.removeprefix("failed - "), self.TEXT)
        self.assertIn("ForgetfulTests.test_果物を追加できる left the shared store 'fruits' changed", message)

    def test_failing_test_leaves_its_store(self):
        bundle = self.bundle("KitSuite.DepartureTests")
        self.assertIn("stores/departures.sqlite", bundle.contents)
        result = bundle.tool("query", "--csv", "SELECT train, delay FROM departure")
        self.assertEqual(result.returncode, 0, result.stderr)
        command = "$ failure-artifacts query DepartureTests --csv 'SELECT train, delay FROM departure'"
        self.assertIn(f"{command}\n{result.stdout}```", self.TEXT)


class Failures(KitCase):
    def test_grdb(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                bundle = self.bundle("KitSuite.FailingGRDBTests", placement)
                self.assertEqual(bundle.stem, "FailingGRDBTests.test_CoreData内の果物を更新できる")
                (entry,) = [store["entry"] for store in bundle.metadata["stores"] if not store["name"].endswith(".temp")]
                self.assertEqual(Store(bundle.contents[entry]).rows(), ["りんご"])


class Fixtures(KitCase):
    """From a bundle to a test that starts with its store."""

    def setUp(self):
        self.directory = fresh_directory(self)
        process = launch(HISTORY, self.directory, {})
        (self.captured,) = read(process, self.directory / "failure-artifacts").bundles

    def copy(self, framework):
        """The bundle, of a test of this framework."""
        path = self.directory / "copy.zip"
        with zipfile.ZipFile(self.captured.path) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
            for entry in source.infolist():
                content = source.read(entry)
                if entry.filename == "metadata.json":
                    metadata = json.loads(content)
                    metadata["test"]["framework"] = framework
                    content = json.dumps(metadata)
                target.writestr(entry, content)
        return path

    def extract(self, bundle, *options):
        target = self.directory / "Fixture"
        shutil.rmtree(target, ignore_errors=True)
        result = subprocess.run(
            [TOOL, "extract", str(bundle), "--fixture", "-o", str(target), *options],
            capture_output=True, text=True, env=clean_environment(self.directory), cwd=self.directory)
        self.assertEqual(result.returncode, 0, result.stderr)
        (script,) = (target / "Fixtures").iterdir()
        with contextlib.closing(sqlite3.connect(":memory:")) as db:
            db.executescript(script.read_text())
            return target, [name for (name,) in db.execute("SELECT name FROM fruit ORDER BY rowid")]

    def test_the_sources_compile(self):
        # The latter are those of Swift Build.
        maps = [*(ROOT / "Sources").glob("C*/module.modulemap"),
                *PRODUCTS.glob("CFailureArtifacts*.build/module.modulemap"),
                *PRODUCTS.parents[1].glob("Intermediates*/GeneratedModuleMaps*/CFailureArtifacts*.modulemap")]
        modules = ["-I", str(PRODUCTS / "Modules"), "-I", str(PRODUCTS)]
        modules += [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]
        for framework, options, rows in (
                ("XCTest", ["--at", "2"], ["apple"]), ("Swift Testing", [], ["apple", "pear", "plum"])):
            with self.subTest(framework=framework):
                target, found = self.extract(self.copy(framework), *options)
                self.assertEqual(found, rows)
                (source,) = target.glob("*.swift")
                # SwiftPM generates this accessor for a target with resources.
                source.write_text(
                    source.read_text() + "extension Bundle { static var module: Bundle { .main } }")
                result = subprocess.run(
                    ["swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", *modules,
                     "-module-name", "Fixtures", "-parse-as-library", str(source)], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class InvariantCase(SuiteCase):
    def setUp(self):
        self.directory = fresh_directory(self)
        self.files = self.directory / "invariants"
        self.files.mkdir()

    def write(self, *names):
        for name in names:
            (self.files / name).write_text(INVARIANTS[name])


class InvariantsWhenATestFails(InvariantCase):
    """The tool checks the invariants that the environment names."""

    def failed(self, *names, **variables):
        self.write(*names)
        variables = {"FAILURE_ARTIFACTS_INVARIANTS": str(self.files), **variables}
        process = launch("RawSuite.RetriedTests/testOpen", self.directory, {"SUITE_KILOS": "3", **variables})
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


class InvariantsOfTheTestKit(InvariantCase):
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
