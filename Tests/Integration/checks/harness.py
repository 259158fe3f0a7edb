"""Starts failing tests one by one and reads their outputs, without this project's code."""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
import unittest
import zipfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "Scripts" / "lib"))

import other_sqlite  # noqa: E402
from products import (  # noqa: E402, F401
    BUILT_TOOL, NESTED as SCRATCH, OPTIONS, PRODUCTS, ROOT, TOOL, TOOL_BUILD, programs_of_tests)

SUITES = ROOT / "Tests" / "Integration" / "Suites"
BUILD = ROOT / ".build"
BASELINES = BUILD / "integration" / "baselines"
PROGRAMS = programs_of_tests("integration-suites", sorted(os.listdir(SUITES / "Tests")))
# The program of all suites. If each has its own, a script that starts the one whose suite the arguments name.
EXECUTABLE = next(iter(PROGRAMS.values()))
if len(set(PROGRAMS.values())) > 1:
    EXECUTABLE = PRODUCTS / "integration-suites"
SCHEMA = ROOT / "Sources/FailureArtifacts/Documentation.docc/metadata.schema.json"

# SwiftPM's lock, which makes a build wait for another one in the same place, is a file in this directory.
ONE_BUILD = {"TMPDIR": tempfile.gettempdir()}

TIMES = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+|(\d+\.\d+ \()?\d+\.\d+\)?(?= seconds)")
OURS = "failure-artifacts: "
WARNING = OURS + "warning: "
BUNDLE_NAME = re.compile(r"(?P<stem>.+)-[0-9a-f]{8}\.zip")


# A test that leaves a thread which goes on reading, and later ones.
LEFT_READERS = "RawSuite.EndlessReaderTests,RawSuite.LaterReaderTests"

# The start of the reason for skipping a test if a program is not installed.
NEEDS = "needs "


def needs(is_there, what):
    """Skips a test, or all tests of a class, if a program is not installed.

    `Tests/Integration/run` counts that as a failure.
    """
    return unittest.skipUnless(is_there, NEEDS + what)


def write_article():
    """Writes the code in the article about the test kit as a part of KitSuite, unless it is there."""
    text = (ROOT / "Sources/FailureArtifacts/Documentation.docc/TestKit.md").read_text()
    code = "\n".join(re.findall(r"^(?:SQLite|GRDB):\n\n```swift\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    # KitSuite has a longer class of this name.
    code = code.replace("class GRDBStore:", "class ShortGRDBStore:")
    file = SUITES / "Tests/KitSuite/ArticleTests.swift"
    if not file.is_file() or file.read_text() != code:
        file.write_text(code)


def build():
    """Builds the suites, once for all checks, and the tool."""
    write_article()
    archive = other_sqlite.archive("sqlite_nio_", BUILD / "integration", other_sqlite.OMITTED_BY_NIO)
    variables = {**os.environ, "SUITE_SQLITE_NIO": str(archive)} if archive else None
    for command in (["swift", "build", *OPTIONS, "--build-tests", "--package-path", str(SUITES)], TOOL_BUILD):
        result = subprocess.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            sys.exit(f"{result.stdout}\n{' '.join(command)} failed.")
    if EXECUTABLE not in PROGRAMS.values():
        cases = "".join(
            f'*{name}[.\\\\]*) exec "${{0%/*}}/{program.name}" "$@" ;;\n' for name, program in PROGRAMS.items())
        EXECUTABLE.write_text(f"#!/bin/sh\ncase $* in\n{cases}esac\necho 'No suite is named.' >&2\nexit 64\n")
        EXECUTABLE.chmod(0o755)


def copy_executable(directory):
    """Copies the program of all suites, and what Swift Build has made beside it. Returns the path of the copy."""
    for part in {*PROGRAMS.values(), *PRODUCTS.glob("*Suite.so")}:
        shutil.copy(part, directory)
    return pathlib.Path(shutil.copy(EXECUTABLE, directory))


def clean_environment(scratch, **variables):
    """An environment with only the necessary variables of the machine or CI service."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "DEVELOPER_DIR") if name in os.environ}
    # On a CI service, no bundle makes room for a later one.
    return {
        **kept, "LANG": "C.UTF-8", "TMPDIR": str(scratch), "SWIFT_BACKTRACE": "enable=no", "CI": "true",
        # Passing tests are recorded as in any package, but no check finds what another one left.
        "FAILURE_ARTIFACTS_BASELINE": str(BASELINES / secrets.token_hex(8)), **variables}


class Store:
    """One store of a bundle, extracted alone, without a WAL beside it."""

    def __init__(self, content):
        self.content = content

    @contextlib.contextmanager
    def file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "alone.sqlite"
            path.write_bytes(self.content)
            yield path
            left = {entry.name for entry in path.parent.iterdir()}
            assert left == {path.name}, f"opening the store left {left}"

    def query(self, sql):
        with self.file() as path, contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    def command(self, sql):
        """Returns the output of the command `sqlite3`."""
        with self.file() as path:
            return subprocess.run(
                ["sqlite3", "-readonly", str(path), sql], check=True, capture_output=True, text=True
            ).stdout

    def rows(self, table="fruit"):
        return [name for (name,) in self.query(f"SELECT name FROM {table} ORDER BY rowid")]


# The characters that actions/upload-artifact refuses in a path, and with it the whole upload: see
# `invalidArtifactFilePathCharacters` in
# in https://github.com/actions/toolkit/blob/main/packages/artifact/src/internal/upload/path-and-artifact-name-validation.ts
NOT_UPLOADED = re.compile(r'[":<>|*?\r\n]')
# In the name of an artifact (or here, of a file), these characters are refused too.
NOT_IN_A_NAME = re.compile(r"[\\/]")
# The names that Windows reserves, and the endings that it cuts off.
NOT_ON_WINDOWS = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*[. ]|.*[\x00-\x1f].*", re.DOTALL)


def name_problems(name):
    """The problems with the name of a file to upload."""
    problems = [what for what, is_so in {
        "refused by upload-artifact": NOT_UPLOADED.search(name),
        "a path": NOT_IN_A_NAME.search(name),
        "hidden, which upload-artifact leaves out": name.startswith("."),
        "not for Windows": NOT_ON_WINDOWS.fullmatch(name),
        "too long": len(name.encode()) > 200,
        "an option": name.startswith("-"),
    }.items() if is_so]
    return problems or ([] if name else ["empty"])


def check_names(bundle, entries):
    """Checks that the bundle can be uploaded, and its entries extracted on every system."""
    # Names must differ even if the file system ignores case and Unicode normalization.
    folded = [unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold()) for name in entries]
    assert len(set(folded)) == len(folded), f"entries of {bundle!r} collide: {sorted(entries)}"
    for name in [bundle, *(part for entry in entries for part in entry.split("/"))]:
        problems = name_problems(name)
        assert not problems, f"the name {name!r} of {bundle!r} is {problems}"


class Bundle:
    """A bundle on disk."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.size = self.path.stat().st_size
        with zipfile.ZipFile(self.path) as archive:
            self.damaged = archive.testzip()
            self.entries = archive.infolist()
            self.contents = {entry.filename: archive.read(entry) for entry in self.entries}
        self.names = [entry.filename for entry in self.entries]
        check_names(self.path.name, self.names)
        self.metadata = json.loads(self.contents["metadata.json"])

    @property
    def stem(self):
        return BUNDLE_NAME.fullmatch(self.path.name)["stem"]

    @property
    def messages(self):
        return [failure["message"] for failure in self.metadata["failures"]]

    def described(self, name):
        """The metadata of the store with the file name `name`, or of the store in memory."""
        found = [store for store in self.metadata["stores"] if name == label(store)]
        assert len(found) == 1, f"{len(found)} stores are called {name}"
        return found[0]

    def store(self, name, entry="entry"):
        return Store(self.contents[self.described(name)[entry]])

    @contextlib.contextmanager
    def kept(self):
        """Writes the bundle again, because the original file is gone."""
        with tempfile.TemporaryDirectory(prefix="integration ") as directory:
            path = pathlib.Path(directory) / "bundle.zip"
            with zipfile.ZipFile(path, "w") as archive:
                for name in self.names:
                    archive.writestr(name, self.contents[name])
            yield path

    def tool(self, command, *arguments):
        """Runs a command of the tool with the bundle."""
        with self.kept() as path:
            return subprocess.run(
                [TOOL, command, path, *arguments], env=clean_environment(path.parent), capture_output=True, text=True)

    def said(self, command, *arguments, statuses=(0,)):
        """Returns the output of a command of the tool with the bundle."""
        result = self.tool(command, *arguments)
        assert result.returncode in statuses, result.stderr
        return result.stdout

    def json(self, command, *arguments, statuses=(0,)):
        """Returns the document that a command prints about the bundle."""
        return json.loads(self.said(command, *arguments, "--json", statuses=statuses))

    def statements(self, store):
        """Returns the statements of a store, as its metadata describes it."""
        described = store["statements"]
        records = [json.loads(line) for line in self.contents[described["entry"]].decode().splitlines()]
        assert len(records) == described["count"], described
        for record in records:
            validator("statement").validate(record)
        orders = [record["order"] for record in records]
        assert orders == sorted(set(orders)), orders
        return records


def fresh_directory(case, prefix="integration "):
    """Returns a new directory, which is removed after the test."""
    directory = tempfile.TemporaryDirectory(prefix=prefix)
    case.addCleanup(directory.cleanup)
    return pathlib.Path(directory.name)


def lines_until(process, line):
    """Reads a process's output up to a line."""
    while (found := process.stdout.readline()).strip() != line:
        assert found, "the process has ended by itself"


def label(store):
    """The checks' name for a store: its file's name, or `memory`."""
    path = store.get("originalPath")
    return pathlib.PurePath(path).stem if path else store["storage"]


def openers(bundle):
    """For each store, its `shared` flag and the other test that opened it."""
    return {label(store): (store.get("shared"), store.get("openedBy")) for store in bundle.metadata["stores"]}


@dataclasses.dataclass
class Run:
    """A process that ran tests, and its outputs."""

    status: int
    output: str
    errors: str
    left: list  # The names in the artifacts directory; None if there is no directory.
    in_flight: list
    ignored: str
    bundles: list

    @property
    def said(self):
        """The product's lines on standard error."""
        return [line for line in self.errors.splitlines() if line.startswith(OURS)]

    @property
    def warnings(self):
        return [line.removeprefix(WARNING) for line in self.said if line.startswith(WARNING)]

    @property
    def others(self):
        """The other lines on standard error."""
        return [line for line in self.errors.splitlines() if not line.startswith(OURS)]


def launch(selection, directory, variables, wrapper=(), patience=120, **options):
    """Runs tests in `directory`: XCTest's by a text with their names, others by a tuple of options."""
    options_of_tests = (selection,) if isinstance(selection, str) else selection
    scratch = directory / "tmp"
    scratch.mkdir(exist_ok=True)
    return subprocess.run(
        [*wrapper, str(EXECUTABLE), *options_of_tests], cwd=directory, env=clean_environment(scratch, **variables),
        capture_output=True, text=True, encoding="utf-8", timeout=patience, **options)


# The system counts a process's memory before it executes another program, which is that of its parent. So the parent is
# a small process.
MEASURING = """
import os, sys
process = os.fork()
if process == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(process, 0)
os.write(int(sys.argv[1]), f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}".encode())
"""


def measured(command, **options):
    """Runs a command. Returns its status and its maximum memory size, in bytes."""
    reader, writer = os.pipe()
    with os.fdopen(reader) as result:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", MEASURING, str(writer), *map(str, command)], check=True,
            pass_fds=[writer], **options)
        os.close(writer)
        status, peak = map(int, result.read().split())
    return status, peak * (1 if sys.platform == "darwin" else 1024)


def run(selection, variables=None, at="failure-artifacts", **options):
    """Runs the selected tests in a new directory, and reads the artifacts directory `at`."""
    with tempfile.TemporaryDirectory(prefix="integration ") as name:
        directory = pathlib.Path(name)
        return read(launch(selection, directory, variables or {}, **options), directory / at)


def read(process, artifacts, with_tools=True):
    found = Run(process.returncode, process.stdout, process.stderr, None, [], "", [])
    if artifacts.is_dir():
        found.left = sorted(entry.name for entry in artifacts.iterdir())
        found.bundles = [Bundle(path) for path in sorted(artifacts.glob("*.zip"))]
        for bundle in found.bundles if with_tools else []:
            check_with_tools(bundle)
        if (artifacts / ".in-flight").is_dir():
            found.in_flight = sorted(entry.name for entry in (artifacts / ".in-flight").iterdir())
        if (artifacts / ".gitignore").is_file():
            found.ignored = (artifacts / ".gitignore").read_text()
    return found


def check_with_tools(bundle):
    """Three independent unzip programs open the bundle."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    options = {"env": environment, "capture_output": True, "text": True, "encoding": "utf-8"}
    unzip = subprocess.run(["unzip", "-tqq", str(bundle.path)], **options)
    assert unzip.returncode == 0, f"unzip -t: {unzip.stdout}{unzip.stderr}"
    bsdtar = subprocess.run(["bsdtar", "-tf", str(bundle.path)], **options)
    assert bsdtar.returncode == 0, f"bsdtar -t: {bsdtar.stderr}"
    # One of them composes letters and marks.
    names = [unicodedata.normalize("NFC", name) for name in bundle.names]
    assert bsdtar.stdout.splitlines() == names, f"bsdtar lists {bsdtar.stdout}"
    assert bundle.damaged is None, f"zipfile finds a damaged entry: {bundle.damaged}"


@functools.lru_cache(maxsize=None)
def without(selection, needs=()):
    """Runs the same tests with capturing off, for comparing status and output.

    `needs` are the variables, as pairs, that the tests require.
    """
    found = run(selection, {**dict(needs), "FAILURE_ARTIFACTS": "off"})
    assert found.left is None, "a directory although capturing is off"
    return found


def timeless(output):
    """Removes the times from an output."""
    return TIMES.sub("T", output)


@functools.lru_cache(maxsize=None)
def validator(definition=None):
    """The published schema, or one of its definitions, as a validator of `jsonschema`."""
    import jsonschema

    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    if definition:
        schema = {"$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
    return jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


# The bundles of scenarios that have run, so that several checks may look at one run. The harness has read them.
LEFT = {}


class SuiteCase(unittest.TestCase):
    """Checks on the outputs of a scenario."""

    maxDiff = None
    framework = "XCTest"

    # The variables, as pairs, that the tests of the class require.
    needs = ()

    def leaves(self, selection, count=1, warnings=0, variables=None, **options):
        """Runs a scenario. It must leave only `count` bundles, and must not change the tests' results.

        Standard error must announce each bundle and each of the `warnings`, and contain nothing else.
        Returns the bundle if there is one, otherwise the list of bundles.
        """
        key = (selection, count, warnings, tuple(self.needs), tuple(sorted((variables or {}).items())))
        if key in LEFT and not options:
            return LEFT[key]
        with_capture = run(selection, {**dict(self.needs), **(variables or {})}, **options)
        self.assertUnchanged(with_capture, selection)
        self.assertTidy(with_capture, count)
        self.assertEqual(len(with_capture.warnings), warnings, with_capture.said)
        self.assertEqual(len(with_capture.said), count + warnings, with_capture.said)
        self.assertEqual(
            sum(len(bundle.metadata["warnings"]) for bundle in with_capture.bundles), warnings)
        for bundle in with_capture.bundles:
            test, has_passed = bundle.metadata["test"], bundle.metadata["outcome"] == "passed"
            # The tool, the directory, and the end of the bundle's name.
            end = f"failure-artifacts{'' if has_passed else ' explain'} .*{bundle.path.stem[-8:]}'?$"
            if bundle.metadata["stores"] or has_passed:
                self.assertEqual(sum(bool(re.search(end, line)) for line in with_capture.said), 1, with_capture.said)
            else:
                start, end = f"{OURS}{test['suite']}.{test['name']}", " failed. It used no store."
                self.assertTrue(
                    any(line.startswith(start) and line.endswith(end) for line in with_capture.said), with_capture.said)
            self.check(bundle)
        found = with_capture.bundles[0] if count == 1 else with_capture.bundles
        if not options:
            LEFT[key] = found
        return found

    def left_by(self, selection):
        """Runs a class of XCTest in one process, and returns the bundle of one of its tests."""
        suite, name = selection.split("/")
        failing = set(re.findall(r"^Test Case '\S+\.(\S+)' failed", without(suite, self.needs).output, re.MULTILINE))
        bundles = self.leaves(suite, count=len(failing))
        (bundle,) = (
            bundle for bundle in (bundles if len(failing) > 1 else [bundles]) if bundle.metadata["test"]["name"] == name)
        return bundle

    def assertUnchanged(self, with_capture, selection):
        yardstick = without(selection, self.needs)
        self.assertEqual(with_capture.status, yardstick.status, with_capture.errors)
        self.assertEqual(timeless(with_capture.output), timeless(yardstick.output))
        self.assertEqual(with_capture.others, yardstick.others)

    def assertTidy(self, found, count):
        """Checks that there are only bundles with valid names, and the file that makes git ignore them."""
        if count == 0:
            self.assertIsNone(found.left)
            return
        self.assertIsNotNone(found.left, "no artifacts directory: " + found.errors)
        hidden = (".gitignore", ".in-flight", ".budget", ".passed")
        names = [name for name in found.left if name not in hidden]
        self.assertEqual(names, [bundle.path.name for bundle in found.bundles])
        self.assertEqual(len(names), count, names)
        self.assertEqual(found.ignored.split(), ["*"])
        self.assertEqual(found.in_flight, [])
        for name in names:
            self.assertRegex(name, BUNDLE_NAME)
            self.assertLessEqual(len(name.encode()), 200)
            self.assertNotRegex(name, r'[":<>|*?\\/\s]')

    def check(self, bundle, outcome="failed"):
        """Checks that apply to every bundle."""
        metadata = bundle.metadata
        errors = [f"{error.json_path}: {error.message}" for error in validator().iter_errors(metadata)]
        self.assertEqual(errors, [])
        self.assertEqual(bundle.names[0], "metadata.json")
        self.assertEqual(len(set(bundle.names)), len(bundle.names))
        self.assertIn("README.txt", bundle.names)
        text = bundle.contents["metadata.json"].decode()
        self.assertEqual(json.dumps(metadata, sort_keys=True), json.dumps(metadata), "keys are not sorted")
        self.assertTrue(text.startswith("{"))
        self.assertEqual(metadata["formatVersion"], "1.3" if "baseline.jsonl" in bundle.names else "1.2")
        self.assertEqual(metadata["test"]["framework"], self.framework)
        self.assertEqual(metadata["outcome"], outcome)
        # The package of the suites, as the paths of the failures tell.
        if any(failure.get("file", "").startswith(str(SUITES)) for failure in metadata["failures"]):
            self.assertEqual(metadata["packageRoot"], str(SUITES))
        # In seconds. How long a capture takes is for the benchmarks, because it depends on the machine's load.
        self.assertTrue(0 <= metadata["capture"]["duration"] < 60, metadata["capture"])
        mentioned = []
        for store in metadata["stores"]:
            mentioned += [store[key] for key in ("entry", "committedEntry") if key in store]
            if "entry" in store:
                self.assertEqual(store["bytes"]["copy"], len(bundle.contents[store["entry"]]))
        for entry in mentioned:
            self.check_store(bundle.contents[entry])
        copies = [name for name in bundle.names if name.startswith("stores/")]
        self.assertEqual(sorted(mentioned), sorted(copies))

    def check_store(self, content):
        """The content is one file that opens without any other file."""
        if not content:
            return  # SQLite's form of a store without tables.
        self.assertEqual(content[:16], b"SQLite format 3\0")
        self.assertEqual((content[18], content[19]), (1, 1), "the copy asks for a WAL")
        store = Store(content)
        self.assertEqual(store.query("PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(store.query("PRAGMA journal_mode"), [("delete",)])
        self.assertEqual(store.command("PRAGMA integrity_check"), "ok\n")

    def assertTest(self, bundle, suite, name, *messages, kind="assertion", stem=None):
        """The bundle has this test and only the planned failures."""
        self.assertEqual(bundle.metadata["test"]["suite"], suite)
        self.assertEqual(bundle.metadata["test"]["name"], name)
        self.assertEqual(bundle.stem, stem or f"{suite}.{name}")
        self.assertEqual(len(bundle.messages), len(messages), bundle.messages)
        for failure, message in zip(bundle.metadata["failures"], messages):
            self.assertIn(message, failure["message"])
            self.assertEqual(failure["kind"], kind)
            if kind == "assertion":
                self.assertGreater(failure["line"], 0)
                self.assertTrue(failure["file"].endswith(".swift"))

    def assertStores(self, bundle, **expected):
        """The bundle has exactly these stores, by their files' names, with exactly these rows; None without a copy."""
        stores = bundle.metadata["stores"]
        found = {
            label(store): Store(bundle.contents[store["entry"]]).rows() if "entry" in store else None for store in stores}
        self.assertEqual(found, expected)
        self.assertEqual(len(stores), len(expected))
