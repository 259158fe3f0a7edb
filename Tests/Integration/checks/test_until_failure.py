"""`run --until-failure`: a test that fails once in twenty runs is compared with the run before, which passed."""

import json
import pathlib
import subprocess

from harness import EXECUTABLE
from test_crash import TOOL
from test_run import RunCase


class UntilFailure(RunCase):
    def repeat(self, place, count, failing, *options):
        """Repeats the flaky test. Returns the status, the outputs and the number of runs."""
        counter = pathlib.Path(place.directory) / "counter"
        place.environment.update(FLAKY_COUNTER=str(counter), FLAKY_RUN=str(failing))
        status, output, errors = self.ends(self.supervise(
            place, EXECUTABLE, "GRDBSuite.FlakyTests/testStock", options=("--until-failure", str(count), *options)))
        return status, output, errors, int(counter.read_text())

    def bundles(self, place):
        """The failed and the passing bundles."""
        found = {True: [], False: []}
        for bundle in place.bundles():
            found[bundle.metadata["outcome"] == "passed"].append(bundle)
        return found[False], found[True]

    def test_the_failure_is_compared_with_the_run_before(self):
        place = self.place()
        status, output, errors, runs = self.repeat(place, 20, 17, "--report")
        self.assertEqual((status, runs), (1, 17))
        self.assertEqual(output.count("Test Case 'FlakyTests.testStock' started"), 17)
        lines = errors.splitlines()
        for number in range(1, 17):
            self.assertTrue(any(line.startswith(f"Run {number} of 20 passed in ") for line in lines), errors)
        self.assertIn("Run 17 of 20 failed.", lines)
        ((failed,), (passed,)) = self.bundles(place)
        # The last run that passed has left the passing bundle.
        self.assertEqual(passed.store("shop").query("SELECT stock FROM product"), [(19,)] * 3)
        self.assertLess(passed.metadata["capture"]["at"], failed.metadata["capture"]["at"])
        # The row and the line, without the identifiers and times, which differ in every run.
        summary = errors[errors.index("failure-artifacts: 1 bundle in"):]
        self.assertIn("1 row differs from the passing run, transaction 4, ", summary)
        self.assertIn("FlakyTests.swift:32", summary)
        findings = json.loads(subprocess.run(
            [TOOL, "explain", failed.path, "--json"], capture_output=True, check=True).stdout)["findings"]
        (finding,) = [finding for finding in findings if finding["code"] == "difference-from-pass"]
        self.assertEqual(findings[0], finding)
        (row,) = finding["rows"]
        self.assertEqual((row["table"], row["key"], row["change"]), ("product", {"id": 2}, "updated"))
        self.assertEqual(row["columns"], {"stock": {"before": 19, "after": 16}})
        self.assertEqual((finding["transaction"], finding["confidence"]), (4, "likely"))
        self.assertEqual(finding["source"]["line"], 32)
        self.assertTrue((failed.path.parent / "report.html").exists())

    def test_all_runs_pass(self):
        place = self.place()
        status, _, errors, runs = self.repeat(place, 3, 99)
        self.assertEqual((status, runs), (0, 3))
        self.assertIn("Run 3 of 3 passed in ", errors)
        failed, passed = self.bundles(place)
        # Those of the last two runs: the earlier of them would have been needed if the last one had failed.
        self.assertEqual((len(failed), len(passed)), (0, 2))

    def test_bundles_of_earlier_runs_stay(self):
        place = self.place()
        self.assertEqual(self.repeat(place, 5, 1)[0], 1)
        (before,), passed = self.bundles(place)
        self.assertEqual(passed, [])
        status, _, _, runs = self.repeat(place, 3, 99)
        self.assertEqual((status, runs), (0, 4))
        failed, passed = self.bundles(place)
        self.assertEqual([bundle.path for bundle in failed], [before.path])
        self.assertEqual(len(passed), 2)

    def test_the_time_limit_is_for_all_runs(self):
        place = self.place()
        status, _, errors = self.ends(self.supervise(
            place, "sh", "-c", "sleep 0.4", options=("--until-failure", "1000", "--timeout", "3")))
        self.assertEqual(status, 124)
        passed = errors.count(" of 1000 passed in ")
        self.assertTrue(1 <= passed <= 7, errors)
        self.assertIn(f"Run {passed + 1} of 1000 failed.", errors)

    def test_a_signal_ends_the_repetition(self):
        place = self.place()
        status, _, errors = self.ends(self.supervise(
            place, "sh", "-c", "echo >> runs; test $(wc -l < runs) -lt 3 || kill -TERM $PPID; sleep 0.2",
            options=("--until-failure", "10")))
        self.assertEqual(len((pathlib.Path(place.directory) / "runs").read_text()), 3)
        self.assertNotEqual(status, 0, errors)

    def test_wrong_numbers(self):
        place = self.place()
        for text in ("0", "x", "-1"):
            status, _, errors = self.ends(self.supervise(place, "true", options=(f"--until-failure={text}",)))
            self.assertEqual(status, 64)
            self.assertIn("no number of runs", errors)
