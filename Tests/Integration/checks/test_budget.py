"""The limits of the artifacts directory, with 5 processes in which 300 tests fail at once."""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import threading
import time
import zipfile

import harness
from harness import EXECUTABLE, TOOL, SuiteCase, clean_environment

SELECTION = ("--testing-library", "swift-testing", "--filter", r"^TestingSuite\.BudgetTests")
PROCESSES = 5
TESTS = 63
SEED = int(os.environ.get("INTEGRATION_SEED", "20261121"))
# The failures that may be captured but not packed yet, of which any may be packed first: each process has eight that
# wait, one that is being packed, and one that is being captured.
AT_ONCE = 10 * PROCESSES


class Seen:
    """The maximum usage at any time, observed from outside."""

    def __init__(self, artifacts, volume=None):
        self.artifacts = artifacts
        self.volume = volume
        self.bundles = self.bytes = self.all_bytes = self.looks = 0
        self.largest = 0
        self.least_free = None
        self.done = threading.Event()

    def look(self):
        sizes = []
        with contextlib.suppress(FileNotFoundError):
            for entry in os.scandir(self.artifacts):
                if entry.name.endswith(".zip"):
                    with contextlib.suppress(FileNotFoundError):
                        sizes.append(entry.stat().st_size)
        everything = 0
        for folder, _, names in os.walk(self.artifacts):
            for name in names:
                with contextlib.suppress(OSError):
                    status = os.stat(os.path.join(folder, name))
                    # Flight recorders are sparse.
                    everything += min(status.st_size, 512 * status.st_blocks)
        self.looks += 1
        self.bundles = max(self.bundles, len(sizes))
        self.bytes = max(self.bytes, sum(sizes))
        self.largest = max([self.largest, *sizes])
        self.all_bytes = max(self.all_bytes, everything)
        if self.volume:
            status = os.statvfs(self.volume)
            free = status.f_bavail * status.f_frsize
            self.least_free = free if self.least_free is None else min(self.least_free, free)

    @contextlib.contextmanager
    def watching(self):
        def watch():
            while not self.done.is_set():
                self.look()
                time.sleep(0.002)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield self
        finally:
            self.done.set()
            thread.join()
            self.look()


class Crowd:
    """Processes that run at the same time with one artifacts directory."""

    def __init__(self, directory, artifacts=None, **variables):
        self.directory = pathlib.Path(directory)
        self.artifacts = artifacts or self.directory / "failure-artifacts"
        self.log = self.directory / "log"
        self.log.touch()
        scratch = self.directory / "tmp"
        scratch.mkdir()
        self.environment = clean_environment(
            scratch, BUDGET_LOG=str(self.log), FAILURE_ARTIFACTS_DIR=str(self.artifacts),
            **{name: str(value) for name, value in variables.items()})

    def start(self, count=PROCESSES):
        processes = []
        for index in range(count):
            with open(self.directory / f"errors-{index}", "wb") as errors:
                processes.append(subprocess.Popen(
                    [str(EXECUTABLE), *SELECTION], cwd=self.directory, env=self.environment,
                    stdout=subprocess.DEVNULL, stderr=errors))
        return processes

    def run(self, count=PROCESSES, **options):
        """Runs the processes to their end, and returns the maximum usage."""
        seen = Seen(self.artifacts, **options)
        with seen.watching():
            for process in self.start(count):
                assert process.wait(timeout=300) == 1, self.errors
        return seen

    @property
    def errors(self):
        return "".join(path.read_text(errors="replace") for path in sorted(self.directory.glob("errors-*")))

    @property
    def order(self):
        """The failures in the order in which they happened, as process and number."""
        return [tuple(map(int, line.split())) for line in self.log.read_text().splitlines()]

    def bundles(self):
        """The metadata, the entries' names and the size of each bundle, by process and number."""
        found = {}
        for path in self.artifacts.glob("*.zip"):
            with zipfile.ZipFile(path) as archive:
                assert archive.testzip() is None, path
                metadata = json.loads(archive.read("metadata.json"))
                key = metadata["environment"]["processID"], int(metadata["test"]["arguments"][0])
                assert key not in found, f"two bundles of {key}"
                found[key] = metadata, archive.namelist(), path
        return found

    def tool(self, *words, **options):
        return subprocess.run(
            [TOOL, *map(str, words)], env=self.environment, cwd=self.directory, capture_output=True, text=True, timeout=300,
            **options)


class BudgetCase(SuiteCase):
    framework = "Swift Testing"

    def setUp(self):
        self.directory = harness.fresh_directory(self)

    def assertSound(self, crowd):
        """All bundles are complete, and no other files are left."""
        result = crowd.tool("verify", crowd.artifacts)
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr[-2000:])
        self.assertEqual(len(result.stdout.splitlines()), len(list(crowd.artifacts.glob("*.zip"))))
        left = {entry.name for entry in crowd.artifacts.iterdir() if not entry.name.endswith(".zip")}
        self.assertLessEqual(left, {".gitignore", ".budget"})
        for metadata, names, _ in crowd.bundles().values():
            errors = [f"{e.json_path}: {e.message}" for e in harness.validator().iter_errors(metadata)]
            self.assertEqual(errors, [])
            for store in metadata["stores"]:
                self.assertTrue("entry" not in store or store["entry"] in names)

    def assertFirst(self, crowd, kept):
        """The kept bundles are those of the first failures, as far as the order is known."""
        first = set(crowd.order[:len(kept)])
        self.assertLessEqual(len(first - kept), AT_ONCE, f"{len(kept)} of {len(crowd.order)}")

    def kept(self, crowd):
        return {key for key, (metadata, _, _) in crowd.bundles().items() if "entry" in metadata["stores"][0]}

    def assertDescribed(self, crowd, limit):
        """Omitted parts are reported."""
        count = 0
        for metadata, names, _ in crowd.bundles().values():
            (store,) = metadata["stores"]
            if "entry" in store:
                self.assertIn(store["entry"], names)
                continue
            count += 1
            self.assertEqual(store["capture"]["method"], "described")
            self.assertEqual(metadata["capture"]["limitsHit"], [limit])
            self.assertEqual(metadata["warnings"][0]["limit"], limit)
        return count


class Limits(BudgetCase):
    def test_number_of_bundles(self):
        crowd = Crowd(self.directory, FAILURE_ARTIFACTS_MAX_BUNDLES=100, BUDGET_BYTES=1000)
        seen = crowd.run()
        self.assertEqual(len(crowd.order), PROCESSES * TESTS)
        self.assertEqual(seen.bundles, 100)
        self.assertGreater(seen.looks, 10)
        self.assertEqual(len(self.kept(crowd)), 100)
        self.assertFirst(crowd, set(crowd.bundles()))
        self.assertSound(crowd)
        # Each process reports it at most once.
        said = [line for line in crowd.errors.splitlines() if "FAILURE_ARTIFACTS_MAX_BUNDLES" in line]
        self.assertLessEqual(1, len(said))
        self.assertLessEqual(len(said), PROCESSES)

    def test_bytes_of_all(self):
        limit = 4_000_000
        crowd = Crowd(
            self.directory, FAILURE_ARTIFACTS_MAX_TOTAL_BYTES=limit, FAILURE_ARTIFACTS_MAX_BUNDLES=10_000,
            BUDGET_BYTES=30_000)
        seen = crowd.run()
        self.assertLessEqual(seen.bytes, limit)
        # A bundle being packed exists twice.
        self.assertLessEqual(seen.all_bytes, 2 * limit)
        kept = self.kept(crowd)
        # Three quarters of the limit are for copies of about 36 KB each, as far as there is room with their histories.
        self.assertGreater(len(kept), 30)
        self.assertLess(len(kept), 110)
        self.assertFirst(crowd, kept)
        described = self.assertDescribed(crowd, "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES")
        self.assertGreater(described, 100)
        self.assertSound(crowd)

    def test_no_room_for_descriptions_either(self):
        limit = 300_000
        crowd = Crowd(
            self.directory, FAILURE_ARTIFACTS_MAX_TOTAL_BYTES=limit, FAILURE_ARTIFACTS_MAX_BUNDLES=10_000,
            BUDGET_BYTES=10_000)
        seen = crowd.run()
        self.assertLessEqual(seen.bytes, limit)
        self.assertLess(len(crowd.bundles()), PROCESSES * TESTS)
        self.assertFirst(crowd, set(crowd.bundles()))
        self.assertIn("FAILURE_ARTIFACTS_MAX_TOTAL_BYTES", crowd.errors)
        self.assertSound(crowd)

    def test_bytes_of_a_bundle(self):
        for bytes_, described in ((100_000, 2 * TESTS), (20_000, 0)):
            with self.subTest(bytes_), tempfile.TemporaryDirectory() as directory:
                crowd = Crowd(
                    directory, FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES=80_000, FAILURE_ARTIFACTS_MAX_BUNDLES=10_000,
                    BUDGET_BYTES=bytes_)
                seen = crowd.run(2)
                self.assertLessEqual(seen.largest, 80_000)
                self.assertEqual(self.assertDescribed(crowd, "FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES"), described)
                self.assertEqual(len(crowd.bundles()), 2 * TESTS)
                self.assertSound(crowd)

    def test_free_space_of_a_small_volume(self):
        size, least = 48 << 20, 32 << 20
        volume = pathlib.Path(self.directory) / "volume"
        volume.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(volume)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("Only root may mount a volume.")
        try:
            crowd = Crowd(
                self.directory, artifacts=volume / "artifacts", FAILURE_ARTIFACTS_MIN_FREE_BYTES=least,
                FAILURE_ARTIFACTS_MAX_BUNDLES=10_000, BUDGET_BYTES=100_000)
            seen = crowd.run(volume=volume)
            self.assertGreaterEqual(seen.least_free, least)
            self.assertFirst(crowd, self.kept(crowd))
            self.assertGreater(len(self.kept(crowd)), 20)
            self.assertGreater(self.assertDescribed(crowd, "FAILURE_ARTIFACTS_MIN_FREE_BYTES"), 100)
            self.assertSound(crowd)
        finally:
            subprocess.run(["umount", str(volume)], check=True)

    def test_the_run_counts_what_was_left_out(self):
        crowd = Crowd(self.directory, FAILURE_ARTIFACTS_MAX_BUNDLES=60, BUDGET_BYTES=1000)
        result = crowd.tool("run", "--", EXECUTABLE, *SELECTION)
        self.assertEqual(result.returncode, 1)
        lines = [line for line in result.stderr.splitlines() if "left no bundle" in line]
        self.assertEqual(len(lines), 1, result.stderr[-2000:])
        self.assertIn("3 further failures left no bundle", lines[0])
        self.assertIn("FAILURE_ARTIFACTS_MAX_BUNDLES", lines[0])
        # One run more, which leaves no bundles at all.
        result = crowd.tool("run", "--", EXECUTABLE, *SELECTION)
        lines = [line for line in result.stderr.splitlines() if "left no bundle" in line]
        self.assertEqual(len(lines), 1, result.stderr[-2000:])
        self.assertIn(f"{TESTS} further failures left no bundle", lines[0])


class Locks(BudgetCase):
    def test_a_lock_that_is_never_given_back(self):
        """A process that was stopped with the lock delays others for five seconds, and no bundle is lost."""
        crowd = Crowd(self.directory, FAILURE_ARTIFACTS_MAX_BUNDLES=10_000, BUDGET_BYTES=1000)
        crowd.artifacts.mkdir()
        with open(crowd.artifacts / ".budget", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            crowd.run()
            self.assertEqual(len(crowd.bundles()), PROCESSES * TESTS)
        self.assertSound(crowd)
        # The file is right again.
        crowd.environment["FAILURE_ARTIFACTS_MAX_BUNDLES"] = str(PROCESSES * TESTS + 5)
        self.assertEqual(crowd.run(1).bundles, PROCESSES * TESTS + 5)


class Deaths(BudgetCase):
    def test_kills_in_between(self):
        """Processes may die at any time: the limits hold, and no space stays reserved."""
        limit, most = 6_000_000, 300
        chance = random.Random(SEED)
        crowd = Crowd(
            self.directory, FAILURE_ARTIFACTS_MAX_TOTAL_BYTES=limit, FAILURE_ARTIFACTS_MAX_BUNDLES=most,
            BUDGET_BYTES=20_000)
        seen = Seen(crowd.artifacts)
        with seen.watching():
            processes = crowd.start()
            # Wait until they are packing, then kill each at a different point in time.
            while len(crowd.order) < 20:
                time.sleep(0.001)
            for process in processes[:PROCESSES // 2]:
                goal = len(crowd.order) + chance.randrange(25)
                while len(crowd.order) < goal and process.poll() is None:
                    time.sleep(0.0005)
                process.send_signal(signal.SIGKILL)
            for process in processes:
                process.wait(timeout=300)
            # Recover the bundles of dead processes.
            result = crowd.tool("sweep", crowd.artifacts)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(seen.bytes, limit, f"seed {SEED}")
        self.assertLessEqual(seen.bundles, most)
        self.assertSound(crowd)
        # That many more bundles fit, and no more.
        count = len(list(crowd.artifacts.glob("*.zip")))
        for name, value in (("MAX_BUNDLES", count + 5), ("MAX_TOTAL_BYTES", 1 << 30)):
            crowd.environment["FAILURE_ARTIFACTS_" + name] = str(value)
        self.assertEqual(Crowd.run(crowd, 1).bundles, count + 5)
        self.assertSound(crowd)
