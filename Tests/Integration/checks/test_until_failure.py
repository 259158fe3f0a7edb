"""`run --until-failure`: a test that fails once in twenty runs is compared with the run before, which passed."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import time
from xml.etree import ElementTree

from harness import EXECUTABLE
from test_crash import TOOL
from test_run import RunCase

FIRST = "Transaction 4 is the first one that differs from the passing run"


class UntilFailure(RunCase):
    def repeat(self, place, count, failing, *options, end=""):
        """Repeats the flaky test. Returns the status, the outputs and the number of runs."""
        counter = pathlib.Path(place.directory) / "counter"
        place.environment.update(FLAKY_COUNTER=str(counter), FLAKY_RUN=str(failing), FLAKY_END=end)
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
        results = pathlib.Path(place.directory) / "results.xml"
        status, output, errors, runs = self.repeat(place, 20, 17, "--report", "--junit", results)
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
        self.assertIn(f"{FIRST}, transaction 4, ", summary)
        self.assertIn("FlakyTests.swift:33", summary)
        # The command that is printed compares the two.
        (command,) = re.findall("^    failure-artifacts (explain .+)$", summary, re.MULTILINE)
        words = command.split()
        self.assertEqual(
            [pathlib.Path(word).name for word in words],
            ["explain", failed.path.stem[-8:], "--against", passed.path.name])
        explained = subprocess.run(
            [TOOL, *words], cwd=place.directory, env=place.environment, capture_output=True, text=True, check=True)
        self.assertIn(FIRST, explained.stdout)
        # The results are those of the last run.
        (suite,) = ElementTree.parse(results).getroot().iter("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        findings = json.loads(subprocess.run(
            [TOOL, "explain", failed.path, "--json"], capture_output=True, check=True).stdout)["findings"]
        (finding,) = [finding for finding in findings if finding["code"] == "difference-from-pass"]
        self.assertEqual(findings[0], finding)
        (row,) = finding["rows"]
        self.assertEqual((row["table"], row["key"], row["change"]), ("product", {"id": 2}, "updated"))
        self.assertEqual(row["columns"], {"stock": {"before": 20, "after": 16}})
        self.assertEqual((finding["transaction"], finding["confidence"]), (4, "likely"))
        self.assertEqual(finding["source"]["line"], 33)
        self.assertTrue((failed.path.parent / "report.html").exists())

    def test_all_runs_pass(self):
        place = self.place()
        status, _, errors, runs = self.repeat(place, 3, 99)
        self.assertEqual((status, runs), (0, 3))
        self.assertIn("Run 3 of 3 passed in ", errors)
        failed, passed = self.bundles(place)
        self.assertEqual((len(failed), len(passed)), (0, 1))

    def test_a_crash_and_a_hang_are_compared_too(self):
        for end, outcome, code in (("crash", "crashed", 128 + signal.SIGILL), ("hang", "timedOut", 124)):
            with self.subTest(end=end):
                place = self.place()
                status, _, errors, runs = self.repeat(place, 5, 3, "--timeout", "12", end=end)
                self.assertEqual((status, runs), (code, 3), errors)
                self.assertIn(
                    "Run 3 of 5 " + ("failed." if end == "crash" else "was ended by the time limit."), errors)
                ((failed,), (passed,)) = self.bundles(place)
                self.assertEqual(failed.metadata["outcome"], outcome)
                # Both belong to the run, although the crashed test could not leave a bundle itself.
                self.assertRegex(failed.metadata["environment"]["run"], "^[0-9a-f]+$")
                self.assertIn(f" --against {passed.path.parent.name}/{passed.path.name}", errors)

    def test_bundles_of_earlier_runs_stay(self):
        place = self.place()
        self.assertEqual(self.repeat(place, 5, 1)[0], 1)
        (before,), passed = self.bundles(place)
        self.assertEqual(passed, [])
        status, _, _, runs = self.repeat(place, 3, 99)
        self.assertEqual((status, runs), (0, 4))
        failed, passed = self.bundles(place)
        self.assertEqual([bundle.path for bundle in failed], [before.path])
        self.assertEqual(len(passed), 1)

    def test_bundles_of_other_processes_stay(self):
        other = self.place()
        self.assertEqual(self.repeat(other, 3, 2)[0], 1)
        (failed,), (passed,) = self.bundles(other)
        place = self.place()
        place.artifacts.mkdir()
        sources = pathlib.Path(place.directory) / "sources"
        sources.mkdir()
        for number in range(2):
            shutil.copy(failed.path, sources / f"Other.failed{number}-0000000{number}.zip")
            shutil.copy(passed.path, sources / f"Other.passed{number}-passed-0000000{number}.zip")
        (sources / "Other.broken-00000009.zip").write_bytes(b"no archive")
        # While the command runs, another process writes its bundles into the directory: some in each run.
        status, _, errors = self.ends(self.supervise(
            place, "sh", "-c",
            'echo >> runs; test -f "$FAILURE_ARTIFACTS_DIR/Other.failed0-00000000.zip" && part=1 || part=0\n'
            'cp sources/*d$part-*.zip sources/*broken* "$FAILURE_ARTIFACTS_DIR"',
            options=("--until-failure", "3")))
        self.assertEqual(status, 0, errors)
        self.assertIn("Run 3 of 3 passed in ", errors)
        self.assertEqual(
            sorted(path.name for path in place.artifacts.glob("*.zip")),
            sorted(path.name for path in sources.iterdir()))

    def test_short_runs_end_in_time(self):
        place = self.place()
        status, _, errors = self.ends(self.supervise(
            place, "true", options=("--until-failure", "1000000", "--timeout", "2")))
        self.assertEqual(status, 124, errors[-500:])
        self.assertIn("the time limit of 2s is up.", errors)
        self.assertNotIn("failed", errors)

    def test_the_time_limit_is_for_all_runs(self):
        place = self.place()
        # No run takes as long as the limit, and the third one ends after it.
        status, _, errors = self.ends(self.supervise(
            place, "sh", "-c", "echo >> runs; test $(wc -l < runs) -lt 3 && sleep 1 || sleep 5.5",
            options=("--until-failure", "3", "--timeout", "6")))
        self.assertEqual(status, 124)
        self.assertEqual(errors.count(" of 3 passed in "), 2, errors)
        self.assertIn("Run 3 of 3 was ended by the time limit.", errors)
        self.assertIn("error: 'sh' is ended: the time limit of 6s is up.", errors)

    def test_a_signal_ends_the_repetition(self):
        place = self.place()
        status, _, errors = self.ends(self.supervise(
            place, "sh", "-c", "echo >> runs; test $(wc -l < runs) -lt 3 || kill -TERM $PPID; sleep 0.2",
            options=("--until-failure", "10")))
        self.assertEqual(len((pathlib.Path(place.directory) / "runs").read_text()), 3)
        self.assertEqual(status, 128 + signal.SIGTERM, errors)
        self.assertEqual(errors.splitlines()[-1], "Run 3 of 10 was ended by signal 15 (SIGTERM).")

    def test_a_signal_between_two_runs_is_not_lost(self):
        for _ in range(8):
            place = self.place()
            process = self.supervise(place, "true", options=("--until-failure", "1000000"))
            self.addCleanup(process.kill)
            # The tool handles signals as soon as it reports a run.
            self.assertTrue(process.stderr.readline().startswith(b"Run 1 "))
            process.send_signal(signal.SIGTERM)
            status, _, errors = self.ends(process)
            # A command may have passed before the signal reached it.
            self.assertIn(status, (0, 128 + signal.SIGTERM))
            self.assertIn("was ended by signal 15 (SIGTERM).", errors.splitlines()[-1])

    def test_a_line_begins_after_the_output(self):
        place = self.place()
        status, _, errors = self.ends(self.supervise(
            place, "sh", "-c", "printf x >&2", options=("--until-failure", "2")))
        self.assertEqual(status, 0)
        self.assertRegex(errors, r"^x\nRun 1 of 2 passed in \S+ ?\S*\.\nx\nRun 2 of 2 passed in .*\n$")

    def test_wrong_numbers(self):
        place = self.place()
        for text in ("0", "x", "-1"):
            status, _, errors = self.ends(self.supervise(place, "true", options=(f"--until-failure={text}",)))
            self.assertEqual(status, 64)
            self.assertIn("needs a whole number of 1 or more", errors)
