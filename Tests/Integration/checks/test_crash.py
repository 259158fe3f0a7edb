"""The outputs of a process that dies during a test, and their recovery by `failure-artifacts sweep`."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

import harness
from harness import EXECUTABLE, TOOL, SuiteCase, clean_environment

# The number of kills at random points in time. Use many more when running this by hand.
KILLS = int(os.environ.get("INTEGRATION_KILLS", "20"))
SEED = int(os.environ.get("INTEGRATION_SEED", "20261121"))


def killed(process):
    """Kills a process, and returns its output that was not read yet."""
    process.kill()
    # communicate() would skip the data that readline() has buffered.
    rest = process.stdout.read()
    process.stdout.close()
    process.stderr.close()
    process.wait()
    return rest


class Place:
    """A directory in which tests run and leave their outputs."""

    def __init__(self, directory, **variables):
        self.directory = self.working = pathlib.Path(directory)
        self.artifacts = self.directory / "failure-artifacts"
        scratch = self.directory / "tmp"
        scratch.mkdir()
        self.environment = clean_environment(scratch, **variables)

    def start(self, *selection, **options):
        return subprocess.Popen(
            [str(options.pop("executable", EXECUTABLE)), *selection], cwd=self.working, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *selection, **options):
        process = self.start(*selection, **options)
        output, errors = process.communicate(timeout=120)
        return process.returncode, output.decode(), errors.decode()

    @property
    def in_flight(self):
        hidden = self.artifacts / ".in-flight"
        return sorted(entry.name for entry in hidden.iterdir()) if hidden.is_dir() else []

    def sweep(self, status=0):
        """Returns the new bundles that `sweep` reports."""
        result = subprocess.run(
            [str(TOOL), "sweep", "--json", str(self.artifacts)], capture_output=True, text=True, timeout=120,
            env=self.environment)
        assert result.returncode == status, result.stderr
        return [pathlib.Path(json.loads(line)["bundle"]) for line in result.stdout.splitlines()]

    def killed_sweep(self, wait):
        """Starts a sweep and kills it."""
        process = subprocess.Popen(
            [str(TOOL), "sweep", str(self.artifacts)], env=self.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.kill()
        process.wait()

    def bundles(self):
        found = [harness.Bundle(path) for path in sorted(self.artifacts.glob("*.zip"))]
        for bundle in found:
            harness.check_with_tools(bundle)
        return found


class CrashCase(SuiteCase):
    def place(self, **variables):
        return Place(harness.fresh_directory(self), **variables)

    def swept(self, place, count=1):
        """Returns the bundles that a sweep creates. A second sweep creates none and leaves nothing."""
        new = place.sweep()
        self.assertEqual(len(new), count)
        self.assertEqual(place.in_flight, [])
        self.assertEqual(place.sweep() if place.artifacts.is_dir() else [], [])
        bundles = place.bundles()
        for bundle in bundles:
            self.check(bundle, outcome=bundle.metadata["outcome"])
        self.assertEqual({bundle.path for bundle in bundles} & set(new), set(new))
        return [bundle for bundle in bundles if bundle.path in new]


class Crashes(CrashCase):
    def crashes(self, name, status, rows=("apple", "pear"), suite="CrashTests", **variables):
        place = self.place(**variables)
        code, _, _ = place.run(f"RawSuite.{suite}/{name}")
        self.assertEqual(code, status)
        self.assertEqual(len(place.in_flight), 1)
        self.assertEqual(place.bundles(), [])
        (bundle,) = self.swept(place)
        self.assertEqual(bundle.metadata["outcome"], "crashed")
        self.assertTest(
            bundle, suite, name, "The process ended in the middle of the test.", kind="termination")
        if rows is not None:
            (store,) = bundle.metadata["stores"]
            self.assertEqual(harness.Store(bundle.contents[store["entry"]]).rows(), list(rows))
            self.assertTrue(store["capture"]["consistent"])
        return bundle

    def test_each_kind_of_death(self):
        for name, status in {
            "testTraps": -signal.SIGILL, "testFatalError": -signal.SIGILL, "testAborts": -signal.SIGABRT,
            "testSegmentationFault": -signal.SIGSEGV, "testIsKilled": -signal.SIGKILL, "testUnderscoreExit": 3,
            "testLeavesAHotJournal": -signal.SIGKILL,
        }.items():
            with self.subTest(name):
                self.crashes(name, status)

    def test_shared_store(self):
        place = self.place()
        code, _, _ = place.run("RawSuite.SharedStoreCrashTests")
        self.assertEqual(code, -signal.SIGKILL)
        (bundle,) = self.swept(place)
        self.assertTest(
            bundle, "SharedStoreCrashTests", "test2Crashes", "in the middle", kind="termination")
        self.assertEqual(bundle.store("shared").rows(), ["apple", "pear"])
        self.assertIs(bundle.described("shared")["shared"], True)
        self.assertEqual(
            bundle.described("shared")["openedBy"], {"suite": "SharedStoreCrashTests", "name": "test1OpensIt"})

    def test_stores_that_earlier_tests_left_open(self):
        place = self.place(SUITE_CRASHES="1")
        code, _, _ = place.run("RawSuite.LeftOpenTests")
        self.assertEqual(code, -signal.SIGKILL)
        place.sweep()
        (bundle,) = [bundle for bundle in place.bundles() if bundle.metadata["outcome"] == "crashed"]
        self.check(bundle, outcome="crashed")
        self.assertTest(bundle, "LeftOpenTests", "test5Crashes", "in the middle", kind="termination")
        self.assertStores(
            bundle, crash=["melon"], used=["pear", "fig", "date"], unwatched=["pear"],
            **{"of-the-class": ["banana"]}, memory=["pear", "fig", "date"])
        opener = {"suite": "LeftOpenTests", "name": "test2LeavesForOthers"}
        self.assertEqual(harness.openers(bundle), {
            "crash": (None, None), "used": (True, opener), "unwatched": (True, None),
            "of-the-class": (True, None), "memory": (True, None)})
        self.assertEqual(bundle.metadata["warnings"], [])

    def test_in_memory(self):
        bundle = self.crashes("testCrashesInMemory", -signal.SIGKILL, rows=None)
        (store,) = bundle.metadata["stores"]
        self.assertEqual((store["storage"], store["capture"]["method"]), ("memory", "recorded"))
        self.assertEqual(bundle.metadata["warnings"], [])
        self.assertEqual(bundle.store("memory").rows(), ["apple", "pear"])
        self.assertEqual((store["history"]["source"], store["history"]["transactions"]), ("pages", 3))

    def test_in_memory_without_histories(self):
        bundle = self.crashes(
            "testCrashesInMemory", -signal.SIGKILL, rows=None, FAILURE_ARTIFACTS_HISTORY="off")
        (store,) = bundle.metadata["stores"]
        self.assertEqual((store["storage"], store["capture"]["method"]), ("memory", "described"))
        (warning,) = bundle.metadata["warnings"]
        self.assertEqual(warning["code"], "memory-stores-lost")

    def test_deleted(self):
        bundle = self.crashes("testDeletesItsStoreAndCrashes", -signal.SIGKILL, rows=None)
        (store,) = bundle.metadata["stores"]
        self.assertEqual(store["capture"]["method"], "described")
        self.assertIn("crash.sqlite", store["capture"]["reason"])
        self.assertEqual([warning["code"] for warning in bundle.metadata["warnings"]], ["store-not-copied"])

    def test_without_a_store(self):
        place = self.place()
        code, _, _ = place.run("RawSuite.CrashTests/testCrashesWithoutAStore")
        self.assertEqual(code, -signal.SIGKILL)
        self.assertFalse(place.artifacts.exists())

    def test_failed_before(self):
        place = self.place()
        code, _, _ = place.run("RawSuite.CrashTests/testFailsAndCrashes")
        self.assertEqual(code, -signal.SIGKILL)
        (bundle,) = self.swept(place)
        self.assertEqual(bundle.metadata["outcome"], "crashed")
        self.assertEqual(
            [failure["kind"] for failure in bundle.metadata["failures"]], ["assertion", "termination"])
        self.assertEqual(bundle.store("crash").rows(), ["apple"])
        (snapshot,) = bundle.metadata["snapshots"]
        self.assertEqual(snapshot["label"], "crashed")
        self.assertEqual(
            harness.Store(bundle.contents[snapshot["stores"][0]["entry"]]).rows(), ["apple", "pear"])


class OrderlyEnds(CrashCase):
    """The process exits in an orderly way and packs the bundle itself."""

    def ends(self, name):
        place = self.place()
        code, _, errors = place.run(f"RawSuite.CrashTests/{name}")
        self.assertEqual(code, 0)
        self.assertEqual(place.in_flight, [])
        (bundle,) = place.bundles()
        self.assertTrue(errors.endswith(f"failure-artifacts explain failure-artifacts/{bundle.path.stem[-8:]}\n"), errors)
        self.check(bundle, outcome="terminated")
        self.assertEqual(place.sweep(), [])
        return bundle

    def test_exit(self):
        bundle = self.ends("testExits")
        self.assertTest(
            bundle, "CrashTests", "testExits", "exited in the middle of the test", kind="termination")
        self.assertEqual(bundle.store("crash").rows(), ["apple", "pear", "kiwi"])
        self.assertEqual(bundle.store("crash", "committedEntry").rows(), ["apple", "pear"])

    def test_exit_with_a_store_in_memory(self):
        bundle = self.ends("testExitsInMemory")
        self.assertEqual(bundle.store("memory").rows(), ["apple", "pear"])

    def test_exit_after_a_failure(self):
        bundle = self.ends("testFailsAndExits")
        self.assertEqual(bundle.store("crash").rows(), ["apple"])
        (snapshot,) = bundle.metadata["snapshots"]
        self.assertEqual(
            harness.Store(bundle.contents[snapshot["stores"][0]["entry"]]).rows(), ["apple", "pear"])


class LivingProcesses(CrashCase):
    def test_the_next_process_packs_what_an_earlier_one_left(self):
        place = self.place()
        place.run("RawSuite.CrashTests/testIsKilled")
        self.assertEqual(place.bundles(), [])
        code, _, errors = place.run("RawSuite.AfterwardsTests/testRowsDeletedAfterwards")
        self.assertEqual(sorted(bundle.metadata["outcome"] for bundle in place.bundles()), ["crashed", "failed"])
        self.assertIn("an earlier process", errors)
        self.assertEqual(place.in_flight, [])

    def test_the_next_process_can_still_configure_sqlite(self):
        place = self.place()
        place.run("RawSuite.CrashTests/testIsKilled")
        code, output, _ = place.run("RawSuite.ApplicationTests/testConfiguresAfterARecovery")
        self.assertEqual(code, 0, output)

    def test_under_supervision_it_does_not(self):
        place = self.place(FAILURE_ARTIFACTS_RUN="1")
        place.run("RawSuite.CrashTests/testIsKilled")
        place.run("RawSuite.AfterwardsTests/testRowsDeletedAfterwards")
        self.assertEqual([bundle.metadata["outcome"] for bundle in place.bundles()], ["failed"])
        self.assertEqual(len(place.in_flight), 1)


class Commands(CrashCase):
    """Commands that read bundles make those of tests whose process died, where the tests ran."""

    def killed(self):
        place = self.place()
        code, _, _ = place.run("RawSuite.CrashTests/testIsKilled")
        self.assertEqual(code, -signal.SIGKILL)
        self.assertEqual(place.bundles(), [])
        return place

    def tool(self, place, *arguments, user=(), at=None):
        return subprocess.run(
            [*user, str(TOOL), *map(str, arguments)], cwd=at or place.directory, env=place.environment,
            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)

    def test_each_command_makes_the_bundle(self):
        for command in (
                ["show", "--json"], ["list", "--json"], ["report"], ["open"], ["diff"], ["summary", "-o", "-"],
                ["explain", "failure-artifacts/testIsKilled"]):
            with self.subTest(command):
                place = self.killed()
                process = self.tool(place, *command)
                self.assertEqual(process.returncode, 1 if command == ["diff"] else 0, process.stderr)
                (bundle,) = place.bundles()
                self.assertEqual(place.in_flight, [])
                self.check(bundle, outcome="crashed")
                said = [line for line in process.stderr.splitlines() if "process died" in line]
                self.assertEqual(len(said), 1, process.stderr)
                self.assertIn(f"failure-artifacts/{bundle.path.stem[-8:]}", said[0])
                if "--json" in command:
                    found = json.loads(process.stdout)["bundle"]
                    self.assertEqual(pathlib.Path(found).name, bundle.path.name)
                # Nothing is left for the next command.
                self.assertNotIn("process died", self.tool(place, "list").stderr)

    def test_running_tests_are_left_alone(self):
        place = self.place()
        process = place.start("RawSuite.CrashTests/testHangs")
        try:
            harness.lines_until(process, b"hanging")
            before = place.in_flight
            found = self.tool(place, "explain")
            self.assertEqual((found.returncode, found.stdout), (66, ""))
            self.assertNotIn("process died", found.stderr)
            self.assertEqual(place.in_flight, before)
        finally:
            process.kill()
            process.communicate()
        self.assertEqual(self.tool(place, "explain").returncode, 0)

    def untouched(self, place, directory, **options):
        """Commands say what to do, and write nothing."""
        def content():
            return sorted((path, path.stat().st_mtime_ns) for path in [directory, *directory.rglob("*")])

        before = content()
        for command in ("explain", "list"):
            process = self.tool(place, command, directory, **options)
            self.assertEqual((process.returncode, process.stdout), (66, ""), process.stderr)
            warnings = [line for line in process.stderr.splitlines() if line.startswith("warning: ")]
            self.assertEqual(len(warnings), 1, process.stderr)
            self.assertIn("process died", warnings[0])
            self.assertRegex(warnings[0], rf"failure-artifacts sweep '?{directory}'?$")
            self.assertEqual(content(), before)

    def test_a_directory_from_a_zip(self):
        """The stores that its recorders name may be any files of the user."""
        place = self.killed()
        archive = shutil.make_archive(place.directory / "download", "zip", place.directory, "failure-artifacts")
        directory = place.directory / "unpacked" / "failure-artifacts"
        subprocess.run(["unzip", "-q", archive, "-d", directory.parent], check=True)
        self.assertEqual(len(list((directory / ".in-flight").iterdir())), 1)
        self.untouched(place, directory)
        # What is typed then works.
        self.assertEqual(self.tool(place, "sweep", directory).returncode, 0)
        self.assertEqual(len(list(directory.glob("*.zip"))), 1)

    def test_a_directory_that_cannot_be_written(self):
        place = self.killed()
        subprocess.run(["chmod", "-R", "a+rX,a-w", place.artifacts], check=True)
        self.addCleanup(subprocess.run, ["chmod", "-R", "u+w", place.artifacts], check=True)
        user = []
        if os.geteuid() == 0:
            subprocess.run(["chmod", "755", place.directory], check=True)
            subprocess.run(["chmod", "777", place.environment["TMPDIR"]], check=True)
            user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        self.untouched(place, place.artifacts, user=user, at="/")

    @unittest.skipUnless(os.geteuid() == 0, "Only root can leave files that the directory's user can't read.")
    def test_a_crash_of_root_in_a_users_directory(self):
        place = self.place()
        place.artifacts.mkdir(mode=0o700)
        os.chown(place.artifacts, 65534, 65534)
        place.run("RawSuite.CrashTests/testIsKilled")
        # Root doesn't keep the hidden directory to itself.
        hidden = place.artifacts / ".in-flight"
        self.assertEqual((hidden.stat().st_uid, hidden.stat().st_gid), (65534, 65534))
        (roots,) = place.in_flight
        # A test of the user can't take it over, and dies too.
        subprocess.run(["chmod", "-R", "a+rwX", place.directory / "tmp"], check=True)
        place.directory.chmod(0o755)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        place.run(*user[1:], str(EXECUTABLE), "RawSuite.CrashTests/testIsKilled", executable=user[0])
        self.assertEqual(len(place.in_flight), 2)
        process = self.tool(place, "sweep", place.artifacts, user=user, at="/")
        self.assertEqual(len(process.stdout.splitlines()), 1, process.stderr)
        self.assertIn("Permission denied", process.stderr)
        self.assertIn("belongs to the user with the ID 0. As that user or as root, sweep it or remove it.", process.stderr)
        # Reading commands don't repeat it.
        process = self.tool(place, "list", place.artifacts, user=user, at="/")
        self.assertEqual(process.stderr, "")
        self.assertEqual(place.in_flight, [roots])
        self.assertEqual(len(place.sweep()), 1)
        self.assertEqual(place.in_flight, [])


@unittest.skipUnless(sys.platform == "linux", "Only Linux has PID namespaces.")
class OtherNamespaces(CrashCase):
    """Tests in a container that shares the directory. Outside, their process IDs mean nothing."""

    def test_a_living_and_a_dead_test(self):
        for options in ([], ["--mount-proc"], ["--map-root-user"]):
            with self.subTest(options):
                prefix = ["unshare", "--pid", "--fork", "--kill-child", *options]
                if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
                    self.skipTest("No namespace can be created here.")
                place = self.place()
                process = place.start(
                    *prefix[1:], str(harness.EXECUTABLE), "RawSuite.CrashTests/testFailsAndHangs", executable=prefix[0])
                try:
                    harness.lines_until(process, b"hanging")
                    before = place.in_flight
                    self.assertEqual(len(before), 2)
                    self.assertEqual(place.sweep(), [])
                    self.assertEqual(place.in_flight, before)
                finally:
                    process.kill()
                    process.communicate()
                (bundle,) = self.swept(place)
                self.assertEqual(bundle.metadata["outcome"], "crashed")


class CrashOfSwiftTesting(CrashCase):
    framework = "Swift Testing"

    def test_two_tests_in_flight(self):
        place = self.place()
        code, _, errors = place.run("--testing-library", "swift-testing", "--filter", r"^TestingSuite\.CrashTests/")
        self.assertEqual(code, -signal.SIGKILL, errors)
        bundles = self.swept(place, 2)
        found = {bundle.metadata["test"]["name"]: bundle for bundle in bundles}
        for name, fruit in (("first", "apple"), ("second", "pear")):
            bundle = found[name]
            self.assertEqual(bundle.metadata["outcome"], "crashed")
            self.assertEqual(bundle.metadata["test"]["suite"], "CrashTests")
            self.assertStores(bundle, **{name: [fruit], "shared": ["banana"]})
            self.assertNotIn("shared", bundle.described(name))
            self.assertIs(bundle.described("shared")["shared"], True)


class Kills(CrashCase):
    """Processes killed at random points in time lose no committed data."""

    def test_while_rows_are_written(self):
        dice = random.Random(SEED)
        for number in range(KILLS // 2):
            journal = dice.choice(["wal", "delete", "truncate", "persist", "memory", "memory", "memory"])
            store = {"SUITE_STORE": ":memory:"} if journal == "memory" else {}
            lines, wait = dice.randrange(0, 300), dice.uniform(0, 0.003)
            with self.subTest(seed=SEED, number=number, journal=journal, lines=lines, wait=wait):
                place = self.place(SUITE_JOURNAL=journal, **store)
                process = place.start("RawSuite.CrashTests/testWritesForEver")
                last = 0
                while last < lines:
                    line = process.stdout.readline()
                    self.assertTrue(line, "the process has ended by itself")
                    last = int(line) if line.strip().isdigit() else last
                time.sleep(wait)
                rest = killed(process)
                reported = [int(line) for line in rest.split() if line.isdigit()]
                last = max(reported, default=last)
                # If it was killed before it opened a store, there is no bundle.
                new = len([name for name in place.in_flight if name.startswith("recorder-")])
                if last > 0:
                    self.assertEqual(new, 1)
                elif not place.artifacts.is_dir():
                    continue
                bundles = place.sweep()
                self.assertEqual(place.in_flight, [])
                for bundle in place.bundles():
                    self.check(bundle, outcome="crashed")
                if last == 0:
                    continue
                self.assertEqual(len(bundles), 1)
                bundle = harness.Bundle(bundles[0])
                rows = bundle.store("memory" if store else "endless").rows()
                self.assertGreaterEqual(len(rows), last)
                self.assertLessEqual(len(rows), last + 1)
                self.assertEqual(rows, [str(row + 1) for row in range(len(rows))])
                if journal != "wal" and len(rows) > 1:
                    self.check_states(bundle, rows)

    def check_states(self, bundle, rows):
        """Checks that each state has one row more than the one before."""
        (store,) = bundle.metadata["stores"]
        count = store["history"]["transactions"]
        for number in {1, 2, count // 2, count}:
            result = subprocess.run(
                [str(TOOL), "query", "--json", "--at", str(number), str(bundle.path),
                 "SELECT count(*) AS n, max(rowid) AS last FROM fruit"], capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            (row,) = json.loads(result.stdout)
            # The first transaction created the table. Older ones may have made room.
            expected = len(rows) - (count - number)
            self.assertEqual((row["n"], row["last"] or 0), (expected, expected))

    def test_while_bundles_are_written(self):
        dice = random.Random(SEED + 1)
        for number in range(KILLS - KILLS // 2):
            lines, wait = dice.randrange(1, 33), dice.uniform(0, 0.02)
            with self.subTest(seed=SEED, number=number, lines=lines, wait=wait):
                place = self.place()
                process = place.start("RawSuite.ManyFailuresTests")
                said = []
                while len(said) < lines:
                    line = process.stdout.readline().decode()
                    self.assertTrue(line, "the process has ended by itself")
                    if line.startswith("fail"):
                        said.append(line.split())
                time.sleep(wait)
                rest = killed(process)
                said += [line.split() for line in rest.decode().splitlines() if line.startswith("fail")]
                # The sweeps that create the missing bundles are killed too.
                for _ in range(dice.randrange(0, 4)):
                    place.killed_sweep(dice.uniform(0, 0.03))
                place.sweep()
                self.assertEqual(place.in_flight, [])
                self.assertEqual(place.sweep(), [])
                found = {}
                for bundle in place.bundles():
                    self.check(bundle, outcome=bundle.metadata["outcome"])
                    name = bundle.metadata["test"]["name"]
                    self.assertNotIn(name, found)
                    found[name] = bundle
                for state, name in said:
                    self.assertIn(name, found, f"{state} {name}")
                    self.assertEqual(found[name].store("many").rows(), [name], f"{state} {name}")
