"""The scripts: the files of `Scripts/release` and the workflow that publishes them, installing the tool, and how
`Scripts/soak` judges what it finds.

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

import yaml

import workflow
from harness import BUILD, BUILT_TOOL, NEEDS, ROOT, TOOL, fresh_directory

sys.path.append(str(ROOT / "Scripts/lib"))

import sanitizers  # noqa: E402
import soak  # noqa: E402

FILES = BUILD / "release-files"
SYSTEM = f"{platform.system().lower()}-{platform.machine()}"
# The only libraries that the program may need: libc with its parts, libsqlite3 and zlib.
ALLOWED = r"libc\.so\.6|libm\.so\.6|ld-linux-[\w-]+\.so\.\d|libsqlite3\.so\.0|libz\.so\.1"
MAXIMUM = 12 << 20
VERSION_FILE = "Sources/FailureArtifactsBundle/Format/ToolVersion.swift"
VERSION = re.search(r'number = "(.*)"', (ROOT / VERSION_FILE).read_text())[1]
WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").iterdir()}
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

    def unpacked(self):
        directory = fresh_directory(self)
        subprocess.run(["tar", "-xzf", self.tarball, "-C", directory], check=True)
        return directory / self.name

    def test_names_and_sizes(self):
        self.assertEqual(self.name, f"failure-artifacts-{VERSION}-{SYSTEM}")
        self.assertLessEqual(self.tarball.stat().st_size, MAXIMUM)

    def test_the_tarball(self):
        with tarfile.open(self.tarball) as archive:
            members = archive.getmembers()
        self.assertEqual({(member.uid, member.gid) for member in members}, {(0, 0)})
        self.assertEqual(len({member.mtime for member in members}), 1)
        self.assertEqual([member.name for member in members], sorted(member.name for member in members))
        files = {member.name.removeprefix(self.name + "/"): member.mode for member in members if member.isfile()}
        self.assertEqual(files, {name: 0o644 if name.startswith("share/") else 0o755 for name in Installation.FILES})

    def test_swiftpm_takes_the_program_from_the_artifact_bundle(self):
        place = fresh_directory(self)
        shutil.copy(self.tarball, place)
        subprocess.run([ROOT / "Scripts/release", "--collect", place], check=True, capture_output=True)
        # A plugin asks SwiftPM for the program of this system.
        (place / "Plugins/Ask").mkdir(parents=True)
        (place / "Package.swift").write_text(f"""\
            // swift-tools-version: 6.3
            import PackageDescription
            let package = Package(name: "asking", targets: [
                .binaryTarget(name: "failure-artifacts", path: "failure-artifacts-{VERSION}.artifactbundle.zip"),
                .plugin(
                    name: "Ask", capability: .command(intent: .custom(verb: "ask", description: "Asks")),
                    dependencies: ["failure-artifacts"]),
            ])
            """)
        (place / "Plugins/Ask/Ask.swift").write_text("""\
            import PackagePlugin
            @main struct Ask: CommandPlugin {
                func performCommand(context: PluginContext, arguments: [String]) throws {
                    print(try context.tool(named: "failure-artifacts").url.path)
                }
            }
            """)
        said = subprocess.run(
            ["swift", "package", "--package-path", place, "--disable-sandbox", "ask"], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        program = pathlib.Path(said.stdout.splitlines()[-1])
        self.assertEqual(program.read_bytes(), (self.unpacked() / "bin/failure-artifacts").read_bytes())
        self.assertTrue(os.access(program, os.X_OK))

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
                run("--version"), rf"^failure-artifacts {re.escape(VERSION)} \([0-9a-f]{{12}}(-modified)?\)\n$")
            bundle = next((ROOT / "Tests/Integration/Fixtures/1.0").glob("*.zip"))
            for command in ("show", "list", "explain", "verify"):
                self.assertNotEqual(run(command, bundle), "", command)
            self.assertEqual(run("query", bundle, "SELECT 1 + 1 AS two").splitlines(), ["two", "2"])
            run("report", bundle, "-o", pathlib.Path(home) / "page.html")
            self.assertIn("<!DOCTYPE html>", (pathlib.Path(home) / "page.html").read_text()[:200])


class Publication(unittest.TestCase):
    """The part of a release that needs no build, in a repository of its own with archives of several systems."""

    SYSTEMS = {
        "darwin-arm64": "arm64-apple-macosx", "linux-aarch64": "aarch64-unknown-linux-gnu",
        "linux-x86_64": "x86_64-unknown-linux-gnu"}

    def setUp(self):
        self.place = fresh_directory(self)
        for name in ("Scripts/release", "Scripts/lib/setup.sh", VERSION_FILE):
            (self.place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.place / name)
        self.environment = {
            **os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_COMMITTER_DATE": "2026-01-02T04:04:06+0100"}
        for name in ("AUTHOR", "COMMITTER"):
            self.environment.update({f"GIT_{name}_NAME": "A", f"GIT_{name}_EMAIL": "a@b.example"})
        self.git("init", "-q")
        self.git("add", ".")
        self.commit("The first commit")
        self.files = self.place / "release-files"

    def run_here(self, *command, **variables):
        return subprocess.run(
            command, cwd=self.place, env={**self.environment, **variables}, capture_output=True, text=True)

    def git(self, *arguments):
        found = self.run_here("git", *arguments)
        self.assertEqual(found.returncode, 0, found.stderr)

    def commit(self, subject):
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def release(self, *arguments):
        return self.run_here("Scripts/release", *arguments)

    def add_archives(self, *systems):
        self.files.mkdir()
        for system in systems:
            name = f"failure-artifacts-{VERSION}-{system}"
            program = self.place / ".build" / name / "bin/failure-artifacts"
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/bin/sh\n# {system}\n")
            program.chmod(0o755)
            subprocess.run(["tar", "-czf", self.files / f"{name}.tar.gz", "-C", self.place / ".build", name], check=True)

    def check_collection(self):
        bundle = self.files / f"failure-artifacts-{VERSION}.artifactbundle.zip"
        with zipfile.ZipFile(bundle) as archive:
            description = json.loads(archive.read("failure-artifacts.artifactbundle/info.json"))
            artifact = description["artifacts"]["failure-artifacts"]
            self.assertEqual({entry.date_time for entry in archive.infolist()}, {(2026, 1, 2, 3, 4, 6)})
            found = {}
            for variant in artifact["variants"]:
                entry = archive.getinfo(f"failure-artifacts.artifactbundle/{variant['path']}")
                self.assertEqual(entry.external_attr >> 16 & 0o777, 0o755)
                found[archive.read(entry).decode().split()[-1]], = variant["supportedTriples"]
        self.assertEqual(found, self.SYSTEMS)
        self.assertEqual((description["schemaVersion"], artifact["type"]), ("1.0", "executable"))
        self.assertEqual(artifact["version"], VERSION)
        sums = (self.files / f"failure-artifacts-{VERSION}.sha256").read_text().splitlines()
        files = [bundle, *sorted(self.files.glob("*.tar.gz"))]
        self.assertEqual(len(files), 1 + len(self.SYSTEMS))
        self.assertEqual(sums, [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files])
        return {file.name: file.read_bytes() for file in self.files.iterdir()}

    def test_all_systems_are_collected(self):
        self.add_archives(*self.SYSTEMS)
        self.assertEqual(self.release("--collect", "release-files").returncode, 0)
        first = self.check_collection()
        # The same archives give the same files.
        self.assertEqual(self.release("--collect", str(self.files)).returncode, 0)
        self.assertEqual(self.check_collection(), first)

    def test_what_cannot_be_collected(self):
        self.add_archives("plan9-mips")
        self.assertIn("is not known", self.release("--collect", "release-files").stderr)
        self.assertIn("has no archive", self.release("--collect", "Scripts").stderr)

    def test_notes(self):
        self.assertEqual(self.release("--notes").stdout, "The first release.\n")
        self.git("tag", f"v{VERSION}")
        self.assertEqual(self.release("--notes").stdout, "The first release.\n")
        self.commit("A fix")
        self.git("tag", "not-a-version")
        self.commit("A feature with `code`")
        self.assertEqual(
            self.release("--notes").stdout, f"Changes since v{VERSION}:\n\n- A feature with `code`\n- A fix\n")

    def test_the_tag_is_the_version(self):
        self.git("tag", "v99.0.0")
        found = self.release("--notes")
        self.assertEqual((found.returncode, found.stderr), (
            1, f"The commit has the tag v99.0.0, but ToolVersion.swift has the version {VERSION}.\n"))
        self.git("tag", f"v{VERSION}")
        self.assertEqual(self.release("--notes").returncode, 0)

    def test_the_workflow_publishes(self):
        """Its last job, with the files that the other jobs upload and a stand-in for GitHub's client."""
        self.git("tag", f"v{VERSION}")
        steps = WORKFLOWS["release.yml"]["jobs"]["publish"]["steps"]
        (download,) = [step["with"] for step in steps if "download-artifact@" in step.get("uses", "")]
        self.assertEqual((download["path"], download["merge-multiple"]), (self.files.name, True))
        self.add_archives(*self.SYSTEMS)
        (self.place / "gh").write_text(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >words\nwhile [ \"$1\" != --notes-file ]; do shift; done\ncp \"$2\" notes\n")
        (self.place / "gh").chmod(0o755)
        for script in [step["run"] for step in steps if "run" in step]:
            found = self.run_here(
                "bash", "-e", "-c", script, GITHUB_REF_NAME=f"v{VERSION}", RUNNER_TEMP=tempfile.gettempdir(),
                PATH=f"{self.place}:{os.environ['PATH']}")
            self.assertEqual(found.returncode, 0, found.stderr)
        self.check_collection()
        words = (self.place / "words").read_text().splitlines()
        published = [str(path.relative_to(self.place)) for path in sorted(self.files.iterdir())]
        self.assertEqual(words[:4] + words[-5:], ["release", "create", f"v{VERSION}", "--verify-tag", *published])
        self.assertEqual((self.place / "notes").read_text(), "The first release.\n")
        # What is published is attested.
        (attested,) = [step["with"]["subject-path"] for step in steps if "attest@" in step.get("uses", "")]
        self.assertEqual(sorted(map(str, self.place.glob(attested))), [str(self.place / name) for name in published])


class Workflows(unittest.TestCase):
    def test_scripts_exist(self):
        found = set()
        for job in [job for about in WORKFLOWS.values() for job in about["jobs"].values()]:
            for step in job.get("steps", []):
                found |= set(re.findall(r"^Scripts/\S+", step.get("run", ""), re.MULTILINE))
        self.assertEqual(found, {"Scripts/test", "Scripts/verify-on-mac", "Scripts/release"})
        for name in found:
            self.assertTrue(os.access(ROOT / name, os.X_OK), name)

    def test_expressions_are_known(self):
        """A misspelled property would be an empty text."""
        for name, about in WORKFLOWS.items():
            for job in about["jobs"].values():
                known = {"github.ref", "github.event_name", "github.token"}
                known |= {f"matrix.{key}" for key in job.get("strategy", {}).get("matrix", {})}
                # True for `on`, which is a Boolean value in YAML 1.1.
                text = json.dumps({**{key: value for key, value in about.items() if key not in ("jobs", True)}, "job": job})
                for expression in re.findall(r"\$\{\{ (.*?) \}\}", text):
                    self.assertIn(expression.split(" ")[0], known, name)

    def test_archives_of_one_run_have_different_names(self):
        names = []
        for job in WORKFLOWS["release.yml"]["jobs"].values():
            for step in job.get("steps", []):
                if "upload-artifact@" in step.get("uses", ""):
                    self.assertEqual(step["with"]["path"], f"{FILES.relative_to(ROOT)}/*.tar.gz")
                    self.assertTrue(step["with"]["include-hidden-files"])
                    names += [step["with"]["name"].replace("${{ matrix.runner }}", runner)
                              for runner in job.get("strategy", {}).get("matrix", {}).get("runner", [""])]
        self.assertEqual(names, ["release-ubuntu-24.04", "release-ubuntu-24.04-arm", "release-macos"])

    def test_actions_are_pinned(self):
        for path in (ROOT / ".github/workflows").iterdir():
            self.assertEqual(workflow.pin_problems(path.read_text()), [], path.name)


class Targets(unittest.TestCase):
    def test_targets_depend_on_what_they_import(self):
        """Otherwise the order of a build decides if the module is there."""
        text = subprocess.run(["swift", "package", "describe", "--type", "json"], cwd=ROOT, check=True, text=True,
                              capture_output=True).stdout
        targets = json.loads(text)["targets"]
        modules = {target["name"] for target in targets}
        missing = []
        for target in targets:
            sources = [(ROOT / target["path"] / source) for source in target["sources"] if source.endswith(".swift")]
            imports = {module for source in sources
                       for module in re.findall(r"^(?:@?\w+ )*import (\w+)$", source.read_text(), re.MULTILINE)}
            declared = {target["name"], *target.get("target_dependencies", [])}
            missing += [f"{target['name']}: {module}" for module in sorted((imports & modules) - declared)]
        self.assertEqual(missing, [])


class Commit(unittest.TestCase):
    def test_a_build_that_is_no_release_has_no_commit(self):
        said = subprocess.run([BUILT_TOOL, "--version"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(said, r"^failure-artifacts \d+\.\d+\.\d+\n$")


class Installation(unittest.TestCase):
    FILES = [
        "bin/failure-artifacts", "share/bash-completion/completions/failure-artifacts",
        "share/fish/vendor_completions.d/failure-artifacts.fish", "share/zsh/site-functions/_failure-artifacts"]

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
                self.assertEqual(sorted(found.stdout.splitlines()), [str(place / file) for file in self.FILES])
                self.assertIn(f"PATH has no {place}/bin", found.stderr)
                self.assertEqual(self.files(place), self.FILES)
            self.assertEqual([(place / file).stat().st_mode & 0o777 for file in self.FILES], [0o755] + [0o644] * 3)
            self.assertEqual((place / self.FILES[2]).read_text(), subprocess.run(
                [TOOL, "completions", "fish"], capture_output=True, text=True).stdout)
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
