"""The last statements of a process that dies, and the results of tests whose flight recorder can't work."""

import concurrent.futures
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from harness import EXECUTABLE, SUITES, clean_environment, timeless
from test_crash import SEED, TOOL, CrashCase

LINUX = sys.platform.startswith("linux")
TESTS = "RawSuite.RecorderTests"
RAW = "Tests/RawSuite/RecorderTests.swift"
POOL = "Tests/GRDBSuite/PoolTests.swift"
# The processes killed at random points in time, and those that run at once.
KILLS = int(os.environ.get("INTEGRATION_RECORDER_KILLS", "100"))
AT_ONCE = 8


def marked(file, marker):
    """The line of a suite's source that ends with this comment."""
    lines = (SUITES / file).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(f"  // {marker}")]
    return {"file": file, "line": number}


class RecorderCase(CrashCase):
    def place(self, **variables):
        """A place for tests that run in the suites' package, whose sources they are."""
        place = super().place(**variables)
        place.environment["FAILURE_ARTIFACTS_DIR"] = str(place.artifacts)
        place.working = SUITES
        return place

    def killed(self, place, selection=f"{TESTS}/testDies", **options):
        """Runs a test that kills its process. Returns the bundle that a sweep makes."""
        self.assertEqual(place.run(selection, **options)[0], -signal.SIGKILL)
        (bundle,) = self.swept(place)
        return bundle

    def assertSource(self, record, file, marker):
        found = record.get("source", {})
        self.assertEqual({key: found.get(key) for key in ("file", "line")}, marked(file, marker), record["sql"])

    def in_memory(self, bundle):
        return [store for store in bundle.metadata["stores"] if store["storage"] == "memory"]


class LastStatements(RecorderCase):
    def dies(self, death, status, outcome="crashed"):
        place = self.place(SUITE_DEATH=death)
        self.assertEqual(place.run(f"{TESTS}/testDies")[0], status)
        if outcome == "crashed":
            (bundle,) = self.swept(place)
        else:
            (bundle,) = place.bundles()
        self.assertHasLastStatements(bundle, outcome)

    def assertHasLastStatements(self, bundle, outcome="crashed"):
        self.check(bundle, outcome=outcome)
        crash = bundle.statements(bundle.described("crash"))
        first, last = crash[-2:]
        self.assertEqual(first["sql"], "INSERT INTO fruit VALUES ('pear')")
        self.assertEqual(last["sql"], "UPDATE fruit SET name = name || 's'")
        self.assertSource(first, RAW, "first")
        self.assertSource(last, RAW, "last")
        self.assertNotEqual(first["connection"], last["connection"])
        self.assertEqual({record["phase"] for record in crash}, {"test"})
        # All statements but the last one of each connection.
        others = [record for record in crash if record not in (first, last)]
        self.assertEqual([record.get("changes") for record in others], [0, 0, 1])
        of_the_class = bundle.statements(bundle.described("class"))
        self.assertEqual(
            [(record["sql"].split()[0], record["phase"]) for record in of_the_class],
            [("PRAGMA", "earlier"), ("CREATE", "earlier"), ("INSERT", "earlier"), ("INSERT", "test")])
        self.assertSource(of_the_class[-1], RAW, "class")
        self.assertEqual(of_the_class[-2].get("changes"), 1)
        (described,) = self.in_memory(bundle)
        memory = bundle.statements(described)
        self.assertEqual(memory[-1]["sql"], "UPDATE fruit SET name = 'prune'")
        self.assertSource(memory[-1], RAW, "memory")
        self.assertEqual({record["phase"] for record in memory}, {"test"})
        self.assertEqual(memory[-2]["changes"], 1)
        if outcome != "terminated":
            self.assertEqual(described["capture"]["method"], "recorded")
            self.assertNotIn("shared", described)
            self.assertEqual(bundle.store("memory").rows(), ["prune"])
            commits = [record["commits"] for record in memory if "commits" in record]
            self.assertEqual(commits, list(range(1, described["history"]["transactions"] + 1)))

    def test_killed(self):
        self.dies("SIGKILL", -signal.SIGKILL)

    def test_fatal_error(self):
        self.dies("fatalError", -signal.SIGILL)

    def test_exit(self):
        self.dies("exit", 0, outcome="terminated")

    def test_hang(self):
        place = self.place(SUITE_DEATH="hang")
        result = subprocess.run(
            [str(TOOL), "run", "--timeout", "5s", "--", str(EXECUTABLE), f"{TESTS}/testDies"], cwd=SUITES,
            env=place.environment, capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 124, result.stderr)
        (bundle,) = place.bundles()
        self.assertHasLastStatements(bundle, "timedOut")

    def test_the_maximum_number_of_statements(self):
        for number in (2, 1000):
            place = self.place(SUITE_DEATH="SIGKILL", FAILURE_ARTIFACTS_STATEMENTS=str(number))
            bundle = self.killed(place)
            logs = [store["statements"] for store in bundle.metadata["stores"] if "statements" in store]
            self.assertGreaterEqual(len(logs), 3)
            for log in logs:
                self.assertEqual(log.get("limit"), 2 if number == 2 else None, log)
                records = bundle.statements(next(s for s in bundle.metadata["stores"] if s.get("statements") == log))
                self.assertLessEqual(len([record for record in records if "repeated" not in record]), number)

    def test_store_in_memory_that_is_older(self):
        bundle = self.killed(self.place(), "RawSuite.RecorderOfClassTests")
        (store,) = self.in_memory(bundle)
        records = bundle.statements(store)
        self.assertEqual([record["phase"] for record in records], ["earlier"] * 3 + ["test"])
        self.assertEqual(records[-1]["sql"], "INSERT INTO fruit (name) VALUES ('kiwi')")
        self.assertIs(store["shared"], True)

    def test_pool(self):
        bundle = self.killed(self.place(), "GRDBSuite.PoolCrashTests/testIsKilled")
        records = bundle.statements(bundle.described("pool"))
        (writer,) = [record for record in records if "'pear'" in record["sql"]]
        (reader,) = [record for record in records if "count(*)" in record["sql"]]
        self.assertSource(writer, POOL, "writer")
        self.assertSource(reader, POOL, "reader")
        self.assertNotEqual(writer["connection"], reader["connection"])
        self.assertEqual({record["phase"] for record in records}, {"test"})
        self.assertEqual(bundle.store("pool").rows(), ["apple", "pear"])

    def test_rebuilt_executable(self):
        for rebuilt in (False, True):
            with self.subTest(rebuilt=rebuilt):
                place = self.place(SUITE_DEATH="SIGKILL")
                executable = harness.copy_executable(place.directory)
                self.assertEqual(place.run(f"{TESTS}/testDies", executable=executable)[0], -signal.SIGKILL)
                if rebuilt:
                    library = place.directory / "RawSuite.so"
                    give_another_build_id(library if library.exists() else executable)
                (bundle,) = self.swept(place)
                records = bundle.statements(bundle.described("crash"))
                self.assertEqual(records[-1]["sql"], "UPDATE fruit SET name = name || 's'")
                if rebuilt:
                    self.assertEqual([record for record in records if "source" in record], [])
                else:
                    self.assertSource(records[-1], RAW, "last")

    def test_redaction(self):
        for is_there in (True, False):
            with self.subTest(statements=is_there):
                place = self.place(SUITE_DEATH="hang")
                if not is_there:
                    rules = place.directory / "rules.json"
                    rules.write_text('{"columns": [{"table": "fruit", "column": "name", "method": "mask"}]}')
                    place.environment["FAILURE_ARTIFACTS_REDACTIONS"] = str(rules)
                process = place.start(f"{TESTS}/testDies")
                harness.lines_until(process, b"hanging")
                try:
                    (recorder,) = (place.artifacts / ".in-flight").glob("recorder-*")
                    self.assertEqual(recorder.stat().st_mode & 0o777, 0o600)
                    content = recorder.read_bytes()
                finally:
                    process.kill()
                    process.communicate()
                for text in (b"INSERT INTO", b"UPDATE fruit", b"prune"):
                    self.assertIs(text in content, is_there, text)
                (bundle,) = self.swept(place)
                self.assertIs(any("statements" in store for store in bundle.metadata["stores"]), is_there)
                self.assertIs(any(name.startswith("statements/") for name in bundle.names), is_there)

    def test_closed_descriptors(self):
        place = self.place(SUITE_DEATH="SIGKILL")
        own = place.directory / "own"
        own.mkdir()
        place.environment["SUITE_OWN_FILES"] = str(own)
        bundle = self.killed(place, f"{TESTS}/testClosesDescriptors")
        self.assertEqual({file.read_bytes() for file in own.iterdir()}, {b"mine"})
        self.assertEqual(len(list(own.iterdir())), 61)
        (store,) = self.in_memory(bundle)
        texts = [record["sql"] for record in bundle.statements(store)]
        self.assertIn("INSERT INTO fruit (name) VALUES ('before')", texts)

    def test_fork(self):
        bundle = self.killed(self.place(SUITE_DEATH="SIGKILL"), f"{TESTS}/testForks")
        (memory,) = self.in_memory(bundle)
        for store, last in ((memory, "prune"), (bundle.described("forked"), "pear")):
            texts = [record["sql"] for record in bundle.statements(store)]
            self.assertEqual([text for text in texts if "of the child" in text], [])
            self.assertEqual(texts[-1], f"INSERT INTO fruit (name) VALUES ('{last}')")


def give_another_build_id(executable):
    """Changes the linker's identifier of a file's content, as a build of changed sources does."""
    with open(executable, "r+b") as file:
        content = file.read(1 << 20)
        # An ELF note: the lengths of its name and content, type 3 (NT_GNU_BUILD_ID), and the name.
        note = re.search(rb"\x04\0\0\0(.)\0\0\0\x03\0\0\0GNU\0", content, re.DOTALL)
        file.seek(note.end())
        file.write(bytes(byte ^ 0xff for byte in content[note.end():note.end() + note[1][0]]))


class Hindrances(RecorderCase):
    """Tests pass or fail as without the product if the recorder's file can't be created, or can't grow."""

    def status(self, directory, prefix=(), before=None, **variables):
        scratch = directory / "tmp"
        scratch.mkdir(exist_ok=True)
        process = subprocess.run(
            [*prefix, str(EXECUTABLE), f"{TESTS}/testRunsManyStatements"], cwd=directory, preexec_fn=before,
            env={**clean_environment(scratch), **variables}, capture_output=True, text=True, timeout=120)
        return process.returncode, timeless(process.stdout)

    def assertUnhindered(self, **options):
        with tempfile.TemporaryDirectory(prefix="recorder ") as name:
            expected = self.status(pathlib.Path(name), **options, FAILURE_ARTIFACTS="off")
        self.assertEqual(expected[0], 0)
        with tempfile.TemporaryDirectory(prefix="recorder ") as name:
            self.assertEqual(self.status(pathlib.Path(name), **options), expected)

    def test_the_directory_cannot_be_created(self):
        self.assertUnhindered(FAILURE_ARTIFACTS_DIR=f"{__file__}/artifacts")
        self.assertUnhindered(FAILURE_ARTIFACTS_DIR=f"{__file__}/artifacts", TMPDIR=f"{__file__}/tmp")

    @unittest.skipUnless(LINUX, "The limits are those of Linux.")
    def test_files_may_not_grow(self):
        import resource

        for limit in (64 << 10, 1 << 20):
            with self.subTest(limit):
                self.assertUnhindered(before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    @unittest.skipUnless(LINUX, "The file system is mounted for the process alone.")
    def test_full_file_system(self):
        with tempfile.TemporaryDirectory(prefix="recorder ") as name:
            mounted = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", name], capture_output=True)
            if mounted.returncode != 0:
                self.skipTest("Nothing can be mounted here.")
            for size in (4, 8, 16, 64, 200, 600):
                with self.subTest(size):
                    mount = f'mount -t tmpfs -o size={size}k none "$0" && exec "$@"'
                    self.assertUnhindered(
                        prefix=("unshare", "--mount", "sh", "-c", mount, name), FAILURE_ARTIFACTS_DIR=name)


class RandomKills(RecorderCase):
    """Processes killed at random points in time leave whole statements."""

    def run_for(self, place, wait):
        process = place.start(f"{TESTS}/testRunsNumberedStatementsForEver")
        harness.lines_until(process, b"running")
        time.sleep(wait)
        process.kill()
        process.communicate()
        return process.returncode

    def test_while_statements_run(self):
        dice = random.Random(SEED)
        # One symbolizer for each process would take most of the time. Under supervision, no process sweeps.
        place = self.place(
            FAILURE_ARTIFACTS_RUN="1", FAILURE_ARTIFACTS_SOURCE_LINES="off", FAILURE_ARTIFACTS_MAX_BUNDLES=str(KILLS),
            FAILURE_ARTIFACTS_STATEMENTS="500")
        waits = [dice.uniform(0, 0.05) for _ in range(KILLS)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            statuses = list(pool.map(lambda wait: self.run_for(place, wait), waits))
        self.assertEqual(statuses, [-signal.SIGKILL] * KILLS)
        bundles = [harness.Bundle(path) for path in place.sweep()]
        self.assertEqual(place.in_flight, [])
        self.assertEqual(len(bundles), KILLS)
        with_statements = sum(self.check_statements(bundle) for bundle in bundles)
        self.assertGreater(with_statements, KILLS)

    def check_statements(self, bundle):
        """Checks the statements of both threads. Returns the number of threads that ran any."""
        found = 0
        for name in ("numbered", "numbers"):
            records = bundle.statements(bundle.described(name))
            self.assertEqual(len({record["connection"] for record in records}), 1)
            self.assertEqual({record["phase"] for record in records}, {"test"})
            # Older ones that stand for others come first.
            records = [record for record in records if "repeated" not in record]
            self.assertLessEqual(len(records), 500)
            numbers = []
            for index, record in enumerate(records):
                match = re.fullmatch(r"INSERT INTO numbers VALUES \((\d+), (\d+)\) -- (x*)\.", record["sql"])
                if not match:
                    # The three statements before the first one.
                    self.assertEqual(numbers, [])
                    self.assertRegex(
                        record["sql"], r"^(PRAGMA (journal_mode = wal|synchronous = off)|CREATE TABLE .*b\))$")
                    continue
                number = int(match[1])
                self.assertEqual((int(match[2]), len(match[3])), (3 * number, number * 37 % 701))
                self.assertIn(record.get("changes"), (1,) if index + 1 < len(records) else (None, 1))
                numbers.append(number)
            if numbers:
                self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)))
                # The store has all rows of statements that ended.
                ((rows,),) = bundle.store(name).query("SELECT max(a) FROM numbers")
                self.assertIn(rows if rows else 0, (numbers[-1] - 1, numbers[-1]))
                found += 1
        return found
