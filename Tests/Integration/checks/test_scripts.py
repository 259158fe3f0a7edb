"""The scripts: the files of `Scripts/release`, installing the tool, and how `Scripts/soak` judges what it finds.

A released program needs no Swift. The sanitizer reports that are taken for the product's, and the test of significance
come from `Scripts/lib`.
"""

import collections
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from harness import BUILD, BUILT_TOOL, NEEDS, ROOT, TOOL, fresh_directory

sys.path.append(str(ROOT / "Scripts/lib"))

import sanitizers  # noqa: E402
import soak  # noqa: E402

FILES = BUILD / "release-files"
SYSTEM = f"{platform.system().lower()}-{platform.machine()}"
# The only libraries that the program may need: libc with its parts, libsqlite3 and zlib.
ALLOWED = r"libc\.so\.6|libm\.so\.6|ld-linux-[\w-]+\.so\.\d|libsqlite3\.so\.0|libz\.so\.1"
MAXIMUM = 12 << 20
THREAD = f"""\
==================
WARNING: ThreadSanitizer: data race (pid=17)
  Write of size 8 at 0x7b04 by thread T3:
    #0 $s4GRDB5yieldyyF /tmp/GRDB/Pool.swift:12:5 (suite.xctest+0x1)
    #1 <null> <null> (libdispatch.so+0x2)

  Previous read of size 8 at 0x7b04 by main thread:
    #0 {{}} /tmp/GRDB/Queue.swift:7 (suite.xctest+0x3)

SUMMARY: ThreadSanitizer: data race /tmp/GRDB/Pool.swift:12:5
==================
"""
ADDRESS = """\
=================================================================
==17==ERROR: AddressSanitizer: heap-use-after-free on address 0x602 at pc 0x1 bp 0x2 sp 0x3
READ of size 1 at 0x602 thread T0
    #0 0x55 in memcpy (suite.xctest+0x1)
    #1 0x56 in {} (suite.xctest+0x2)
"""


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        found = sorted(FILES.glob(f"*-{SYSTEM}.tar.gz"))
        if not found:
            raise unittest.SkipTest(NEEDS + "the files of Scripts/release")
        cls.tarball = found[-1]
        cls.name = cls.tarball.name.removesuffix(".tar.gz")
        cls.bundle = FILES / f"{cls.name}.artifactbundle.zip"
        cls.version = re.search(r'number = "(.*)"', (
            ROOT / "Sources/FailureArtifactsBundle/Format/ToolVersion.swift").read_text())[1]

    def unpacked(self):
        directory = fresh_directory(self)
        subprocess.run(["tar", "-xzf", self.tarball, "-C", directory], check=True)
        return directory / self.name

    def test_names_and_sizes(self):
        self.assertEqual(self.name, f"failure-artifacts-{self.version}-{SYSTEM}")
        for file in (self.tarball, self.bundle):
            self.assertLessEqual(file.stat().st_size, MAXIMUM)

    def test_checksums(self):
        lines = (FILES / f"{self.name}.sha256").read_text().splitlines()
        self.assertEqual(
            lines, [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in (self.bundle, self.tarball)])

    def test_the_tarball(self):
        with tarfile.open(self.tarball) as archive:
            members = archive.getmembers()
        self.assertEqual({(member.uid, member.gid) for member in members}, {(0, 0)})
        self.assertEqual(len({member.mtime for member in members}), 1)
        self.assertEqual([member.name for member in members], sorted(member.name for member in members))
        files = {member.name.removeprefix(self.name + "/"): member.mode for member in members if member.isfile()}
        self.assertEqual(files, {"bin/failure-artifacts": 0o755})

    def test_the_artifact_bundle(self):
        with zipfile.ZipFile(self.bundle) as archive:
            description = json.loads(archive.read("failure-artifacts.artifactbundle/info.json"))
            artifact = description["artifacts"]["failure-artifacts"]
            (variant,) = artifact["variants"]
            program = archive.getinfo(f"failure-artifacts.artifactbundle/{variant['path']}")
            self.assertEqual(archive.read(program), (self.unpacked() / "bin/failure-artifacts").read_bytes())
        self.assertEqual(program.external_attr >> 16 & 0o777, 0o755)
        self.assertEqual((description["schemaVersion"], artifact["type"]), ("1.0", "executable"))
        self.assertEqual(artifact["version"], self.version)
        triple = json.loads(subprocess.run(
            ["swift", "-print-target-info"], check=True, capture_output=True).stdout)["target"]["unversionedTriple"]
        self.assertEqual(variant["supportedTriples"], [triple])

    @unittest.skipIf(platform.system() == "Darwin", "macOS has the Swift runtime")
    def test_the_libraries_that_it_needs(self):
        said = subprocess.run(
            ["readelf", "-d", self.unpacked() / "bin/failure-artifacts"], check=True, capture_output=True, text=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
        self.assertIn("libsqlite3.so.0", needed)
        for library in needed:
            self.assertRegex(library, rf"^({ALLOWED})$")
        # No folder of this machine's toolchain.
        self.assertNotRegex(said, r"\((RUNPATH|RPATH)\).*\[.*/swift")

    def test_it_runs_without_a_toolchain(self):
        program = self.unpacked() / "bin/failure-artifacts"
        with tempfile.TemporaryDirectory() as home:
            environment = {"PATH": "/nowhere", "HOME": home, "LANG": "C.UTF-8"}

            def run(*arguments):
                return subprocess.run(
                    [program, *map(str, arguments)], cwd=home, env=environment, check=True, capture_output=True,
                    text=True).stdout

            self.assertRegex(
                run("--version"), rf"^failure-artifacts {re.escape(self.version)} \([0-9a-f]{{12}}(-modified)?\)\n$")
            bundle = next((ROOT / "Tests/Integration/Fixtures/1.0").glob("*.zip"))
            for command in ("show", "list", "explain", "verify"):
                self.assertNotEqual(run(command, bundle), "", command)
            self.assertEqual(run("query", bundle, "SELECT 1 + 1 AS two").splitlines(), ["two", "2"])
            run("report", bundle, "-o", pathlib.Path(home) / "page.html")
            self.assertIn("<!DOCTYPE html>", (pathlib.Path(home) / "page.html").read_text()[:200])


class Commit(unittest.TestCase):
    def test_a_build_that_is_no_release_has_no_commit(self):
        said = subprocess.run([BUILT_TOOL, "--version"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(said, r"^failure-artifacts \d+\.\d+\.\d+\n$")


class Installation(unittest.TestCase):
    FILES = ["bin/failure-artifacts"]

    def install(self, *arguments, cwd=None, **variables):
        return subprocess.run(
            [ROOT / "Scripts/install", *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
            env={**os.environ, "TOOL": str(TOOL), **variables})

    def files(self, place):
        return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())

    def test_one_command_puts_all_in_place(self):
        with tempfile.TemporaryDirectory(prefix="prefix with spaces ") as name:
            place = pathlib.Path(name) / "usr"
            for _ in range(2):  # The second one replaces the first.
                found = self.install(place)
                self.assertEqual(found.returncode, 0, found.stderr)
                self.assertEqual(found.stdout.splitlines(), [str(place / file) for file in self.FILES])
                self.assertIn(f"PATH has no {place}/bin", found.stderr)
                self.assertEqual(self.files(place), self.FILES)
            self.assertEqual((place / self.FILES[0]).stat().st_mode & 0o777, 0o755)
            version = subprocess.run([place / self.FILES[0], "--version"], capture_output=True, text=True, check=True)
            self.assertEqual(version.stdout, subprocess.run([TOOL, "--version"], capture_output=True, text=True).stdout)
            self.assertEqual(self.install("--uninstall", place).returncode, 0)
            self.assertEqual(self.files(place), [])

    def test_the_tool_is_built_where_none_is_given(self):
        with tempfile.TemporaryDirectory(prefix="build ") as name:
            place = pathlib.Path(name)
            (place / "built").mkdir()
            shutil.copy(TOOL, place / "built")
            # The stand-in records its arguments. For the last option, it prints the product's directory.
            (place / "swift").write_text(
                f"#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{place}/words'\n"
                f"case $* in *--show-bin-path) echo '{place}/built' ;; esac\n")
            (place / "swift").chmod(0o755)
            # Without a prefix, the files go to a directory that the user can write to.
            found = self.install(TOOL="", DESTDIR=str(place / "package"), HOME="/home/nobody",
                                 PATH=f"{place}:{os.environ['PATH']}")
            self.assertEqual(found.returncode, 0, found.stderr)
            prefix = "usr/local" if os.access("/usr/local/bin", os.W_OK) else "home/nobody/.local"
            self.assertEqual(self.files(place / "package" / prefix), self.FILES)
            build, asked = (place / "words").read_text().splitlines()
            self.assertEqual(build, f"build --package-path {ROOT} -c release --product failure-artifacts")
            self.assertEqual(asked, f"build --package-path {ROOT} -c release --show-bin-path")

    def test_prefixes(self):
        with tempfile.TemporaryDirectory(prefix="prefix ") as name:
            place = pathlib.Path(name)
            self.assertEqual(self.install("there", cwd=place).returncode, 0)
            self.assertEqual(self.files(place / "there"), self.FILES)
            found = self.install("/usr", DESTDIR=str(place / "package"), PATH=f"/usr/bin:{os.environ['PATH']}")
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            self.assertEqual(self.files(place / "package/usr"), self.FILES)
            for arguments in (["--nope"], ["a", "b"]):
                self.assertEqual(self.install(*arguments, cwd=place).returncode, 1)
            self.assertEqual(sorted(path.name for path in place.iterdir()), ["package", "there"])


class Reports(unittest.TestCase):
    def read(self, *texts):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "reports")
            for number, text in enumerate(texts):
                path.with_suffix(f".{number}").write_text(text)
            return sanitizers.reports(path)

    def test_which_are_ours(self):
        [theirs, by_name] = self.read(
            THREAD.format("$s4GRDB5queueyyF"), THREAD.format("$s24FailureArtifactsCapture0A0C3addyyF"))
        [by_path, of_c] = self.read(
            THREAD.format("main").replace("/tmp/GRDB/Queue", f"{ROOT}/Sources/X"),
            ADDRESS.format("failure_artifacts_trace"))
        # GRDB's path doesn't matter.
        [elsewhere] = self.read(THREAD.format("main").replace("/tmp/GRDB", f"{ROOT}/.build/soak/failure-artifacts"))
        self.assertEqual([report.is_ours for report in (theirs, by_name, by_path, of_c, elsewhere)],
                         [False, True, True, True, False])

    def test_what_they_are_about(self):
        [report] = self.read(THREAD.format("main") + THREAD.format("main"))[1:]
        self.assertEqual(report.place, "data race: Pool.swift:12 < Queue.swift:7")
        [report] = self.read(ADDRESS.format("main"))
        self.assertEqual(report.place, "heap-use-after-free: memcpy (suite.xctest+0x1)")


class Significance(unittest.TestCase):
    def test_exact_test(self):
        # The lady tasting tea, and counts with an exact sum.
        self.assertAlmostEqual(soak.fisher(3, 4, 1, 4), 34 / 70)
        self.assertAlmostEqual(soak.fisher(4, 4, 0, 4), 2 / 70)
        self.assertAlmostEqual(soak.fisher(14, 20, 20, 20), 0.0202, places=4)
        self.assertAlmostEqual(soak.fisher(1, 10, 11, 14), 0.0028, places=4)
        for same in ((0, 20, 0, 20), (20, 20, 20, 20), (7, 20, 7, 20)):
            self.assertEqual(soak.fisher(*same), 1)

    def test_more_than_two_results(self):
        p = soak.p_value(
            collections.Counter(passed=10, failed=5, died=5), collections.Counter(passed=10, failed=10))
        self.assertAlmostEqual(p, 3 * soak.fisher(5, 20, 0, 20))
        self.assertEqual(soak.p_value(collections.Counter(failed=20), collections.Counter(failed=20)), 1)
