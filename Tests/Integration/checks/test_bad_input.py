"""Invalid input is reported in one sentence and doesn't change a test's result."""

import contextlib
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile

from harness import SuiteCase, launch, read, run

FAILING = "RawSuite.CopyTests/testRowsInTheWAL"
LARGE = "RawSuite.VanishedTests/testLargeStoreInMemory"


class Places(SuiteCase):
    """Directories that can't be written to."""

    def assertFallsBack(self, found, selection, *words):
        """There is one warning, and a bundle in the temporary directory."""
        self.assertUnchanged(found, selection)
        self.assertEqual(len(found.said), 2, found.errors)
        self.assertEqual(len(found.warnings), 1, found.errors)
        for word in (*words, "Bundles go to"):
            self.assertIn(word, found.warnings[0])
        self.assertTrue(found.warnings[0].endswith("."), found.warnings[0])
        self.assertRegex(found.said[1], r"failure-artifacts explain \S+/[0-9a-f]{8}$")

    def assertNothingHalfWritten(self, artifacts):
        for path in pathlib.Path(artifacts).rglob("*"):
            self.assertNotEqual(path.suffix, ".zip", f"{path} was left")
            if path.is_file():
                self.assertLess(path.stat().st_size, 4096, f"{path} was left")

    def test_a_file_in_its_place(self):
        with tempfile.TemporaryDirectory() as name:
            (pathlib.Path(name) / "failure-artifacts").write_text("mine")
            found = read(launch(FAILING, pathlib.Path(name), {}), pathlib.Path(name) / "failure-artifacts")
            self.assertEqual((pathlib.Path(name) / "failure-artifacts").read_text(), "mine")
        self.assertFallsBack(found, FAILING, "failure-artifacts")

    def test_below_a_file(self):
        with tempfile.NamedTemporaryFile() as file:
            place = f"{file.name}/artifacts"
            found = run(FAILING, {"FAILURE_ARTIFACTS_DIR": place})
        self.assertFallsBack(found, FAILING, place)

    def test_unwritable_place(self):
        # Root can write anywhere except to a file system without files.
        place = "/proc/artifacts" if pathlib.Path("/proc/self").exists() else "/System/artifacts"
        found = run(FAILING, {"FAILURE_ARTIFACTS_DIR": place})
        self.assertFallsBack(found, FAILING, place)

    def assertDiskFull(self, found, artifacts):
        """There is no bundle or one that lists the missing parts, one sentence on the store, and one on the bundle."""
        self.assertUnchanged(found, LARGE)
        unwritten = [line for line in found.warnings if "could not be written" in line]
        self.assertEqual(len(found.bundles) + len(unwritten), 1, found.errors)
        uncopied = [line for line in found.warnings if "was not copied" in line]
        self.assertEqual(len(uncopied), 1, found.errors)
        for bundle in found.bundles:
            self.check(bundle)
            self.assertEqual([name for name in bundle.names if name.startswith("stores/")], [])
            for warning in bundle.metadata["warnings"]:
                self.assertTrue(any(line.endswith(warning["text"]) for line in found.warnings), found.warnings)
        if not found.bundles:
            self.assertNothingHalfWritten(artifacts)

    def test_full_disk(self):
        # The largest disk has space for a bundle without its store, the smallest for one file.
        for kibibytes in (256, 8, 4):
            with self.subTest(kibibytes=kibibytes), tempfile.TemporaryDirectory() as name, full_disk(
                pathlib.Path(name), kibibytes
            ) as (artifacts, wrapper):
                process = launch(
                    LARGE, pathlib.Path(name), {"FAILURE_ARTIFACTS_DIR": str(artifacts)}, wrapper=wrapper)
                self.assertDiskFull(read(process, artifacts), artifacts)

    def test_limited_file_size(self):
        """A limit on the size of files that is too small for the capture works on any machine."""

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (262_144, 262_144))

        with tempfile.TemporaryDirectory() as name:
            artifacts = pathlib.Path(name) / "failure-artifacts"
            found = read(launch(LARGE, pathlib.Path(name), {}, preexec_fn=limit), artifacts)
            self.assertDiskFull(found, artifacts)


@contextlib.contextmanager
def full_disk(directory, kibibytes):
    """A directory on a very small file system, and the command prefix that mounts it for a program.

    If mounting is not allowed, a limit on the size of files takes its place.
    """
    place = directory / "full"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(place)]
    if shutil.which("mount") and subprocess.run(mount, capture_output=True).returncode == 0:
        try:
            yield place / "artifacts", ()
        finally:
            subprocess.run(["umount", str(place)], check=True)
        return
    # The unit is a block of 512 bytes.
    limit = f'trap "" XFSZ; ulimit -f {2 * kibibytes}; exec "$@"'
    yield place / "artifacts", ["sh", "-c", limit, "sh"]


class Variables(SuiteCase):
    """Each invalid value gives a warning with the value used instead."""

    def assertWarned(self, name, value, fallback):
        found = run(FAILING, {name: value})
        self.assertUnchanged(found, FAILING)
        self.assertEqual(len(found.warnings), 1, found.errors)
        for word in (name, f"'{value}'", fallback):
            self.assertIn(word, found.warnings[0])
        self.assertTidy(found, 1)
        self.check(found.bundles[0])
        self.assertEqual(found.bundles[0].store("wal").rows(), ["apple", "pear"])

    def test_mode(self):
        self.assertWarned("FAILURE_ARTIFACTS", "sometimes", "first-failure")

    def test_discovery(self):
        self.assertWarned("FAILURE_ARTIFACTS_DISCOVERY", "maybe", "on")

    def test_sizes(self):
        for value in ("1 GB", "-1", "1e9", "99999999999999999999"):
            with self.subTest(value):
                self.assertWarned("FAILURE_ARTIFACTS_MAX_STORE_BYTES", value, "1073741824")
        self.assertWarned("FAILURE_ARTIFACTS_MAX_TOTAL_BYTES", "much", "4294967296")

    def test_count(self):
        self.assertWarned("FAILURE_ARTIFACTS_MAX_BUNDLES", "200.5", "200")

    def test_several_at_once(self):
        names = ["FAILURE_ARTIFACTS", "FAILURE_ARTIFACTS_MAX_BUNDLES"]
        found = run(FAILING, {name: "?" for name in names})
        self.assertEqual(len(found.warnings), 2, found.errors)

    def test_no_warning_where_nothing_is_captured(self):
        found = run(FAILING, {"FAILURE_ARTIFACTS": "off", "FAILURE_ARTIFACTS_MAX_BUNDLES": "?"})
        self.assertTidy(found, 0)
        self.assertEqual(found.output.count("FAILURE_ARTIFACTS"), 0)

    def test_listing_is_silent(self):
        found = run("--list-tests", {"FAILURE_ARTIFACTS": "sometimes"})
        self.assertEqual(found.errors, "")
        self.assertTidy(found, 0)


class Limits(SuiteCase):
    """Limits are kept and reported."""

    def test_large_store(self):
        found = run(FAILING, {"FAILURE_ARTIFACTS_MAX_STORE_BYTES": "1000"})
        self.assertUnchanged(found, FAILING)
        self.assertTidy(found, 1)
        bundle = found.bundles[0]
        store = bundle.described("wal")
        self.assertNotIn("entry", store)
        self.assertEqual(store["capture"]["method"], "described")
        self.assertEqual(bundle.metadata["capture"]["limitsHit"], ["FAILURE_ARTIFACTS_MAX_STORE_BYTES"])

    def test_number_of_bundles(self):
        with tempfile.TemporaryDirectory() as name:
            for _ in range(3):
                process = launch(FAILING, pathlib.Path(name), {"FAILURE_ARTIFACTS_MAX_BUNDLES": "2"})
            found = read(process, pathlib.Path(name) / "failure-artifacts")
        self.assertUnchanged(found, FAILING)
        self.assertTidy(found, 2)
        self.assertIn("FAILURE_ARTIFACTS_MAX_BUNDLES", found.errors)

    def test_bytes_of_all_bundles(self):
        found = run(LARGE, {"FAILURE_ARTIFACTS_MAX_TOTAL_BYTES": "100000"})
        self.assertUnchanged(found, LARGE)
        self.assertLessEqual(sum(bundle.size for bundle in found.bundles), 100_000)
        for bundle in found.bundles:
            limits = bundle.metadata["capture"]["limitsHit"]
            self.assertEqual(limits, ["FAILURE_ARTIFACTS_MAX_TOTAL_BYTES"])
        self.assertIn("FAILURE_ARTIFACTS_MAX_TOTAL_BYTES", found.errors)
