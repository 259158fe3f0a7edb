"""Capturing passing tests on request: a failed attempt beside a passing one, and their difference."""

import json
import pathlib
import subprocess

from harness import SUITES, Store, SuiteCase, clean_environment, fresh_directory, label, launch, read, timeless
from test_fleet import TOOL
from test_testing import only

FEW, ENOUGH, LATE = "3", "4", "5"
APPLES = {kilos: [("apple", int(kilos)), ("pear", 1)] for kilos in (FEW, ENOUGH, LATE)}


class PassingCase(SuiteCase):
    def setUp(self):
        self.directory = fresh_directory(self)

    def attempt(self, selection, kilos, passing="retry", at="failure-artifacts", **variables):
        """Runs a test again in the same directory, and reads its artifacts directory."""
        process = launch(
            selection, self.directory,
            {"SUITE_KILOS": kilos, "FAILURE_ARTIFACTS_PASSING": passing, "FAILURE_ARTIFACTS_DIR": at, **variables})
        found = read(process, self.directory / at)
        self.assertEqual(found.status != 0, kilos != ENOUGH, found.errors)
        self.assertEqual(found.warnings, [])
        if found.left:
            self.assertEqual(found.in_flight, [])
            for bundle in found.bundles:
                self.check(bundle, outcome=bundle.metadata["outcome"])
        return found

    def rows(self, bundle):
        """The rows of all stores that have any."""
        stores = {
            label(store): Store(bundle.contents[store["entry"]]).query("SELECT * FROM fruit ORDER BY rowid")
            for store in bundle.metadata["stores"]}
        return {name: rows for name, rows in stores.items() if rows}

    def by_outcome(self, found):
        outcomes = {bundle.metadata["outcome"]: bundle for bundle in found.bundles}
        self.assertEqual(len(outcomes), len(found.bundles))
        return outcomes


class XCTestRetries(PassingCase):
    def test_retries(self):
        for name, store in {
            # What tearDown removes, what was closed and deleted before, and so on.
            "testOpen": "open", "testClosed": "closed", "testMemory": "memory", "testAsynchronous": "open",
        }.items():
            with self.subTest(name):
                self.retried(name, store, f"artifacts-{name}")

    def retried(self, name, store, at):
        selection = f"RawSuite.RetriedTests/{name}"
        self.assertEqual(len(self.attempt(selection, FEW, at=at).bundles), 1)
        found = self.by_outcome(self.attempt(selection, ENOUGH, at=at))
        self.assertEqual(set(found), {"failed", "passed"})
        self.assertEqual(self.rows(found["failed"]), {store: APPLES[FEW]})
        self.assertEqual(self.rows(found["passed"]), {store: APPLES[ENOUGH]})
        self.assertEqual(found["passed"].stem, f"RetriedTests.{name}-passed")
        self.assertEqual(found["passed"].messages, [])
        self.assertNotEqual(
            found["failed"].metadata["fingerprint"], found["passed"].metadata["fingerprint"])
        # It is captured once.
        self.assertEqual(len(self.attempt(selection, ENOUGH, at=at).bundles), 2)
        # A test that never failed is not captured.
        self.assertEqual(len(self.attempt("RawSuite.RetriedTests", ENOUGH, at=at).bundles), 2)

    def test_off(self):
        for passing in ("", "never"):
            found = self.attempt("RawSuite.RetriedTests", ENOUGH, passing=passing)
            self.assertIsNone(found.left)

    def test_always_and_skipped(self):
        found = self.attempt("RawSuite.RetriedTests", ENOUGH, passing="always")
        self.assertEqual(
            sorted(bundle.stem for bundle in found.bundles),
            [f"RetriedTests.test{name}-passed" for name in ("Asynchronous", "Closed", "Memory", "Open")])
        self.assertEqual({bundle.metadata["outcome"] for bundle in found.bundles}, {"passed"})
        without = launch("RawSuite.RetriedTests", self.directory, {"FAILURE_ARTIFACTS": "off"})
        self.assertEqual(timeless(found.output), timeless(without.stdout))
        self.assertEqual(found.others, without.stderr.splitlines())

    def test_failing_in_tear_down(self):
        """It counts as a failure, with the stores' content at that time."""
        found = self.attempt("RawSuite.RetriedTests/testOpen", LATE, passing="always")
        (bundle,) = found.bundles
        self.assertEqual(bundle.metadata["outcome"], "failed")
        self.assertIn("in tearDown", bundle.messages[0])
        self.assertEqual(self.rows(bundle), {"open": APPLES[LATE]})

    def test_a_crash_is_an_earlier_failure(self):
        """A dead process's outputs are packed before the next process decides."""
        selection = "RawSuite.RetriedTests/testOpen"
        process = launch(
            selection, self.directory,
            {"SUITE_KILOS": "crash", "FAILURE_ARTIFACTS_DIR": "failure-artifacts"})
        self.assertLess(process.returncode, 0)
        found = self.by_outcome(self.attempt(selection, ENOUGH))
        self.assertEqual(set(found), {"crashed", "passed"})


class TestingRetries(PassingCase):
    framework = "Swift Testing"

    def test_retried(self):
        for suite, name in (("RetriedTests", "closed"), ("RetriedTests", "argument")):
            with self.subTest(name):
                selection, at = only(suite, name), f"artifacts-{name}"
                self.assertEqual(len(self.attempt(selection, FEW, at=at).bundles), 1)
                bundles = self.attempt(selection, ENOUGH, at=at).bundles
                (failed,) = (bundle for bundle in bundles if bundle.metadata["outcome"] == "failed")
                passed = [bundle for bundle in bundles if bundle.metadata["outcome"] == "passed"]
                self.assertEqual(self.rows(failed), {"fruit": APPLES[FEW]})
                # The name of another process's bundle doesn't tell with which argument the test failed.
                self.assertEqual(len(passed), 2 if name == "argument" else 1)
                arguments = failed.metadata["test"].get("arguments")
                (same,) = (one for one in passed if one.metadata["test"].get("arguments") == arguments)
                self.assertEqual(self.rows(same), {"fruit": APPLES[ENOUGH]})
                self.assertEqual(same.stem, f"RetriedTests.{name}-passed")

    def test_always_and_cancelled(self):
        found = self.attempt(only("RetriedTests"), ENOUGH, passing="always")
        self.assertEqual(
            sorted(bundle.stem for bundle in found.bundles),
            ["RetriedTests.argument-passed"] * 2 + ["RetriedTests.closed-passed"])

    def test_in_one_process(self):
        """The test is repeated, and fails the first time."""
        selection = (
            "--testing-library", "swift-testing", "--repetitions", "2", "--filter", r"^TestingSuite\.twice\(")
        found = self.attempt(selection, FEW)
        outcomes = self.by_outcome(found)
        self.assertEqual(self.rows(outcomes["failed"]), {"fruit": [("apple",)]})
        self.assertEqual(self.rows(outcomes["passed"]), {"fruit": [("apple",), ("pear",)]})
        self.assertEqual(outcomes["failed"].metadata["test"]["attempt"], 1)
        self.assertEqual(outcomes["passed"].metadata["test"]["attempt"], 2)


class PassedSinceCase(PassingCase):
    """Without a bundle of the passing run, the process records that the test has passed."""

    def lead(self, selections):
        """Fails two tests, and lets the second one pass. Returns the names of its bundles."""
        for selection in selections:
            self.attempt(selection, FEW, passing="never")
        first, second = self.attempt(selections[1], ENOUGH, passing="never").bundles
        return first.path.name, second.path.name

    def listed(self):
        """The names of bundles whose tests have passed since, and of the others."""
        lines = [json.loads(line) for line in self.tool("list", "--json").stdout.splitlines()]
        return [
            {pathlib.Path(line["bundle"]).name for line in lines if line.get("passedSince", False) == passed}
            for passed in (True, False)]

    def tool(self, *arguments):
        process = subprocess.run(
            [TOOL, *arguments], cwd=self.directory, capture_output=True, text=True, env=clean_environment("/tmp"))
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def passes(self, selections, tests):
        names = self.lead(selections)
        passed, others = self.listed()
        (old,) = (name for name in names if tests[1] in name)
        (new,) = (name for name in names if tests[0] in name)
        self.assertEqual((passed, others), ({old}, {new}))
        text = self.tool("list").stdout
        self.assertLess(text.index("Passed since"), text.index(old))
        self.assertLess(text.index(old), text.index(new))
        for command in ("explain", "show"):
            found = json.loads(self.tool(command, "--json").stdout)
            self.assertEqual(pathlib.Path(found["bundle"]).name, new)
        # It fails again.
        again = self.attempt(selections[1], FEW, passing="never").bundles
        (newest,) = {bundle.path.name for bundle in again} - {old, new}
        self.assertEqual(self.listed(), [{old}, {new, newest}])
        self.assertEqual(pathlib.Path(json.loads(self.tool("show", "--json").stdout)["bundle"]).name, newest)


class PassedSince(PassedSinceCase):
    def test_xctest(self):
        self.passes(
            ["RawSuite.RetriedTests/testOpen", "RawSuite.RetriedTests/testMemory"], ["testOpen", "testMemory"])

    def test_a_crash(self):
        """Its bundle is made while the process runs in which the test passes."""
        selection = "RawSuite.RetriedTests/testOpen"
        process = launch(
            selection, self.directory, {"SUITE_KILOS": "crash", "FAILURE_ARTIFACTS_DIR": "failure-artifacts"})
        self.assertLess(process.returncode, 0)
        found = self.attempt(selection, ENOUGH, passing="never")
        self.assertEqual([bundle.metadata["outcome"] for bundle in found.bundles], ["crashed"])
        self.assertEqual(self.listed(), [{found.bundles[0].path.name}, set()])

    def test_a_skipped_test_has_not_passed(self):
        """It crashes before it is skipped."""
        selection = "RawSuite.RetriedTests/testSkipped"
        launch(selection, self.directory, {"SUITE_KILOS": "crash", "FAILURE_ARTIFACTS_DIR": "failure-artifacts"})
        found = self.attempt(selection, ENOUGH, passing="never")
        self.assertEqual([bundle.metadata["outcome"] for bundle in found.bundles], ["crashed"])
        self.assertEqual(self.listed(), [set(), {found.bundles[0].path.name}])

    def test_without_failures_nothing_is_left(self):
        self.assertIsNone(self.attempt("RawSuite.RetriedTests", ENOUGH, passing="never").left)


class PassedSinceOfSwiftTesting(PassedSinceCase):
    framework = "Swift Testing"

    def test_swift_testing(self):
        self.passes([only("RetriedTests", "argument"), only("RetriedTests", "closed")], ["argument", "closed"])

    def test_a_parameterized_test(self):
        """The bundles of its cases can't be told apart by their names, so nothing is recorded."""
        (bundle,) = self.attempt(only("RetriedTests", "argument"), FEW, passing="never").bundles
        self.attempt(only("RetriedTests", "argument"), ENOUGH, passing="never")
        self.assertEqual(self.listed(), [set(), {bundle.path.name}])


class ComparedRuns(PassingCase):
    """`explain --against` names the statement and the line in which a failing run differs from a passing one."""

    def bundle(self, name, outcome):
        """Runs a test and returns its bundle."""
        at = f"{name}-{outcome}"
        process = launch(
            "GRDBSuite.ComparedRunTests/" + name, self.directory,
            {"COMPARED_RUN": "wrong" if outcome == "failed" else "", "FAILURE_ARTIFACTS_PASSING": "always",
             "FAILURE_ARTIFACTS_DIR": at})
        found = read(process, self.directory / at)
        self.assertEqual((found.warnings, len(found.bundles)), ([], 1), found.errors)
        self.assertEqual(found.bundles[0].metadata["outcome"], outcome)
        return found.bundles[0]

    def test_first_statement_that_differs(self):
        # A pool that tearDown closes, one that was closed before the assertion, and one that an error closes.
        for name in ("testProperty", "testClosedBefore", "testError"):
            with self.subTest(name):
                passed, failed = self.bundle(name, "passed"), self.bundle(name, "failed")
                for bundle in (passed, failed):
                    (store,) = [store for store in bundle.metadata["stores"] if store["name"] == "stock"]
                    self.assertNotIn("reason", store["history"])
                process = subprocess.run(
                    [TOOL, "explain", "--json", "--against", passed.path, failed.path], capture_output=True, text=True,
                    env=clean_environment("/tmp"), check=True)
                finding, *others = json.loads(process.stdout)["findings"]
                self.assertEqual((finding["code"], finding["confidence"]), ("difference-from-pass", "likely"))
                self.assertNotIn(finding["code"], [other["code"] for other in others])
                # An error has no file, which would tell the package root of the lines.
                self.check_finding(finding, has_line=name != "testError")

    def check_finding(self, finding, has_line):
        self.assertEqual(finding["transaction"], 6)
        self.assertEqual(finding["title"], "UPDATE product has the value 5, not 2 as when this test passed")
        (row,) = finding["rows"]
        self.assertEqual(
            (row["table"], row["key"], row["change"], row["columns"]),
            ("product", {"id": 2}, "updated", {"stock": {"before": 20, "after": 15}}))
        self.assertTrue(finding["statement"]["sql"].startswith("UPDATE product SET stock = stock - ?"))
        for run, number in (("then", 2), ("now", 5)):
            self.assertEqual(finding[run], f"UPDATE product SET stock = stock - «{number}» WHERE id = 2")
        if has_line:
            # The line after the wrong number executes the statement.
            source = SUITES / finding["source"]["file"]
            self.assertIn("let taken = isWrong", source.read_text().splitlines()[finding["source"]["line"] - 2])
