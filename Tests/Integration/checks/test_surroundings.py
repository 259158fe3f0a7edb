"""Changes in a process's surroundings: clock, directories, umask, descriptors, forks, variables."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import EXECUTABLE, SuiteCase, clean_environment, copy_executable, timeless
from test_faults import SUITE as FAULTS, TOOL, preloaded

LINUX = sys.platform.startswith("linux")
SURROUNDINGS = "ExplicitSuite.SurroundingsTests"
NOBODY = 65534


def accessible(program, directory, prefix):
    """Returns the program; with a prefix that becomes another user, a copy outside the checkout, which may be private."""
    if not prefix:
        return str(program)
    copy = directory / "programs" / program.name
    copy.parent.mkdir(exist_ok=True)
    if not copy.exists():
        copy_executable(copy.parent) if program == EXECUTABLE else shutil.copy(program, copy)
    return str(copy)


def run(selection, directory, prefix=(), before=None, removed=(), stderr=subprocess.PIPE, cwd=None, **variables):
    """Runs tests in a directory. Returns the harness's result for the artifacts directory `failure-artifacts`."""
    scratch = directory / "tmp"
    scratch.mkdir(exist_ok=True)
    environment = clean_environment(scratch, **variables)
    for name in removed:
        del environment[name]
    process = subprocess.run(
        [*prefix, accessible(EXECUTABLE, directory, prefix), selection], cwd=cwd or directory, env=environment, stdout=subprocess.PIPE,
        stderr=stderr, text=True, encoding="utf-8", timeout=120, preexec_fn=before)
    process.stderr = process.stderr or ""
    return harness.read(process, directory / "failure-artifacts")


class Case(SuiteCase):
    def setUp(self):
        self.directory = harness.fresh_directory(self)
        # All users can access the directory, as with a checkout.
        self.directory.chmod(0o755)

    @property
    def artifacts(self):
        return self.directory / "failure-artifacts"

    def fails(self, selection, count=1, **options):
        """Runs tests, which behave as without capture and leave `count` bundles and no warning."""
        found = run(selection, self.directory, **options)
        self.assertSame(found, selection, **{name: options[name] for name in options if name.startswith("SUITE_")})
        self.assertEqual(found.warnings, [])
        self.assertTidy(found, count)
        for bundle in found.bundles:
            self.check(bundle)
        self.assertVerified()
        return found.bundles

    def fails_without_warning(self, directory=None, count=1, selection=f"{SURROUNDINGS}/testFails", **options):
        """Runs tests whose outputs may differ from those without capture."""
        found = run(selection, directory or self.directory, **options)
        self.assertEqual(found.status, 1, found.errors)
        self.assertEqual(found.warnings, [])
        self.assertTidy(found, count)
        return found.bundles

    def assertSame(self, found, selection, **variables):
        with tempfile.TemporaryDirectory(prefix="surroundings ") as name:
            yardstick = run(selection, pathlib.Path(name), FAILURE_ARTIFACTS="off", **variables)
        self.assertEqual(found.status, yardstick.status, found.errors)
        self.assertEqual(timeless(found.output), timeless(yardstick.output))
        self.assertEqual(found.others, yardstick.others)

    def assertVerified(self):
        if not list(self.artifacts.glob("*.zip")):
            return
        result = subprocess.run(
            [str(TOOL), "verify", str(self.artifacts)], capture_output=True, text=True,
            env=clean_environment(self.directory / "tmp"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


@unittest.skipUnless(LINUX, "A preloaded library provides the clock.")
class Clock(Case):
    def test_clocks(self):
        for clock, year in {
            "now:-100000": "", "now:100000": "", "0:-1000": "",
            # Before and after ZIP archives have times.
            "300000000:0": "", "7000000000:1": "2191-",
        }.items():
            with self.subTest(clock):
                bundles = self.fails_without_warning(count=7, selection=FAULTS, FAULTS_CLOCK=clock, **preloaded())
                self.assertVerified()
                for bundle in bundles:
                    self.assertEqual(list(harness.validator().iter_errors(bundle.metadata)), [])
                    self.assertTrue(bundle.metadata["capture"]["at"].startswith(year))
                    # Durations come from a clock that can't be set.
                    self.assertLess(bundle.metadata["capture"]["duration"], 5)
                    for store in bundle.metadata["stores"]:
                        self.assertTrue(0 <= store["capture"]["duration"] < 5)
                        self.assertIs(store["capture"]["consistent"], True)
                        for statement in bundle.statements(store) if "statements" in store else ():
                            self.assertTrue(0 <= statement.get("duration", 0) < 5, statement)
                shutil.rmtree(self.artifacts)

    def test_a_time_limit(self):
        result = subprocess.run(
            [str(TOOL), "run", "--timeout", "1s", "--", "sleep", "1000"], cwd=self.directory, timeout=60,
            capture_output=True, text=True,
            env=clean_environment(self.directory, FAULTS_CLOCK="now:100000", **preloaded()))
        self.assertIn("time limit", result.stderr)


class Directories(Case):
    def test_another_directory(self):
        for directory in ("failure-artifacts", "./failure-artifacts", "tmp/../failure-artifacts"):
            with self.subTest(directory):
                (bundle,) = self.fails(f"{SURROUNDINGS}/testChangesItsDirectory", FAILURE_ARTIFACTS_DIR=directory)
                self.assertEqual(
                    {store["name"]: store["originalPath"] for store in bundle.metadata["stores"]},
                    {"relative": str(self.directory / "relative.sqlite"),
                     "named": str(self.directory / "registered.sqlite")})
                self.assertStores(bundle, relative=["apple"], registered=["pear"])
                shutil.rmtree(self.artifacts)
                for path in self.directory.glob("*.sqlite*"):
                    path.unlink()

    def test_the_directory_is_gone(self):
        (bundle,) = self.fails(f"{SURROUNDINGS}/testRemovesItsDirectory")
        self.assertStores(bundle, gone=["apple"])
        self.assertEqual(bundle.contents["attachments/attached"], b"data")

    def test_the_directory_was_gone_from_the_start(self):
        """A relative path refers to nothing then. An absolute one works as always."""
        gone = self.directory / "gone"

        def start():
            os.chdir(gone)
            os.rmdir(gone)

        gone.mkdir()
        self.fails_without_warning(before=start, FAILURE_ARTIFACTS_DIR=str(self.artifacts))
        shutil.rmtree(self.artifacts)
        gone.mkdir()
        found = run(f"{SURROUNDINGS}/testFails", self.directory, before=start)
        self.assertEqual(found.status, 1)
        self.assertEqual(len(found.warnings), 1, found.said)
        self.assertIn("Set FAILURE_ARTIFACTS_DIR", found.warnings[0])
        self.assertIsNone(found.left)
        self.assertEqual(len(list((self.directory / "tmp" / "failure-artifacts").glob("*.zip"))), 1)

    def test_a_temporary_directory_of_no_name_or_that_is_not_there(self):
        for removed, variables in (
            (("TMPDIR",), {}), ((), {"TMPDIR": ""}), ((), {"TMPDIR": str(self.directory / "nowhere")})
        ):
            with self.subTest(variables):
                directory = self.directory / f"{len(variables)}{'nowhere' in str(variables)}"
                directory.mkdir()
                # This matters only to the suite, which would not find a directory for its stores.
                (bundle,) = self.fails_without_warning(
                    directory, removed=removed, SUITE_PLACE=str(self.directory), **variables)
                self.assertStores(bundle, first=["apple"])

    def test_no_home(self):
        rules = self.directory / "rules.json"
        rules.write_text('{"homePaths": "short"}')
        for variables in ({}, {"FAILURE_ARTIFACTS_REDACTIONS": str(rules)}):
            with self.subTest(variables):
                self.fails_without_warning(removed=("HOME",), **variables)
                shutil.rmtree(self.artifacts)


class Masks(Case):
    def permissions(self, path):
        return stat.S_IMODE(path.stat().st_mode)

    def test_masks(self):
        for mask in ("000", "022", "077", "777"):
            with self.subTest(mask):
                (bundle,) = self.fails(f"{SURROUNDINGS}/testSetsAMask", SUITE_UMASK=mask)
                self.assertStores(bundle, masked=["apple"])
                self.assertIn("snapshots/before/masked.sqlite", bundle.names)
                self.assertEqual(self.permissions(bundle.path), 0o600)
                self.assertEqual(self.permissions(self.artifacts), 0o700)
                shutil.rmtree(self.artifacts)


class Descriptors(Case):
    selection = f"{SURROUNDINGS}/testFails"

    def test_standard_streams_are_closed(self):
        """If a file got the number of a standard stream, printed text would be written to it."""
        for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            with self.subTest(closed=closed):
                found = run(FAULTS, self.directory, prefix=("sh", "-c", f'exec "$@" {closed}', "sh"))
                self.assertEqual(found.status, 1)
                self.assertTidy(found, 7)
                for bundle in found.bundles:
                    self.check(bundle)
                    self.assertEqual(bundle.metadata["warnings"], [])
                self.assertVerified()
                shutil.rmtree(self.artifacts)

    def test_standard_error_without_a_reader(self):
        """Writing to it must not end the process (SIGPIPE)."""
        file = self.directory / "a file"
        file.write_text("")
        # The product's own thread writes after the bundle is complete, the test's thread if there is no
        # bundle.
        for variables, count in (({}, 1), ({"FAILURE_ARTIFACTS_DIR": str(file)}, 0)):
            with self.subTest(count):
                reader, writer = os.pipe()
                os.close(reader)
                try:
                    found = run(self.selection, self.directory, stderr=writer, **variables)
                finally:
                    os.close(writer)
                self.assertEqual(found.status, 1)
                self.assertTidy(found, count)
                shutil.rmtree(self.artifacts, ignore_errors=True)

    @unittest.skipUnless(LINUX and os.path.exists("/dev/full"), "There is no device that is full.")
    def test_standard_error_takes_nothing(self):
        with open("/dev/full", "w") as full:
            found = run(self.selection, self.directory, stderr=full)
        self.assertEqual(found.status, 1)
        self.assertTidy(found, 1)

    @unittest.skipUnless(LINUX, "The limits are those of Linux.")
    def test_files_may_not_grow(self):
        """A write beyond the limit raises a signal, which would end the process (SIGXFSZ)."""
        import resource

        for limit in (0, 1000, 5000, 20_000):
            with self.subTest(limit):
                def lower():
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

                with tempfile.TemporaryDirectory(prefix="surroundings ") as name:
                    yardstick = run(self.selection, pathlib.Path(name), before=lower, FAILURE_ARTIFACTS="off")
                found = run(self.selection, self.directory, before=lower)
                self.assertEqual(found.status, yardstick.status)
                self.assertVerified()
                if self.artifacts.is_dir():
                    shutil.rmtree(self.artifacts)


class Forks(Case):
    def forks(self, name, count=0):
        found = run(f"ExplicitSuite.ForkTests/{name}", self.directory)
        self.assertSame(found, f"ExplicitSuite.ForkTests/{name}")
        self.assertEqual(found.warnings, [])
        self.assertTidy(found, count)
        self.assertEqual(len(found.said), count, found.said)
        self.assertVerified()
        if count:
            swept = subprocess.run(
                [str(TOOL), "sweep", str(self.artifacts)], capture_output=True, text=True,
                env=clean_environment(self.directory / "tmp"))
            self.assertEqual(swept.stdout, "")
            (bundle,) = found.bundles
            self.check(bundle)
            self.assertStores(bundle, before=["apple"])
            self.assertEqual(bundle.messages, ["failed - before the fork"])

    def test_children(self):
        for name, count in {
            "testChildEnds": 0, "testChildExits": 0, "testChildExitsAfterAFailure": 1, "testChildFails": 0,
            "testChildFailsAndExitsAfterAFailure": 1, "testChildUsesAStore": 0,
        }.items():
            with self.subTest(name):
                self.forks(name, count)
                shutil.rmtree(self.artifacts, ignore_errors=True)

    def test_child_uses_a_store_while_a_bundle_is_made(self):
        for attempt in range(int(os.environ.get("INTEGRATION_FORKS", "2"))):
            with self.subTest(attempt):
                found = run("ExplicitSuite.ForkTests", self.directory)
                self.assertNotIn("hangs", found.output)
                shutil.rmtree(self.artifacts)


@unittest.skipUnless(LINUX, "Other systems don't hold deleted files.")
class SmallDisk(Case):
    def test_deleted_stores_take_no_space(self):
        small = self.directory / "small"
        small.mkdir()
        mount = 'mount -t tmpfs -o size=32m none "$0" && exec "$@"'
        # An ordinary user may mount it in a user namespace, if the system allows these.
        for options in (("--mount",), ("--user", "--map-root-user", "--mount")):
            prefix = ("unshare", *options, "sh", "-c", mount, str(small))
            if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0:
                break
        else:
            self.skipTest("Nothing can be mounted here.")
        selection = f"{SURROUNDINGS}/testDeletesStoresOnASmallDisk"
        found = run(selection, self.directory, prefix=prefix, SUITE_PLACE=str(small))
        self.assertEqual([line for line in found.output.splitlines() if "error:" in line and "planned" not in line], [])
        (bundle,) = found.bundles
        self.assertEqual(bundle.messages, ["failed - planned"])
        stores = bundle.metadata["stores"]
        self.assertEqual(len(stores), 4)
        for store in stores:
            (warning,) = [
                warning for warning in bundle.metadata["warnings"]
                if warning.get("store") == store["name"] or warning.get("path") == store["originalPath"]]
            self.assertIn("Its files were not kept until the failure", warning["text"])


class ReadOnly(Case):
    """Directories that can't be written to."""

    selection = f"{SURROUNDINGS}/testFails"

    @property
    def fallback(self):
        return self.directory / "tmp" / "failure-artifacts"

    def warned(self, prefix, reason, artifacts=None, **options):
        """Runs a test. Returns the only warning, which says why the artifacts directory can't be used."""
        found = run(self.selection, self.directory, prefix=prefix, **options)
        self.assertSame(found, self.selection)
        (warning,) = found.warnings
        self.assertIn(f"No bundle can be written to '{artifacts or self.artifacts}'", warning)
        self.assertIn(reason, warning)
        self.assertIn("Set FAILURE_ARTIFACTS_DIR", warning)
        return warning

    def replaced(self, *where, **options):
        """The bundle is below the temporary directory, and one warning says so."""
        self.assertIn(f"Bundles go to '{self.fallback}' instead.", self.warned(*where, **options))
        self.check_fallback()

    def check_fallback(self):
        (path,) = self.fallback.glob("*.zip")
        self.assertEqual(stat.S_IMODE(self.fallback.stat().st_mode), 0o700)
        self.assertFalse((self.fallback / ".in-flight").exists())
        bundle = harness.Bundle(path)
        self.check(bundle)
        self.assertStores(bundle, first=["apple"])
        shutil.rmtree(self.fallback)

    def refused(self, *where, **options):
        """There is no bundle, and one warning says so."""
        self.assertNotIn("instead", self.warned(*where, **options))
        self.assertFalse(self.artifacts.exists())

    def supervised(self, prefix, **variables):
        """The same with `run`, which looks for the bundle there."""
        environment = clean_environment(self.directory / "tmp", **variables)
        tool, tests = (accessible(program, self.directory, prefix) for program in (TOOL, EXECUTABLE))
        command = [tool, "run", "--", tests, self.selection]
        process = subprocess.run(
            [*prefix, *command], cwd=self.directory, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertEqual(process.stderr.count("No bundle can be written to"), 1, process.stderr)
        self.assertIn(f"Bundles go to '{self.fallback}' instead.", process.stderr)
        self.assertIn("1 bundle in tmp/failure-artifacts", process.stderr)
        self.check_fallback()

    def own_temporary_directory(self, user=None):
        (self.directory / "tmp").mkdir()
        if user is not None:
            os.chown(self.directory / "tmp", user, user)

    as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    needs_a_user = unittest.skipUnless(
        LINUX and os.geteuid() == 0 and shutil.which("setpriv"), "There is no user to become.")

    @needs_a_user
    def test_directory_of_another_user(self):
        self.own_temporary_directory(NOBODY)
        self.replaced(self.as_nobody, "Permission denied", HOME=str(self.directory))
        self.supervised(self.as_nobody, HOME=str(self.directory))

    @needs_a_user
    def test_existing_directory_of_another_user(self):
        self.own_temporary_directory(NOBODY)
        self.artifacts.mkdir(mode=0o755)
        self.replaced(self.as_nobody, "Permission denied", HOME=str(self.directory))
        self.supervised(self.as_nobody, HOME=str(self.directory))
        self.assertEqual(list(self.artifacts.iterdir()), [])

    @needs_a_user
    def test_working_directory_at_the_root(self):
        """This is the case with Xcode."""
        self.own_temporary_directory(NOBODY)
        self.replaced(
            self.as_nobody, "Permission denied", artifacts="/failure-artifacts", HOME=str(self.directory), cwd="/")

    @needs_a_user
    def test_no_other_place_either(self):
        self.own_temporary_directory()
        place = self.directory / "place of the stores"
        place.mkdir()
        os.chown(place, NOBODY, NOBODY)
        self.refused(self.as_nobody, "Permission denied", HOME=str(self.directory), SUITE_PLACE=str(place))

    @needs_a_user
    def test_fallback_of_another_user(self):
        """A directory that another user has created is not used, because stores are private."""
        self.own_temporary_directory(NOBODY)
        self.fallback.mkdir()
        self.fallback.chmod(0o777)
        self.refused(self.as_nobody, "Permission denied", HOME=str(self.directory))
        self.assertEqual(list(self.fallback.iterdir()), [])

    def test_a_file_in_place_of_the_directory(self):
        self.own_temporary_directory()
        file = self.directory / "a file"
        file.write_text("content")
        for place in (file, file / "below"):
            with self.subTest(place.name):
                self.replaced((), "", artifacts=place, FAILURE_ARTIFACTS_DIR=str(place))
                self.supervised((), FAILURE_ARTIFACTS_DIR=str(place))
        self.assertEqual(file.read_text(), "content")

    def test_what_passes_says_nothing(self):
        file = self.directory / "a file"
        file.write_text("")
        found = run("ExplicitSuite.AttachmentTests/testAttachesAndPasses", self.directory, FAILURE_ARTIFACTS_DIR=str(file))
        self.assertEqual(found.status, 0)
        self.assertEqual(found.said, [])
        self.assertFalse(self.fallback.exists())

    def test_a_crash(self):
        """The next process also packs the bundle in the other directory."""
        self.own_temporary_directory()
        file = self.directory / "a file"
        file.write_text("")
        variables = {"FAILURE_ARTIFACTS_DIR": str(file)}
        crashed = run("RawSuite.CrashTests/testFatalError", self.directory, **variables)
        self.assertLess(crashed.status, 0)
        self.assertTrue((self.fallback / ".in-flight").is_dir())
        run("ExplicitSuite.AttachmentTests/testAttachesAndPasses", self.directory, **variables)
        (bundle,) = [harness.Bundle(path) for path in self.fallback.glob("*.zip")]
        self.check(bundle, outcome="crashed")
        self.assertFalse((self.fallback / ".in-flight").exists())

    @unittest.skipIf(os.geteuid() == 0, "Permissions do not bind root.")
    def test_without_permission(self):
        self.own_temporary_directory()
        self.directory.chmod(0o555)
        self.addCleanup(self.directory.chmod, 0o755)
        self.replaced((), "Permission denied")

    @unittest.skipUnless(LINUX, "The file system is mounted for the process alone.")
    def test_read_only_file_system(self):
        checkout = str(self.directory)
        mount = (
            'mount --bind "$0" "$0" && mount --bind "$1" "$1" && mount -o remount,bind,ro "$0" && cd "$0" && '
            'shift && exec "$@"')
        self.own_temporary_directory()
        prefix = ("unshare", "--mount", "sh", "-c", mount, checkout, f"{checkout}/tmp")
        if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
            self.skipTest("Nothing can be mounted here.")
        self.replaced(prefix, "Read-only file system")
        self.supervised(prefix)

    @unittest.skipUnless(LINUX, "The file system is mounted for the process alone.")
    def test_full_file_system(self):
        """A real file system, in addition to the fault library."""
        self.artifacts.mkdir(mode=0o700)
        if subprocess.run(
            ["unshare", "--mount", "mount", "-t", "tmpfs", "none", str(self.artifacts)], capture_output=True
        ).returncode != 0:
            self.skipTest("Nothing can be mounted here.")
        for size in (8, 16, 32, 64, 128):
            with self.subTest(size):
                mount = (
                    f'mount -t tmpfs -o size={size}k none "$0" && "$@"; status=$?; '
                    'cp -r "$0/." "$0-copy"; exit $status')
                copy = pathlib.Path(f"{self.artifacts}-copy")
                copy.mkdir()
                prefix = ("unshare", "--mount", "sh", "-c", mount, str(self.artifacts))
                found = run(FAULTS, self.directory, prefix=prefix)
                self.assertSame(found, FAULTS)
                bundles = sorted(copy.glob("*.zip"))
                for bundle in bundles:
                    harness.check_with_tools(harness.Bundle(bundle))
                if len(bundles) < 7:
                    self.assertTrue(any("No space left on device" in warning for warning in found.warnings))
                shutil.rmtree(copy)


class Variables(SuiteCase):
    """Values that can't be read are warnings; `ConfigurationTests` has each one."""

    FAILING = "RawSuite.CopyTests/testRowsInTheWAL"

    def test_several_at_once(self):
        found = harness.run(self.FAILING, {name: "?" for name in ("FAILURE_ARTIFACTS", "FAILURE_ARTIFACTS_MAX_BUNDLES")})
        self.assertUnchanged(found, self.FAILING)
        self.assertEqual(len(found.warnings), 2, found.errors)
        for warning, words in zip(sorted(found.warnings), (
                ("FAILURE_ARTIFACTS ", "'?'", "first-failure"), ("FAILURE_ARTIFACTS_MAX_BUNDLES", "'?'", "200"))):
            for word in words:
                self.assertIn(word, warning)
        self.assertTidy(found, 1)
        self.assertEqual(found.bundles[0].store("wal").rows(), ["apple", "pear"])

    def test_no_warning_where_nothing_is_captured(self):
        found = harness.run(self.FAILING, {"FAILURE_ARTIFACTS": "off", "FAILURE_ARTIFACTS_MAX_BUNDLES": "?"})
        self.assertTidy(found, 0)
        self.assertEqual(found.output.count("FAILURE_ARTIFACTS"), 0)

    def test_listing_is_silent(self):
        found = harness.run("--list-tests", {"FAILURE_ARTIFACTS": "sometimes"})
        self.assertEqual(found.errors, "")
        self.assertTidy(found, 0)
