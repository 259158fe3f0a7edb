"""The handling of GRDB's sources, XCTest's output and sanitizer reports by `Scripts/soak`."""

import argparse
import collections
import contextlib
import io
import pathlib
import random
import sys
import tempfile
import unittest

from harness import ROOT

sys.path.append(str(ROOT / "Scripts/lib"))

import grdb  # noqa: E402
import sanitizers  # noqa: E402
import soak  # noqa: E402
from xctest_log import Log  # noqa: E402


class Sources(unittest.TestCase):
    def test_every_test_ends_with_a_failure(self):
        source = """\
import XCTest

private final class FruitTests: XCTestCase {
    func testNothing() {
    }

    @MainActor func testPicking() async throws {
        if ripe {
            return
        }
        func test(_ fruit: Fruit) {
        }
        test(apple)
    }

    func helper() {
    }
}
"""
        changed = """\
import XCTest

private final class FruitTests: FailingTestCase {
    func testNothing() {
        injectFailure()
    }

    @MainActor func testPicking() async throws {
        if ripe {
            return
        }
        func test(_ fruit: Fruit) {
        }
        test(apple)
        injectFailure()
    }

    func helper() {
    }
}
"""
        self.assertEqual(grdb.with_failures(source), changed)

    def test_profiled_statements_have_fewer_rows(self):
        source = "VALUES(1) UNION ALL SELECT x+1 FROM cnt WHERE x<{})\n"
        self.assertEqual(grdb.with_fewer_rows(source.format(10_000_000)), source.format(100_000))
        with self.assertRaisesRegex(grdb.Failure, "tests have changed"):
            grdb.with_fewer_rows(source.format(1_000))

    def test_the_manifest(self):
        text = ("let dependencies: [Package.Dependency] = []\n    .macOS(.v10_15),\n"
                + grdb.GRDB_TESTS + "\n            dependencies: [\"GRDB\"]),\n")
        self.assertEqual(grdb.manifest(text, linked=False), text.replace(".v10_15", ".v13"))
        linked = grdb.manifest(text, linked=True)
        self.assertIn(f'[.package(name: "failure-artifacts", path: "{grdb.ROOT}")]', linked)
        self.assertEqual(linked.count(".testTarget("), 2)
        with self.assertRaisesRegex(grdb.Failure, "manifest has changed"):
            grdb.manifest(text.replace("GRDBTests", "OtherTests"), linked=True)


class Logs(unittest.TestCase):
    def test_results_and_failures(self):
        log = Log("""\
Test Case 'FruitTests.testPicking' started at 2026-01-01 00:00:00.000
/src/FruitTests.swift:4: error: FruitTests.testPicking : XCTAssertEqual failed: ("1") is not equal to ("2") -\x20
/src/FruitTests.swift:9: error: FruitTests.testPicking : failed - injected
Test Case 'FruitTests.testPicking' failed (0.001 seconds)
<EXPR>:0: error: FruitTests.testEating : threw error "rotten"
Test Case 'FruitTests.testEating' failed (0.0 seconds)
Test Case 'FruitTests.testLater' skipped (0.0 seconds)
Test Case '-[Module.FruitTests testOnApple]' passed (0.0 seconds).
""")
        self.assertEqual(log.ended, [
            ("FruitTests.testPicking", "failed"), ("FruitTests.testEating", "failed"),
            ("FruitTests.testLater", "skipped"), ("FruitTests.testOnApple", "passed")])
        self.assertEqual(log.failures["FruitTests.testPicking"][1], "failed - injected")
        self.assertEqual(log.failures["FruitTests.testEating"], ['threw error "rotten"'])


THREAD = f"""\
==================
WARNING: ThreadSanitizer: data race (pid=17)
  Write of size 8 at 0x7b04 by thread T3:
    #0 $s4GRDB5yieldyyF /tmp/GRDB/Pool.swift:12:5 (suite.xctest+0x1)
    #1 <null> <null> (libdispatch.so+0x2)

  Previous read of size 8 at 0x7b04 by main thread:
    #0 {{}} /tmp/GRDB/Queue.swift:7 (suite.xctest+0x3)

SUMMARY: ThreadSanitizer: data race /tmp/GRDB/Pool.swift:12:5
==================
"""
ADDRESS = """\
=================================================================
==17==ERROR: AddressSanitizer: heap-use-after-free on address 0x602 at pc 0x1 bp 0x2 sp 0x3
READ of size 1 at 0x602 thread T0
    #0 0x55 in memcpy (suite.xctest+0x1)
    #1 0x56 in {} (suite.xctest+0x2)
"""


class Reports(unittest.TestCase):
    def read(self, *texts):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "reports")
            for number, text in enumerate(texts):
                path.with_suffix(f".{number}").write_text(text)
            return sanitizers.reports(path)

    def test_which_are_ours(self):
        [theirs, by_name] = self.read(
            THREAD.format("$s4GRDB5queueyyF"), THREAD.format("$s24FailureArtifactsCapture0A0C3addyyF"))
        [by_path, of_c] = self.read(
            THREAD.format("main").replace("/tmp/GRDB/Queue", f"{ROOT}/Sources/X"),
            ADDRESS.format("failure_artifacts_trace"))
        # GRDB's path doesn't matter.
        [elsewhere] = self.read(THREAD.format("main").replace("/tmp/GRDB", f"{ROOT}/.build/soak/failure-artifacts"))
        self.assertEqual([report.is_ours for report in (theirs, by_name, by_path, of_c, elsewhere)],
                         [False, True, True, True, False])

    def test_what_they_are_about(self):
        [report] = self.read(THREAD.format("main") + THREAD.format("main"))[1:]
        self.assertEqual(report.place, "data race: Pool.swift:12 < Queue.swift:7")
        [report] = self.read(ADDRESS.format("main"))
        self.assertEqual(report.place, "heap-use-after-free: memcpy (suite.xctest+0x1)")


class Significance(unittest.TestCase):
    def test_exact_test(self):
        # The lady tasting tea, and counts with an exact sum.
        self.assertAlmostEqual(soak.fisher(3, 4, 1, 4), 34 / 70)
        self.assertAlmostEqual(soak.fisher(4, 4, 0, 4), 2 / 70)
        self.assertAlmostEqual(soak.fisher(14, 20, 20, 20), 0.0202, places=4)
        self.assertAlmostEqual(soak.fisher(1, 10, 11, 14), 0.0028, places=4)
        for same in ((0, 20, 0, 20), (20, 20, 20, 20), (7, 20, 7, 20)):
            self.assertEqual(soak.fisher(*same), 1)

    def test_more_than_two_results(self):
        p = soak.p_value(
            collections.Counter(passed=10, failed=5, died=5), collections.Counter(passed=10, failed=10))
        self.assertAlmostEqual(p, 3 * soak.fisher(5, 20, 0, 20))
        self.assertEqual(soak.p_value(collections.Counter(failed=20), collections.Counter(failed=20)), 1)

    def repeat(self, chances, seed=1):
        """Runs a randomly failing test on each side. Returns the result and the order of the sides."""
        source, order = random.Random(seed), []

        def run(variant):
            order.append(variant)
            return "failed" if source.random() < chances[variant] else "passed"

        return *soak.repeat(run), order

    def test_both_sides_take_turns(self):
        counts, _, _, order = self.repeat({"without": 0.7, "with": 0.7})
        self.assertEqual(len(order), 2 * soak.ROUNDS * soak.REPETITIONS)
        self.assertEqual([found.total() for found in counts.values()], [soak.ROUNDS * soak.REPETITIONS] * 2)
        for number in range(0, len(order), 4):
            self.assertEqual(order[number:number + 4], ["without", "with", "with", "without"])

    def test_a_race_is_no_difference(self):
        wrong = sum(self.repeat({"without": 0.7, "with": 0.7}, seed)[2] for seed in range(300))
        self.assertLessEqual(wrong, 300 * soak.ALPHA)

    def test_a_difference_is_found(self):
        for chances in ({"without": 0, "with": 1}, {"without": 0.7, "with": 1}, {"without": 0.9, "with": 0.4}):
            found = [self.repeat(chances, seed) for seed in range(100)]
            self.assertGreater(sum(differs for _, _, differs, _ in found), 95, chances)
        # A clear difference takes one round.
        self.assertEqual(len(self.repeat({"without": 0, "with": 1})[3]), 2 * soak.REPETITIONS)

    def test_what_is_always_the_same_takes_one_round(self):
        _, p, differs, order = self.repeat({"without": 1, "with": 1})
        self.assertEqual((p, differs, len(order)), (1, False, 2 * soak.REPETITIONS))


class Soaking(soak.Soak):
    """A soak whose tests have given results."""

    def __init__(self, directory, together, alone):
        super().__init__(argparse.Namespace(failing=False, sanitize=None, configuration="debug"))
        self.directory, self.together, self.alone = pathlib.Path(directory), together, alone
        self.runs = []

    def file(self, variant, what):
        return self.directory / f"{variant}.{what}"

    def build(self):
        pass

    def check_bundles(self):
        pass

    def execute(self, variant, log, tests=None):
        results = self.together[variant]
        if tests:
            self.runs.append(variant)
            results = {test: next(self.alone[variant]) for test in tests}
        log.write_text("".join(f"Test Case '{name}' {result} (0.1 seconds)\n" for name, result in results.items()))
        return int("failed" in results.values()), 0, Log(log.read_text())

    def says(self):
        """True if there is no difference, and the whole output."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            return self.all(), output.getvalue()


class Comparisons(unittest.TestCase):
    def soak(self, together, **alone):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return Soaking(directory.name, together, {side: iter(results) for side, results in alone.items()})

    def racy(self, failures):
        """A hundred results with `failures` failures in each twenty."""
        return (["failed"] * failures + ["passed"] * (20 - failures)) * 5

    def test_a_racy_test_is_no_difference(self):
        """14 and 20 of 20, as observed once, then 14 and 14."""
        soaking = self.soak(
            {"without": {"T.race": "passed", "T.fine": "passed"}, "with": {"T.race": "failed", "T.fine": "passed"}},
            without=self.racy(14), **{"with": ["failed"] * 20 + self.racy(14)})
        is_same, said = soaking.says()
        self.assertTrue(is_same, said)
        self.assertIn("70 failed, 30 passed without the product; 76 failed, 24 passed with the product", said)
        self.assertIn("no significant difference", said)
        self.assertEqual(soaking.runs[:4], ["without", "with", "with", "without"])

    def test_a_difference_is_reported_with_its_counts(self):
        soaking = self.soak(
            {"without": {"T.broken": "passed"}, "with": {"T.broken": "failed"}},
            without=self.racy(0), **{"with": self.racy(20)})
        is_same, said = soaking.says()
        self.assertFalse(is_same)
        self.assertIn("The results differ:\nT.broken, alone and in turn: 20 passed without the product; "
                      "20 failed with the product", said)

    def test_a_test_that_was_not_run_is_a_difference(self):
        soaking = self.soak({"without": {"T.a": "passed", "T.b": "passed"}, "with": {"T.a": "passed"}})
        is_same, said = soaking.says()
        self.assertFalse(is_same)
        self.assertIn("T.b: not run with the product", said)

    def test_what_fails_on_both_sides_is_no_difference(self):
        soaking = self.soak({"without": {"T.a": "failed"}, "with": {"T.a": "failed"}})
        self.assertEqual((soaking.says()[0], soaking.runs), (True, []))
