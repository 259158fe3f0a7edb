"""The test kit: separate stores for tests, migrations, shared stores, and captured stores."""

import contextlib
import sqlite3
import pathlib
import shutil
import subprocess
import tempfile

from harness import NESTED_PRODUCTS, ROOT, SUITES, TOOL, SuiteCase, Store, clean_environment, launch, read

PLACEMENTS = ("disk", "memory", "null")


def testing(suite, name=None):
    """The options that select one suite of Swift Testing, or one test of it."""
    pattern = rf"^KitSuite\.{suite}/" + (rf"{name}\(" if name else "")
    return ("--testing-library", "swift-testing", "--filter", pattern)


class KitCase(SuiteCase):
    def runs(self, selection, placement="disk", **variables):
        """Runs tests, and checks that no store stays in the temporary directory."""
        with tempfile.TemporaryDirectory(prefix="kit ") as name:
            directory = pathlib.Path(name)
            environment = {"FAILURE_ARTIFACTS_TEST_STORES": placement, **variables}
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

    def stores(self, bundle):
        """The stores by their names in the bundle."""
        return {
            store["name"]: Store(bundle.contents[store["entry"]])
            for store in bundle.metadata["stores"] if not store["name"].endswith(".temp")}


class Examples(KitCase):
    """They pass with every placement of the stores, and leave no files."""

    def test_xctest(self):
        for placement in PLACEMENTS:
            for suite, count in (
                    ("FruitTests", 4), ("FruitLifetimeTests", 4), ("BoardGameTests", 6), ("StationTests", 5)):
                with self.subTest(placement=placement, suite=suite):
                    found = self.runs(f"KitSuite.{suite}", placement)
                    self.assertEqual(found.status, 0, found.output + found.errors)
                    self.assertIn(f"Executed {count} tests", found.output)
                    self.assertTidy(found, 0)

    def test_swift_testing(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                found = self.runs(testing("KitExamples"), placement)
                self.assertEqual(found.status, 0, found.output + found.errors)
                self.assertTidy(found, 0)

    def test_without_capture(self):
        found = self.runs("KitSuite.FruitTests", FAILURE_ARTIFACTS="off")
        self.assertEqual(found.status, 0, found.errors)

    def test_unknown_placement_is_said(self):
        found = self.runs("KitSuite.FruitTests", "tape")
        self.assertEqual(found.status, 0)
        self.assertEqual(len(found.warnings), 1)
        self.assertIn("FAILURE_ARTIFACTS_TEST_STORES is 'tape'", found.warnings[0])


class Failures(KitCase):
    """The bundle has a failing test's store at the failure time."""

    def fails(self, name, message, rows, placement):
        bundle = self.bundle(f"KitSuite.FailingTests/{name}", placement)
        self.assertEqual(bundle.stem, f"FailingTests.{name}")
        self.assertIn(message, bundle.messages[0])
        self.assertEqual(
            bundle.metadata["stores"][0]["storage"], "file" if placement == "disk" else "memory")
        (name, store), = self.stores(bundle).items()
        if placement != "null":
            self.assertEqual(name, "果物")
        self.assertEqual(store.rows(), rows)

    def test_assertion(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                self.fails("testAssertion", "by assertion", ["apple", "pear"], placement)

    def test_thrown_error(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                self.fails("testThrownError", "the apple is rotten", ["apple", "pear"], placement)

    def test_name_in_japanese(self):
        self.fails("test_CoreData内の果物を更新できる", 'text("みかん")', ["りんご"], "disk")

    def test_in_the_teardown(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                bundle = self.bundle("KitSuite.FailingTeardownTests", placement)
                (store,) = self.stores(bundle).values()
                self.assertEqual(store.rows(), ["teardown"])

    def test_grdb(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                (store,) = self.stores(self.bundle("KitSuite.FailingGRDBTests", placement)).values()
                self.assertEqual(store.rows(), ["りんご"])

    def test_store_that_cannot_be_opened(self):
        bundle = self.bundle("KitSuite.FailingOpenTests")
        (message,) = bundle.messages
        self.assertRegex(message, r"The store 'store' \(.*\) could not be opened for the test: ")
        self.assertIn('near "TABEL": syntax error', message)

    def test_store_that_cannot_be_closed(self):
        found = self.runs("KitSuite.FailingCloseTests")
        self.assertEqual(found.output.count("the stubborn store was closed"), 1)
        (bundle,) = found.bundles
        self.assertEqual(
            bundle.messages, ["failed - A store of the test could not be closed: the apple is rotten."])

    def test_content_that_cannot_be_put_in_place(self):
        found = self.runs("KitSuite.FailingContentTests")
        self.assertEqual(found.output.count("the stubborn store was closed"), 1)
        (bundle,) = found.bundles
        self.assertIn("could not be opened for the test: the apple is rotten.", bundle.messages[0])

    def test_registered_without_discovery(self):
        found = self.runs("KitSuite.FailingTests/testAssertion", FAILURE_ARTIFACTS_DISCOVERY="off")
        (bundle,) = found.bundles
        ((name, store),) = self.stores(bundle).items()
        self.assertEqual((name, store.rows()), ("果物", ["apple", "pear"]))

    def test_missing_resource(self):
        (message,) = self.bundle("KitSuite.MissingResourceTests").messages
        self.assertIn("There is no resource 'no-such-thing.sql' in", message)


class Article(KitCase):
    """The code for SQLite in CoreDataTests.md; `test_documents` compares it with the article."""

    TEXT = (ROOT / "Sources/FailureArtifacts/Documentation.docc/CoreDataTests.md").read_text()

    def test_tests_that_pass(self):
        for placement in PLACEMENTS:
            for suite, count in (
                    ("StationImportTests", 2), ("GameMigrationTests", 2), ("OrderTests", 1), ("FruitManagerTests", 3)):
                with self.subTest(placement=placement, suite=suite):
                    found = self.runs(f"KitSuite.{suite}", placement)
                    self.assertEqual(found.status, 0, found.output + found.errors)
                    self.assertIn(f"Executed {count} test", found.output)
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


class FailuresOfSwiftTesting(KitCase):
    framework = "Swift Testing"

    def test_expectation_and_thrown_error(self):
        for placement in PLACEMENTS:
            for name in ("expectation", "thrownError"):
                with self.subTest(placement=placement, name=name):
                    (store,) = self.stores(self.bundle(testing("KitFailures", name), placement)).values()
                    self.assertEqual(store.rows(), ["apple"])

    def test_store_that_was_closed_before(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                (store,) = self.stores(self.bundle(testing("KitFailures", "afterwards"), placement)).values()
                self.assertEqual(store.rows(), ["plum"])

    def test_opening(self):
        (message,) = self.bundle(testing("KitFailures", "opening")).messages
        self.assertIn("could not be opened for the test", message)

    def test_thrown_in_a_shared_store(self):
        # The next test may be faster than the report of the error, so the store is copied when the error is
        # thrown.
        bundle = self.bundle(testing("KitFailures", "thrownInSharedStore"))
        (snapshot,) = bundle.metadata["snapshots"]
        self.assertEqual(snapshot["label"], "thrown")
        store = Store(bundle.contents[snapshot["stores"][0]["entry"]])
        self.assertEqual(store.rows("line"), ["中央線"])

    def test_leak(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                bundle = self.bundle(testing("KitFailures", "leak"), placement)
                self.assertIn("KitFailures.leak left the shared store 'leaking' changed: line: 1 row inserted",
                              bundle.messages[0])
                (store,) = self.stores(bundle).values()
                self.assertEqual(store.rows("line"), ["山手線"])


class Migrations(KitCase):
    """The bundle has both stores, named after their versions, and the difference."""

    def columns(self, store):
        return [name for (name,) in store.query("SELECT name FROM pragma_table_info('game')")]

    def test_assertion(self):
        for placement in ("disk", "memory"):
            with self.subTest(placement=placement):
                bundle = self.bundle("KitSuite.FailingMigrationTests/testAssertion", placement)
                stores = self.stores(bundle)
                self.assertEqual(set(stores), {"App_V1", "App_V2"})
                self.assertIn("players", self.columns(stores["App_V1"]))
                self.assertEqual(
                    stores["App_V2"].query("SELECT title, minimumPlayers, maximumPlayers FROM game"),
                    [("Catan", 3, 4), ("Go", 2, 2)])
                text = bundle.contents["attachments/App_V1_to_App_V2.diff.txt"].decode()
                self.assertEqual(text.splitlines(), [
                    "App V1 -> App V2", "", "column game.minimumPlayers added",
                    "column game.maximumPlayers added", "column game.players removed"])

    def test_thrown_error_after_a_chain(self):
        for placement in ("disk", "memory"):
            with self.subTest(placement=placement):
                bundle = self.bundle("KitSuite.FailingMigrationTests/testThrownError", placement)
                self.assertEqual(set(self.stores(bundle)), {"App_V1", "App_V2", "App_V3"})
                text = bundle.contents["attachments/App_V2_to_App_V3.diff.txt"].decode()
                self.assertIn("rating: 2 rows inserted", text)
                self.assertIn("  + gameID: 1, stars: 3", text)

    def test_of_many_rows_the_first_are_shown(self):
        bundle = self.bundle("KitSuite.FailingMigrationTests/testManyRows")
        lines = bundle.contents["attachments/App_V1_to_App_V2.diff.txt"].decode().splitlines()
        self.assertIn("game: 60 rows inserted", lines)
        self.assertEqual(lines[-2:], ["  + id: 50", "  and 10 more rows"])

    def test_at_dev_null(self):
        bundle = self.bundle("KitSuite.FailingMigrationTests/testAssertion", "null")
        self.assertEqual(sorted(len(self.columns(store)) for store in self.stores(bundle).values()), [4, 5])

    def test_migration_that_fails(self):
        bundle = self.bundle("KitSuite.FailingMigrationTests/testMigrationThatFails")
        self.assertIn("The migration from 'App V1' to 'App V2' failed", bundle.messages[0])
        self.assertIn("no such table: gmae", bundle.messages[0])
        stores = self.stores(bundle)
        self.assertEqual(stores["App_V1"].query("SELECT count(*) FROM game"), [(2,)])
        self.assertEqual(stores["App_V2"].query("SELECT count(*) FROM game"), [(0,)])

    def test_what_a_test_keeps_is_not_left_to_the_next(self):
        found = self.runs("KitSuite.FailingMigrationTests")
        self.assertEqual(len(found.bundles), 4)
        for bundle in found.bundles:
            self.assertLessEqual(set(self.stores(bundle)), {"App_V1", "App_V2", "App_V3"})


class SharedStores(KitCase):
    def test_leaks_are_named_and_do_not_spread(self):
        for placement in PLACEMENTS:
            with self.subTest(placement=placement):
                found = self.runs("KitSuite.LeakingTests", placement)
                messages = {bundle.stem: bundle.messages for bundle in found.bundles}
                self.assertEqual(set(messages), {
                    "LeakingTests.testALeaks", "LeakingTests.testCLeavesATransaction",
                    "LeakingTests.testEHasFailedAlready"})
                self.assertIn(
                    "LeakingTests.testALeaks left the shared store 'leaking' changed: line: 1 row inserted, "
                    "sqlite_sequence: 1 row inserted.", messages["LeakingTests.testALeaks"][0])
                # They point to the declaration of the store, and not into the product.
                for bundle in found.bundles:
                    failure = bundle.metadata["failures"][-1]
                    if "left the shared store" in failure["message"]:
                        source = SUITES / "Tests" / "KitSuite" / "StationTests.swift"
                        self.assertTrue(failure["file"].endswith("KitSuite/StationTests.swift"), failure)
                        self.assertIn("leaking = SharedStore", source.read_text().splitlines()[failure["line"] - 1])
                self.assertIn("a transaction is open", messages["LeakingTests.testCLeavesATransaction"][0])
                self.assertEqual(len(messages["LeakingTests.testEHasFailedAlready"]), 1)
                leak, = (bundle for bundle in found.bundles if bundle.stem == "LeakingTests.testALeaks")
                (store,) = self.stores(leak).values()
                self.assertEqual(store.rows("line"), ["山手線"])


class Fixtures(KitCase):
    """From a bundle to a test that starts with its store."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="fixture ")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        process = launch(testing("HistoryTests"), self.directory, {})
        (self.captured,) = read(process, self.directory / "failure-artifacts").bundles

    def test_failure_and_commits(self):
        found = self.runs(testing("RestoredTests"), KIT_BUNDLE=str(self.captured.path))
        self.assertEqual(found.status, 0, found.output + found.errors)
        lines = sorted(line for line in found.output.splitlines() if line.startswith("restored"))
        self.assertEqual(
            lines,
            [f"restored {number}: integer({number - 1})" for number in range(1, 5)]
            + ['restored: text("apple,pear,plum")'])

    def test_in_memory(self):
        for placement in ("memory", "null"):
            found = self.runs(testing("RestoredTests", "failure"), placement, KIT_BUNDLE=str(self.captured.path))
            self.assertEqual(found.status, 0, found.output + found.errors)
            self.assertIn('restored: text("apple,pear,plum")', found.output)

    def test_by_name(self):
        found = self.runs(testing("RestoredTests", "byName"), KIT_BUNDLE=str(self.captured.path))
        self.assertEqual(found.status, 0, found.output + found.errors)

    def test_no_such_bundle(self):
        found = self.runs(testing("RestoredTests", "failure"), KIT_BUNDLE="/nowhere.zip")
        self.assertNotEqual(found.status, 0)
        self.assertIn("There is nothing at '/nowhere.zip'.", found.output + found.errors)

    def extract(self, *options):
        target = self.directory / "Fixture"
        shutil.rmtree(target, ignore_errors=True)
        result = subprocess.run(
            [TOOL, "extract", str(self.captured.path), "--fixture", "-o", str(target), *options],
            capture_output=True, text=True, env=clean_environment(self.directory), cwd=self.directory)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('resources: [.copy("Fixtures")]', result.stderr)
        files = {str(path) for path in target.rglob("*") if path.is_file()}
        self.assertEqual(set(result.stdout.splitlines()), files)
        return target

    def rows(self, target):
        """Runs the fixture's script, and returns the names of the fruits."""
        (script,) = (target / "Fixtures").iterdir()
        with contextlib.closing(sqlite3.connect(":memory:")) as db:
            db.executescript(script.read_text())
            return [name for (name,) in db.execute("SELECT name FROM fruit ORDER BY rowid")]

    def test_the_folder(self):
        target = self.extract()
        self.assertEqual(
            sorted(path.name for path in target.iterdir()), ["Fixtures", "HistoryTestsTransactionsFixture.swift"])
        self.assertEqual(self.rows(target), ["apple", "pear", "plum"])
        source = (target / "HistoryTestsTransactionsFixture.swift").read_text()
        self.assertIn("@Test func transactions() throws", source)
        self.assertIn("as it was at the failure", source)
        early = self.extract("--at", "2", "--framework", "xctest")
        self.assertEqual(self.rows(early), ["apple"])
        source = (early / "HistoryTestsTransactionsFixture.swift").read_text()
        self.assertIn("func test_transactions() throws", source)
        self.assertIn("as it was after transaction 2 of 4", source)

    def test_the_sources_compile(self):
        # The latter are those of Swift Build.
        maps = [*(ROOT / "Sources").glob("C*/module.modulemap"),
                *NESTED_PRODUCTS.glob("CFailureArtifacts*.build/module.modulemap"),
                *NESTED_PRODUCTS.parents[1].glob("Intermediates*/GeneratedModuleMaps*/CFailureArtifacts*.modulemap")]
        modules = ["-I", str(NESTED_PRODUCTS / "Modules"), "-I", str(NESTED_PRODUCTS)]
        modules += [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]
        for framework in ("xctest", "testing"):
            with self.subTest(framework=framework):
                target = self.extract("--framework", framework)
                (source,) = target.glob("*.swift")
                # SwiftPM generates this accessor for a target with resources.
                source.write_text(
                    source.read_text() + "extension Bundle { static var module: Bundle { .main } }")
                result = subprocess.run(
                    ["swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", *modules,
                     "-module-name", "Fixtures", "-parse-as-library", str(source)], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
