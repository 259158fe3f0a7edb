"""Starts failing tests one by one and reads what they leave, with nothing of this project's code."""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUITES = ROOT / "Tests" / "Integration" / "Suites"
BUILD = ROOT / ".build"
# The sample is built there too: both nested packages then compile their common dependencies once.
SCRATCH = BUILD / "nested"
EXECUTABLE = SCRATCH / "debug" / "integration-suitesPackageTests.xctest"
SCHEMA = ROOT / "Sources/FailureArtifacts/Documentation.docc/metadata.schema.json"

TIMES = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+|(\d+\.\d+ \()?\d+\.\d+\)?(?= seconds)")
OURS = "failure-artifacts: "
WARNING = OURS + "warning: "
BUNDLE_NAME = re.compile(r"(?P<stem>.+)-[0-9a-f]{8}\.zip")


# The start of the reason for which a test is skipped if something is not installed.
NEEDS = "needs "


def needs(is_there, what):
    """Skips a test, or all tests of a class, if something is not installed.

    `Tests/Integration/run` counts that as a failure.
    """
    return unittest.skipUnless(is_there, NEEDS + what)


def needs_program(name):
    return needs(shutil.which(name), f"the program {name}")


def build():
    """Builds the suites, once for all checks."""
    # SwiftPM keeps a plan of the build, and does not see that a package beside this one has new files.
    plan_anew = "--disable-build-manifest-caching"
    command = ["swift", "build", plan_anew, "--build-tests", "--scratch-path", str(SCRATCH)]
    result = subprocess.run(command, cwd=SUITES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout + "\nThe suites of the integration tests cannot be built.")


def clean_environment(scratch, **variables):
    """An environment that has nothing of the machine's or the CI's but what a process cannot do without."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "DEVELOPER_DIR") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "TMPDIR": str(scratch), "SWIFT_BACKTRACE": "enable=no", **variables}


class Store:
    """One store of a bundle, taken out of it on its own: there is no WAL beside it."""

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
        """What the command `sqlite3` prints."""
        with self.file() as path:
            return subprocess.run(
                ["sqlite3", "-readonly", str(path), sql], check=True, capture_output=True, text=True
            ).stdout

    def rows(self, table="fruit"):
        return [name for (name,) in self.query(f"SELECT name FROM {table} ORDER BY rowid")]


# What actions/upload-artifact refuses in a path, and with it the whole upload: see `invalidArtifactFilePathCharacters`
# in https://github.com/actions/toolkit/blob/main/packages/artifact/src/internal/upload/path-and-artifact-name-validation.ts
NOT_UPLOADED = re.compile(r'[":<>|*?\r\n]')
# In a name, of an artifact or here of a file, these too.
NOT_IN_A_NAME = re.compile(r"[\\/]")
# What Windows keeps for itself, and cuts off.
NOT_ON_WINDOWS = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*[. ]|.*[\x00-\x1f].*", re.DOTALL)


def name_problems(name):
    """What is wrong with the name of a file that is to be uploaded."""
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
    """Every bundle can be uploaded, and what is in it be unpacked anywhere."""
    # Also where case and the form of Unicode don't tell names apart.
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
        """The metadata of the store whose file was called `name`, or of the one in memory."""
        found = [store for store in self.metadata["stores"] if name == label(store)]
        assert len(found) == 1, f"{len(found)} stores are called {name}"
        return found[0]

    def store(self, name, entry="entry"):
        return Store(self.contents[self.described(name)[entry]])


def label(store):
    """How the checks call a store: by its file, or by being in memory."""
    path = store.get("originalPath")
    return pathlib.PurePath(path).stem if path else store["storage"]


def openers(bundle):
    """Of each store, whether it is shared, and the other test that opened it."""
    return {label(store): (store.get("shared"), store.get("openedBy")) for store in bundle.metadata["stores"]}


@dataclasses.dataclass
class Run:
    """A process that ran tests, and what it left."""

    status: int
    output: str
    errors: str
    left: list  # Everything in the artifacts directory; None where there is no directory.
    in_flight: list
    ignored: str
    bundles: list

    @property
    def said(self):
        """The lines on standard error that are the product's."""
        return [line for line in self.errors.splitlines() if line.startswith(OURS)]

    @property
    def warnings(self):
        return [line.removeprefix(WARNING) for line in self.said if line.startswith(WARNING)]

    @property
    def others(self):
        """The lines on standard error that are not."""
        return [line for line in self.errors.splitlines() if not line.startswith(OURS)]


def launch(selection, directory, variables, wrapper=(), patience=120, **options):
    """Runs the selected tests in `directory`: those of XCTest that a text names, or what a tuple of options says."""
    options_of_tests = (selection,) if isinstance(selection, str) else selection
    scratch = directory / "tmp"
    scratch.mkdir(exist_ok=True)
    return subprocess.run(
        [*wrapper, str(EXECUTABLE), *options_of_tests], cwd=directory, env=clean_environment(scratch, **variables),
        capture_output=True, text=True, encoding="utf-8", timeout=patience, **options)


# The system counts what a process has before it becomes another program, and that is what its parent had: so the
# parent is a small one.
MEASURING = """
import os, sys
process = os.fork()
if process == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(process, 0)
os.write(int(sys.argv[1]), f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}".encode())
"""


def measured(command, **options):
    """Runs a command; gives its status, and the greatest size of its memory in bytes."""
    reader, writer = os.pipe()
    with os.fdopen(reader) as result:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", MEASURING, str(writer), *map(str, command)], check=True,
            pass_fds=[writer], **options)
        os.close(writer)
        status, peak = map(int, result.read().split())
    return status, peak * (1 if sys.platform == "darwin" else 1024)


def run(selection, variables=None, at="failure-artifacts", **options):
    """Runs the selected tests in a fresh directory, and reads the artifacts directory `at`."""
    with tempfile.TemporaryDirectory(prefix="integration ") as name:
        directory = pathlib.Path(name)
        return read(launch(selection, directory, variables or {}, **options), directory / at)


def read(process, artifacts):
    found = Run(process.returncode, process.stdout, process.stderr, None, [], "", [])
    if artifacts.is_dir():
        found.left = sorted(entry.name for entry in artifacts.iterdir())
        found.bundles = [Bundle(path) for path in sorted(artifacts.glob("*.zip"))]
        for bundle in found.bundles:
            check_with_tools(bundle)
        if (artifacts / ".in-flight").is_dir():
            found.in_flight = sorted(entry.name for entry in (artifacts / ".in-flight").iterdir())
        if (artifacts / ".gitignore").is_file():
            found.ignored = (artifacts / ".gitignore").read_text()
    return found


def check_with_tools(bundle):
    """Every unzip opens it: three that know nothing of each other."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    options = {"env": environment, "capture_output": True, "text": True, "encoding": "utf-8"}
    unzip = subprocess.run(["unzip", "-tqq", str(bundle.path)], **options)
    assert unzip.returncode == 0, f"unzip -t: {unzip.stdout}{unzip.stderr}"
    bsdtar = subprocess.run(["bsdtar", "-tf", str(bundle.path)], **options)
    assert bsdtar.returncode == 0, f"bsdtar -t: {bsdtar.stderr}"
    # It composes letters and marks.
    names = [unicodedata.normalize("NFC", name) for name in bundle.names]
    assert bsdtar.stdout.splitlines() == names, f"bsdtar lists {bsdtar.stdout}"
    assert bundle.damaged is None, f"zipfile finds a damaged entry: {bundle.damaged}"


@functools.lru_cache(maxsize=None)
def without(selection, needs=()):
    """The same tests with capturing off: status and output are the yardstick.

    `needs` are the variables, as pairs, without which the tests themselves can't be run.
    """
    found = run(selection, {**dict(needs), "FAILURE_ARTIFACTS": "off"})
    assert found.left is None, "a directory although capturing is off"
    return found


def timeless(output):
    """Output with the times taken out."""
    return TIMES.sub("T", output)


@functools.lru_cache(maxsize=None)
def validator():
    """The published schema, as a validator of `jsonschema`."""
    import jsonschema

    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


class SuiteCase(unittest.TestCase):
    """Checks on what a scenario leaves."""

    maxDiff = None
    framework = "XCTest"

    # Variables, as pairs, that the tests of the class can't be run without.
    needs = ()

    def leaves(self, selection, count=1, warnings=0, variables=None, **options):
        """Runs a scenario; it must leave `count` bundles and nothing else, and change nothing.

        Each bundle is announced on standard error, and so is each of the `warnings`; nothing else is said.
        Returns the bundle where there is one, else the list of them.
        """
        with_capture = run(selection, {**dict(self.needs), **(variables or {})}, **options)
        self.assertUnchanged(with_capture, selection)
        self.assertTidy(with_capture, count)
        self.assertEqual(len(with_capture.warnings), warnings, with_capture.said)
        self.assertEqual(len(with_capture.said), count + warnings, with_capture.said)
        self.assertEqual(
            sum(len(bundle.metadata["warnings"]) for bundle in with_capture.bundles), warnings)
        for bundle in with_capture.bundles:
            self.assertEqual(sum(bundle.path.name in line for line in with_capture.said), 1)
            self.check(bundle)
        return with_capture.bundles[0] if count == 1 else with_capture.bundles

    def assertUnchanged(self, with_capture, selection):
        yardstick = without(selection, self.needs)
        self.assertEqual(with_capture.status, yardstick.status, with_capture.errors)
        self.assertEqual(timeless(with_capture.output), timeless(yardstick.output))
        self.assertEqual(with_capture.others, yardstick.others)

    def assertTidy(self, found, count):
        """Only bundles under names that are theirs, and what keeps git away from them."""
        if count == 0:
            self.assertIsNone(found.left)
            return
        self.assertIsNotNone(found.left, "no artifacts directory: " + found.errors)
        hidden = (".gitignore", ".in-flight", ".budget")
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
        """What holds for every bundle."""
        metadata = bundle.metadata
        errors = [f"{error.json_path}: {error.message}" for error in validator().iter_errors(metadata)]
        self.assertEqual(errors, [])
        self.assertEqual(bundle.names[0], "metadata.json")
        self.assertEqual(len(set(bundle.names)), len(bundle.names))
        self.assertIn("README.txt", bundle.names)
        text = bundle.contents["metadata.json"].decode()
        self.assertEqual(json.dumps(metadata, sort_keys=True), json.dumps(metadata), "keys are not sorted")
        self.assertTrue(text.startswith("{"))
        self.assertEqual(metadata["formatVersion"], "1.1")
        self.assertEqual(metadata["test"]["framework"], self.framework)
        self.assertEqual(metadata["outcome"], outcome)
        self.assertLess(metadata["capture"]["duration"], 5)
        mentioned = []
        for store in metadata["stores"]:
            mentioned += [store[key] for key in ("entry", "committedEntry") if key in store]
            if "entry" in store:
                self.check_numbers(store, bundle.contents[store["entry"]])
        for entry in mentioned:
            self.check_store(bundle.contents[entry])
        copies = [name for name in bundle.names if name.startswith("stores/")]
        self.assertEqual(sorted(mentioned), sorted(copies))

    def check_store(self, content):
        """One file that opens anywhere, with nothing beside it."""
        if not content:
            return  # SQLite's form of a store without any table.
        self.assertEqual(content[:16], b"SQLite format 3\0")
        self.assertEqual((content[18], content[19]), (1, 1), "the copy asks for a WAL")
        store = Store(content)
        self.assertEqual(store.query("PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(store.query("PRAGMA journal_mode"), [("delete",)])
        self.assertEqual(store.command("PRAGMA integrity_check"), "ok\n")

    def check_numbers(self, described, content):
        """The metadata says what the copy holds."""
        store = Store(content)
        self.assertEqual(described["bytes"]["copy"], len(content))
        self.assertEqual(described["integrity"], "ok")
        tables = {table["name"]: table["rows"] for table in described["tables"] if table["exact"]}
        for name, rows in tables.items():
            self.assertEqual(store.query(f'SELECT count(*) FROM "{name}"'), [(rows,)])
        if content:
            self.assertEqual(described["pageSize"] * described["pageCount"], len(content))
            self.assertEqual(store.query("PRAGMA user_version"), [(described["userVersion"],)])

    def assertTest(self, bundle, suite, name, *messages, kind="assertion", stem=None):
        """Which test it was and how it failed: nothing but the failures that were planned."""
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
        """Exactly these stores, by their files' names, each with exactly these rows."""
        stores = bundle.metadata["stores"]
        found = {label(store): Store(bundle.contents[store["entry"]]).rows() for store in stores}
        self.assertEqual(found, expected)
        self.assertEqual(len(stores), len(expected))
