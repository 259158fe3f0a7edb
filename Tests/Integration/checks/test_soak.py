"""What `Scripts/soak` makes of GRDB's sources, of what XCTest prints, and of a sanitizer's reports."""

import pathlib
import sys
import tempfile
import unittest

from harness import ROOT

sys.path.append(str(ROOT / "Scripts/lib"))

import grdb  # noqa: E402
import sanitizers  # noqa: E402
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
        planted = """\
import XCTest

private final class FruitTests: PlantedTestCase {
    func testNothing() {
        plantFailure()
    }

    @MainActor func testPicking() async throws {
        if ripe {
            return
        }
        func test(_ fruit: Fruit) {
        }
        test(apple)
        plantFailure()
    }

    func helper() {
    }
}
"""
        self.assertEqual(grdb.planted(source), planted)

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
/src/FruitTests.swift:9: error: FruitTests.testPicking : failed - planted
Test Case 'FruitTests.testPicking' failed (0.001 seconds)
<EXPR>:0: error: FruitTests.testEating : threw error "rotten"
Test Case 'FruitTests.testEating' failed (0.0 seconds)
Test Case 'FruitTests.testLater' skipped (0.0 seconds)
Test Case '-[Module.FruitTests testOnApple]' passed (0.0 seconds).
""")
        self.assertEqual(log.ended, [
            ("FruitTests.testPicking", "failed"), ("FruitTests.testEating", "failed"),
            ("FruitTests.testLater", "skipped"), ("FruitTests.testOnApple", "passed")])
        self.assertEqual(log.failures["FruitTests.testPicking"][1], "failed - planted")
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
        # Where GRDB lies says nothing.
        [elsewhere] = self.read(THREAD.format("main").replace("/tmp/GRDB", f"{ROOT}/.build/soak/failure-artifacts"))
        self.assertEqual([report.is_ours for report in (theirs, by_name, by_path, of_c, elsewhere)],
                         [False, True, True, True, False])

    def test_what_they_are_about(self):
        [report] = self.read(THREAD.format("main") + THREAD.format("main"))[1:]
        self.assertEqual(report.place, "data race: Pool.swift:12 < Queue.swift:7")
        [report] = self.read(ADDRESS.format("main"))
        self.assertEqual(report.place, "heap-use-after-free: memcpy (suite.xctest+0x1)")
