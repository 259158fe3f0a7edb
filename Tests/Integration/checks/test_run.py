"""`failure-artifacts run` around tests that crash, hang or are told to stop."""

import signal
import subprocess
import unittest

from harness import EXECUTABLE
from test_crash import TOOL, CrashCase


class Running(CrashCase):
    def supervise(self, place, *command, options=(), **more):
        return subprocess.Popen(
            [str(TOOL), "run", *options, "--", *map(str, command)], cwd=place.directory,
            env=place.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def ends(self, process):
        output, errors = process.communicate(timeout=120)
        return process.returncode, output.decode(), errors.decode()

    def only(self, place, outcome, errors):
        """The only bundle; nothing is left to sweep, and the end of the run tells of it."""
        self.assertEqual(place.in_flight, [])
        (bundle,) = place.bundles()
        self.check(bundle, outcome=outcome)
        self.assertIn("failure-artifacts open", errors)
        self.assertIn(bundle.path.name, errors)
        summary = errors[errors.index("failure-artifacts: 1 bundle in "):]
        self.assertLessEqual(len(summary.splitlines()), 10, errors)
        self.assertEqual(place.sweep(), [])
        return bundle

    def test_crash(self):
        place = self.place()
        process = self.supervise(place, EXECUTABLE, "RawSuite.CrashTests/testFatalError")
        status, _, errors = self.ends(process)
        self.assertEqual(status, 128 + signal.SIGILL)
        bundle = self.only(place, "crashed", errors)
        self.assertEqual(bundle.store("crash").rows(), ["apple", "pear"])
        (message,) = bundle.messages
        self.assertIn("Fatal error: the end of the world", message)
        self.assertIn("signal 4 (SIGILL)", message)
        (failure,) = bundle.metadata["failures"]
        self.assertTrue(failure["file"].endswith("CrashTests.swift"))

    def test_failure(self):
        place = self.place()
        process = self.supervise(
            place, EXECUTABLE, "RawSuite.AfterwardsTests/testRowsDeletedAfterwards")
        status, _, errors = self.ends(process)
        self.assertEqual(status, 1)
        self.only(place, "failed", errors)

    def test_nothing_is_said_of_tests_that_pass(self):
        place = self.place()
        process = self.supervise(place, EXECUTABLE, "RawSuite.SharedStoreCrashTests/test1OpensIt")
        status, _, errors = self.ends(process)
        self.assertEqual(status, 0)
        self.assertNotIn("failure-artifacts", errors)
        self.assertFalse(place.artifacts.exists())

    def test_several_processes_crash(self):
        place = self.place()
        names = ["testIsKilled", "testAborts", "testSegmentationFault", "testUnderscoreExit"]
        script = " & ".join(f"'{EXECUTABLE}' RawSuite.CrashTests/{name}" for name in names) + " & wait"
        status, _, errors = self.ends(self.supervise(place, "bash", "-c", script))
        self.assertEqual(place.in_flight, [])
        bundles = place.bundles()
        self.assertEqual(sorted(bundle.metadata["test"]["name"] for bundle in bundles), sorted(names))
        for bundle in bundles:
            self.check(bundle, outcome="crashed")
            self.assertEqual(bundle.store("crash").rows(), ["apple", "pear"])

    def test_hang(self):
        place = self.place()
        process = self.supervise(
            place, EXECUTABLE, "RawSuite.CrashTests/testHangs", options=["--timeout", "3s"])
        status, _, errors = self.ends(process)
        self.assertEqual(status, 124)
        bundle = self.only(place, "timedOut", errors)
        self.assertEqual(bundle.store("crash").rows(), ["apple", "pear"])
        self.assertIn("time limit of 3s", bundle.messages[0])

    def hanging(self, place, **dispositions):
        """A supervised test that hangs, where signals are treated so, whatever they are to this process."""
        def set_dispositions():
            for name, disposition in dispositions.items():
                signal.signal(getattr(signal, name), disposition)

        process = self.supervise(
            place, EXECUTABLE, "RawSuite.CrashTests/testHangs", preexec_fn=set_dispositions)
        for line in process.stdout:
            if line.strip() == b"hanging":
                break
        return process

    # A test crashes, another one hangs.
    CRASH_THEN_HANG = ["bash", "-c", f"'{EXECUTABLE}' RawSuite.CrashTests/testFatalError;"
                       f"'{EXECUTABLE}' RawSuite.CrashTests/testHangs"]

    def crashed_and(self, place, outcome):
        """The bundle of the test that hung; the crash before it keeps its outcome and its message."""
        self.assertEqual(place.in_flight, [])
        bundles = {bundle.metadata["test"]["name"]: bundle for bundle in place.bundles()}
        self.assertEqual(sorted(bundles), ["testFatalError", "testHangs"])
        crash, hang = bundles["testFatalError"], bundles["testHangs"]
        self.check(crash, outcome="crashed")
        (message,) = crash.messages
        self.assertIn("Fatal error: the end of the world", message)
        self.assertTrue(crash.metadata["failures"][0]["file"].endswith("CrashTests.swift"))
        self.assertEqual(crash.store("crash").rows(), ["apple", "pear"])
        self.check(hang, outcome=outcome)
        self.assertEqual(hang.store("crash").rows(), ["apple", "pear"])
        return hang

    def test_a_crash_before_the_time_limit(self):
        place = self.place()
        process = self.supervise(place, *self.CRASH_THEN_HANG, options=["--timeout", "5s"])
        status, _, errors = self.ends(process)
        self.assertEqual(status, 124, errors)
        hang = self.crashed_and(place, "timedOut")
        self.assertIn("time limit of 5s", hang.messages[0])

    def test_a_crash_before_it_is_told_to_stop(self):
        place = self.place()
        process = self.supervise(place, *self.CRASH_THEN_HANG)
        for line in process.stdout:
            if line.strip() == b"hanging":
                break
        process.send_signal(signal.SIGTERM)
        status, _, errors = self.ends(process)
        self.assertEqual(status, 128 + signal.SIGTERM, errors)
        hang = self.crashed_and(place, "terminated")
        self.assertIn("SIGTERM", hang.messages[0])

    def test_told_to_stop(self):
        for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=stop.name):
                place = self.place()
                process = self.hanging(place, **{stop.name: signal.SIG_DFL})
                process.send_signal(stop)
                status, _, errors = self.ends(process)
                self.assertEqual(status, 128 + stop)
                bundle = self.only(place, "terminated", errors)
                self.assertIn(stop.name, bundle.messages[0])
                self.assertEqual(bundle.store("crash").rows(), ["apple", "pear"])

    def test_what_is_ignored_stays_so(self):
        """As `nohup` has it, and a shell for what it runs in the background."""
        place = self.place()
        process = self.hanging(place, SIGHUP=signal.SIG_IGN, SIGINT=signal.SIG_IGN)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        status, _, errors = self.ends(process)
        self.assertEqual(status, 128 + signal.SIGTERM)
        self.assertIn("SIGTERM", self.only(place, "terminated", errors).messages[0])

    def test_what_an_earlier_run_left_is_not_counted(self):
        place = self.place()
        place.run("RawSuite.CrashTests/testIsKilled")
        self.assertEqual(len(place.in_flight), 1)
        process = self.supervise(place, EXECUTABLE, "RawSuite.SharedStoreCrashTests/test1OpensIt")
        status, _, errors = self.ends(process)
        self.assertEqual(status, 0)
        (bundle,) = place.bundles()
        self.assertEqual(bundle.metadata["outcome"], "crashed")
        self.assertNotIn("failure-artifacts open", errors)

    def test_the_bundle_of_a_crash_in_memory(self):
        place = self.place()
        process = self.supervise(place, EXECUTABLE, "RawSuite.CrashTests/testCrashesInMemory")
        status, _, errors = self.ends(process)
        self.assertEqual(status, 128 + signal.SIGKILL)
        self.assertEqual(place.in_flight, [])
        (bundle,) = place.bundles()
        self.assertEqual(bundle.metadata["stores"], [])
        self.assertIn("in memory", bundle.metadata["warnings"][0])


if __name__ == "__main__":
    unittest.main()
