"""The test kit's article, stores of another library, and fixtures. `FailureArtifactsTestKitTests` has the rest."""

import contextlib
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

from harness import NESTED_PRODUCTS, ROOT, TOOL, SuiteCase, Store, clean_environment, launch, read

PLACEMENTS = ("disk", "memory", "null")
HISTORY = ("--testing-library", "swift-testing", "--filter", r"^KitSuite\.HistoryTests/")


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
    """The code for SQLite in CoreDataTests.md; `test_documents` compares it with the article."""

    TEXT = (ROOT / "Sources/FailureArtifacts/Documentation.docc/CoreDataTests.md").read_text()
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
        directory = tempfile.TemporaryDirectory(prefix="fixture ")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        process = launch(HISTORY, self.directory, {})
        (self.captured,) = read(process, self.directory / "failure-artifacts").bundles

    def extract(self, *options):
        target = self.directory / "Fixture"
        shutil.rmtree(target, ignore_errors=True)
        result = subprocess.run(
            [TOOL, "extract", str(self.captured.path), "--fixture", "-o", str(target), *options],
            capture_output=True, text=True, env=clean_environment(self.directory), cwd=self.directory)
        self.assertEqual(result.returncode, 0, result.stderr)
        (script,) = (target / "Fixtures").iterdir()
        with contextlib.closing(sqlite3.connect(":memory:")) as db:
            db.executescript(script.read_text())
            return target, [name for (name,) in db.execute("SELECT name FROM fruit ORDER BY rowid")]

    def test_the_sources_compile(self):
        # The latter are those of Swift Build.
        maps = [*(ROOT / "Sources").glob("C*/module.modulemap"),
                *NESTED_PRODUCTS.glob("CFailureArtifacts*.build/module.modulemap"),
                *NESTED_PRODUCTS.parents[1].glob("Intermediates*/GeneratedModuleMaps*/CFailureArtifacts*.modulemap")]
        modules = ["-I", str(NESTED_PRODUCTS / "Modules"), "-I", str(NESTED_PRODUCTS)]
        modules += [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]
        for options, rows in (
                (["--framework", "xctest", "--at", "2"], ["apple"]), (["--framework", "testing"], ["apple", "pear", "plum"])):
            with self.subTest(options=options):
                target, found = self.extract(*options)
                self.assertEqual(found, rows)
                (source,) = target.glob("*.swift")
                # SwiftPM generates this accessor for a target with resources.
                source.write_text(
                    source.read_text() + "extension Bundle { static var module: Bundle { .main } }")
                result = subprocess.run(
                    ["swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", *modules,
                     "-module-name", "Fixtures", "-parse-as-library", str(source)], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
