"""`failure-artifacts run` with tests that crash, hang or are stopped."""

import fcntl
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import termios
import time
import unittest

import harness
from harness import EXECUTABLE
from test_crash import TOOL, CrashCase
from test_faults import preloaded


# The keys of a terminal.
KEYS = {b"\x03": signal.SIGINT, b"\x1c": signal.SIGQUIT}


class RunCase(CrashCase):
    def supervise(self, place, *command, options=(), **more):
        return subprocess.Popen(
            [str(TOOL), "run", *options, "--", *map(str, command)], cwd=place.directory,
            env=place.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def ends(self, process):
        output, errors = process.communicate(timeout=120)
        return process.returncode, (output or b"").decode(), errors.decode()


class Running(RunCase):
    def only(self, place, outcome, errors):
        """The only bundle. There is nothing left to sweep, and the end of the run mentions the bundle."""
        self.assertEqual(place.in_flight, [])
        (bundle,) = place.bundles()
        self.check(bundle, outcome=outcome)
        self.assertIn("failure-artifacts explain", errors)
        self.assertIn(bundle.path.stem[-8:], errors)
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

    def test_the_backtrace_names_the_test_that_crashed(self):
        """Two tests ran in parallel when one of them crashed."""
        place = self.place(SUITE_TRAPS="1", SWIFT_BACKTRACE="enable=yes,color=no")
        # The directory of the command looks like the package of the tests.
        source = place.directory / "Tests" / "TestingSuite" / "CrashTests.swift"
        source.parent.mkdir(parents=True)
        source.touch()
        (place.directory / "Package.swift").touch()
        process = self.supervise(
            place, EXECUTABLE, "--testing-library", "swift-testing", "--filter", r"^TestingSuite\.CrashTests/")
        status, _, errors = self.ends(process)
        self.assertEqual(status, 128 + signal.SIGILL)
        bundles = place.bundles()
        self.assertEqual(len(bundles), 2, errors)
        for bundle in bundles:
            (failure,) = bundle.metadata["failures"]
            self.assertEqual(failure["file"], str(source))
            self.assertTrue(failure["message"].startswith("Fatal error: the second arrival\n"))
        crashed, other = sorted(bundles, key=lambda bundle: len(bundle.messages[0]))
        summary = [line.strip() for line in errors.splitlines() if line.startswith("  crashed CrashTests.")]
        listed = subprocess.run(
            [str(TOOL), "list", place.artifacts], capture_output=True, text=True, check=True).stdout.splitlines()
        listed = [re.split("  +", line) for line in listed]
        self.assertTrue(crashed.messages[0].endswith(" in the middle of the test."), crashed.messages)
        name = crashed.metadata["test"]["name"]
        self.assertNotEqual(name, other.metadata["test"]["name"])
        self.assertTrue(
            other.messages[0].endswith(
                f"\nThe thread that crashed ran another test of the process: CrashTests.{name}."),
            other.messages)
        self.assertNotIn("suspects", crashed.metadata["failures"][0])
        self.assertEqual(
            other.metadata["failures"][0]["suspects"],
            {"count": 1, "includesTest": False, "tests": [f"CrashTests.{name}"]})
        line = crashed.metadata["failures"][0]["line"]
        fatal = f"the second arrival, CrashTests.swift:{line}"
        of_other = f"CrashTests.{name} crashed: {fatal}"
        self.assertEqual(
            summary,
            [f"crashed CrashTests.{name}: {fatal}",
             f"crashed CrashTests.{other.metadata['test']['name']}: {of_other}"])
        self.assertEqual(sorted(cells[3] for cells in listed), sorted([fatal, of_other]), listed)

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

    def test_each_of_several_processes_has_its_message(self):
        place = self.place(SWIFT_BACKTRACE="enable=yes,color=no")
        names = ["testFatalError", "testTraps"]
        script = "; ".join(f"'{EXECUTABLE}' RawSuite.CrashTests/{name}" for name in names)
        status, _, errors = self.ends(self.supervise(place, "bash", "-c", script))
        bundles = {bundle.metadata["test"]["name"]: bundle for bundle in place.bundles()}
        self.assertEqual(set(bundles), set(names), errors)
        for name, message in zip(names, ["the end of the world", "Index out of range"]):
            self.assertTrue(bundles[name].messages[0].startswith(f"Fatal error: {message}\n"), errors)
            self.assertIn(f"crashed CrashTests.{name}: {message}", errors)

    def test_a_crash_before_the_time_limit(self):
        """The bundle of the earlier crash keeps its outcome and message."""
        place = self.place()
        script = "; ".join(f"'{EXECUTABLE}' RawSuite.CrashTests/{name}" for name in ("testFatalError", "testHangs"))
        process = self.supervise(place, "bash", "-c", script, options=["--timeout", "4s"])
        status, _, errors = self.ends(process)
        self.assertEqual(status, 124, errors)
        self.assertEqual(place.in_flight, [])
        bundles = {bundle.metadata["test"]["name"]: bundle for bundle in place.bundles()}
        self.assertEqual(sorted(bundles), ["testFatalError", "testHangs"])
        for bundle, outcome, text in (
                (bundles["testFatalError"], "crashed", "Fatal error: the end of the world"),
                (bundles["testHangs"], "timedOut", "time limit of 4s")):
            self.check(bundle, outcome=outcome)
            (message,) = bundle.messages
            self.assertIn(text, message)
            self.assertEqual(bundle.store("crash").rows(), ["apple", "pear"])

    def test_told_to_stop(self):
        place = self.place()
        process = self.supervise(place, EXECUTABLE, "RawSuite.CrashTests/testHangs")
        harness.lines_until(process, b"hanging")
        process.send_signal(signal.SIGTERM)
        status, _, errors = self.ends(process)
        self.assertEqual(status, 128 + signal.SIGTERM)
        bundle = self.only(place, "terminated", errors)
        self.assertIn("SIGTERM", bundle.messages[0])
        self.assertEqual(bundle.store("crash").rows(), ["apple", "pear"])

    def test_what_an_earlier_run_left_is_not_counted(self):
        place = self.place()
        place.run("RawSuite.CrashTests/testIsKilled")
        self.assertEqual(len(place.in_flight), 1)
        process = self.supervise(place, EXECUTABLE, "RawSuite.SharedStoreCrashTests/test1OpensIt")
        status, _, errors = self.ends(process)
        self.assertEqual(status, 0)
        (bundle,) = place.bundles()
        self.assertEqual(bundle.metadata["outcome"], "crashed")
        self.assertNotIn("failure-artifacts explain", errors)


@unittest.skipUnless(sys.platform == "linux", "Libraries are preloaded on Linux.")
class LateSignals(RunCase):
    """Signals that end the command at once but reach the tool's own thread half a second later."""

    def start(self, place, *arguments, stdout=None, **variables):
        """Runs the tool in the foreground of a new terminal. Returns the process and the terminal's other end."""
        controller, terminal = pty.openpty()
        self.addCleanup(os.close, controller)
        process = subprocess.Popen(
            [str(TOOL), *map(str, arguments)], cwd=place.directory,
            env={**place.environment, **preloaded(), "FAULTS_LATE_SIGNALS": "0.5", **variables},
            stdin=terminal, stdout=stdout or terminal, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        return process, controller

    def see(self, controller, text):
        seen = b""
        while text not in seen:
            seen += os.read(controller, 4096)

    def hang(self, place):
        """A test that hangs."""
        process, controller = self.start(place, "run", "--", EXECUTABLE, "RawSuite.CrashTests/testHangs")
        self.see(controller, b"hanging")
        return process, controller

    def check_stopped(self, place, process, stop):
        status, _, errors = self.ends(process)
        self.assertEqual(status, 128 + stop)
        (bundle,) = place.bundles()
        self.check(bundle, outcome="terminated")
        self.assertIn(f"The run was stopped by signal {int(stop)} ({stop.name})", bundle.messages[0])
        self.assertEqual(place.in_flight, [])
        self.assertIn("failure-artifacts: 1 bundle in ", errors)

    def test_a_key(self):
        for key, stop in KEYS.items():
            with self.subTest(key=stop.name):
                place = self.place()
                process, controller = self.hang(place)
                os.write(controller, key)
                self.check_stopped(place, process, stop)

    def test_a_key_while_output_is_passed_on(self):
        """The key ends the program that reads the output, and with it the wait for that program."""
        place = self.place()
        reader, writer = os.pipe()
        # The output is larger than one pipe and smaller than two.
        process, controller = self.start(
            place, "run", "--", "sh", "-c", "head -c 100000 /dev/zero; exec touch ended", stdout=writer)
        os.close(writer)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (place.directory / "ended").exists() or children.read_text():
            time.sleep(0.01)
        os.write(controller, b"\x03")
        os.close(reader)
        self.assertEqual(self.ends(process)[0], 0)

    def test_a_key_in_a_viewer(self):
        """The key ends the program in which `open` shows a store."""
        place = self.place()
        place.run("RawSuite.AfterwardsTests/testRowsDeletedAfterwards")
        viewer = place.directory / "sqlite3"
        viewer.write_text("#!/bin/sh\necho ready\nexec sleep 1000\n")
        viewer.chmod(0o755)
        for key, stop in KEYS.items():
            with self.subTest(key=stop.name):
                process, controller = self.start(
                    place, "open", place.artifacts, PATH=f"{place.directory}:{os.environ['PATH']}")
                self.see(controller, b"ready")
                os.write(controller, key)
                self.assertEqual(self.ends(process)[0], 128 + stop)
