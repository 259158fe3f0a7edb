"""The sanitizer reports that `Scripts/soak` takes for the product's, and its test of significance."""

import collections
import pathlib
import sys
import tempfile
import unittest

from harness import ROOT

sys.path.append(str(ROOT / "Scripts/lib"))

import sanitizers  # noqa: E402
import soak  # noqa: E402

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
