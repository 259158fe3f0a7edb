"""The files of `Scripts/release`: their content, their sizes, and a program that needs no Swift."""

import hashlib
import json
import pathlib
import platform
import re
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

from harness import BUILD, BUILT_TOOL, NEEDS, ROOT, fresh_directory

FILES = BUILD / "release-files"
SYSTEM = f"{platform.system().lower()}-{platform.machine()}"
# The only libraries that the program may need: libc with its parts, libsqlite3 and zlib.
ALLOWED = r"libc\.so\.6|libm\.so\.6|ld-linux-[\w-]+\.so\.\d|libsqlite3\.so\.0|libz\.so\.1"
MAXIMUM = 12 << 20


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
