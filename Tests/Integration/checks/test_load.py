"""More failures, connections, stores, threads and processes than real projects have at once."""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

import harness
from harness import EXECUTABLE, TOOL, SuiteCase, clean_environment, run

# The number of failures in one run of tests. 10,000 take some minutes.
FAILURES = int(os.environ.get("INTEGRATION_LOAD", "500"))
FAILING = "RawSuite.FailingSuiteTests"
MEBIBYTE = 1 << 20


def fail(directory, count, **variables):
    """Runs failing tests. Returns their standard error and the maximum memory of the process."""
    directory.mkdir()
    with open(directory / "errors.txt", "wb") as errors:
        status, peak = harness.measured(
            [EXECUTABLE, FAILING], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=errors, env=clean_environment(directory, LOAD_FAILURES=str(count), **variables))
    assert status == 0, (directory / "errors.txt").read_text()
    return (directory / "errors.txt").read_text(), peak


def numbers(artifacts):
    """The number of bundles of each test, by the test's number."""
    names = [path.name for path in artifacts.glob("*.zip")]
    return collections.Counter(int(re.fullmatch(r"FailingTest\.test(\d+)-[0-9a-f]{8}\.zip", name)[1]) for name in names)


def verify(artifacts):
    result = subprocess.run([TOOL, "verify", artifacts], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]


class Failures(SuiteCase):
    def test_many_with_the_defaults(self):
        """The first 200 failures have bundles. The others cost almost nothing, and one line reports them."""
        with tempfile.TemporaryDirectory(prefix="integration ") as name:
            directory = pathlib.Path(name)
            (_, few), (errors, many) = fail(directory / "few", 205), fail(directory / "many", FAILURES)
            self.assertEqual(numbers(directory / "many" / "failure-artifacts"), dict.fromkeys(range(1, 201), 1))
            verify(directory / "many" / "failure-artifacts")
            others = [line for line in errors.splitlines() if "To find out why" not in line]
            self.assertEqual(len(errors.splitlines()), 201, others)
            self.assertEqual(sum("FAILURE_ARTIFACTS_MAX_BUNDLES" in line for line in errors.splitlines()), 1)
            self.assertLess(many - few, 32 * MEBIBYTE)

    def test_many_bundles(self):
        """Each failure has a bundle. The disk space, and the memory while packing, are proportionate."""
        with tempfile.TemporaryDirectory(prefix="integration ") as name:
            directory = pathlib.Path(name)
            unlimited = {"FAILURE_ARTIFACTS_MAX_BUNDLES": "1000000"}
            _, few = fail(directory / "few", 100, **unlimited)
            _, many = fail(directory / "many", FAILURES, **unlimited)
            artifacts = directory / "many" / "failure-artifacts"
            self.assertEqual(numbers(artifacts), dict.fromkeys(range(1, FAILURES + 1), 1))
            verify(artifacts)
            self.assertLess(sum(path.stat().st_size for path in artifacts.glob("*.zip")), FAILURES * 6000)
            self.assertLess(many - few, 32 * MEBIBYTE)


class Connections(SuiteCase):
    def test_thousand(self):
        (bundle,) = run("RawSuite.LoadTests/testThousandConnections", patience=300).bundles
        self.check_numbers(bundle, 1000)

    def test_threads(self):
        """64 threads fail at once. The bundle of the first one has all stores."""
        found = run("RawSuite.LoadTests/testSixtyFourThreads", patience=300)
        (bundle,) = found.bundles
        self.assertEqual(sum("thread " in line for line in bundle.messages), 64)
        self.check_numbers(bundle, 64)

    def check_numbers(self, bundle, count):
        """Each store has its own number, or gives the reason why it is missing."""
        stores = bundle.metadata["stores"]
        found = []
        for store in stores:
            if "entry" in store:
                (number,) = harness.Store(bundle.contents[store["entry"]]).rows()
                if path := store.get("originalPath"):
                    self.assertEqual(pathlib.PurePath(path).stem, f"store-{number}")
                found.append(int(number))
            else:
                self.assertTrue(store["capture"]["reason"].endswith("."), store)
        self.assertEqual(len(stores), count)
        self.assertEqual(len(set(found)), len(found))
        # A capture takes ten seconds at most.
        if not bundle.metadata["capture"]["limitsHit"]:
            self.assertEqual(sorted(found), list(range(count)))


class Processes(SuiteCase):
    def test_fifty(self):
        """Fifty processes share a directory. There are as many bundles as allowed."""
        directory = harness.fresh_directory(self)
        found = self.crowd(directory / "limited", FAILURE_ARTIFACTS_MAX_BUNDLES="100")
        self.assertEqual(sum(found.values()), 100)
        self.assertEqual(self.crowd(directory / "not"), {1: 50, 2: 50, 3: 50})

    def crowd(self, directory, **variables):
        directory.mkdir()
        artifacts = directory / "artifacts"

        def start(number):
            return fail(directory / str(number), 3, FAILURE_ARTIFACTS_DIR=str(artifacts), **variables)

        with concurrent.futures.ThreadPoolExecutor(max_workers=50) as pool:
            list(pool.map(start, range(50)))
        verify(artifacts)
        self.assertEqual([path.name for path in (artifacts / ".in-flight").glob("*")], [])
        return numbers(artifacts)


class Stores(SuiteCase):
    FIFTY = "RawSuite.ManyStoresTests/testFiftyOpenStores"

    def test_fifty_open_stores_and_little_room(self):
        """Each store has about 36 KB, of which 20 KB are incompressible."""
        limit = 500_000
        found = run(self.FIFTY, {
            "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES": str(limit), "FAILURE_ARTIFACTS_HISTORY": "off"})
        self.assertUnchanged(found, self.FIFTY)
        (bundle,) = found.bundles
        self.check(bundle)
        self.assertLess(bundle.size, limit)
        stores = bundle.metadata["stores"]
        self.assertEqual(len(stores), 50)
        copied = [store for store in stores if "entry" in store]
        self.assertGreater(len(copied), 5)
        self.assertLessEqual(sum(store["bytes"]["copy"] for store in copied), limit)
        for store in copied:
            number = store["originalPath"].rpartition("-")[2].removesuffix(".sqlite")
            self.assertEqual(bundle.store(f"store-{number}").rows(), ["apple", number])
        for store in stores:
            if "entry" not in store:
                self.assertEqual(store["capture"]["method"], "described")
                self.assertTrue(store["capture"]["reason"].endswith("."))
        self.assertEqual(bundle.metadata["capture"]["limitsHit"], ["FAILURE_ARTIFACTS_MAX_TOTAL_BYTES"])

    def test_passing_tests_leave_nothing(self):
        """No memory and no descriptors are left; the tests themselves check that."""
        found = run("RawSuite.ManyStoresTests/test1Passes,RawSuite.ManyStoresTests/test2PassesToo")
        self.assertEqual(found.status, 0, found.output)
        self.assertIn("Executed 2 tests, with 0 failures", found.output)
        self.assertTidy(found, 0)

    def test_a_vfs_of_the_application(self):
        bundle = self.leaves("RawSuite.DefaultFileSystemTests/testHasAVFSOfItsOwn")
        self.assertStores(bundle, ours=["apple"])
        self.assertEqual(bundle.described("ours")["vfs"], "application")
