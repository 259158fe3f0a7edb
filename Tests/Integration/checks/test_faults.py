"""System calls fail during a capture. Test results stay, and all outputs are complete or explain what is missing."""

import collections
import concurrent.futures
import dataclasses
import errno
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile

import harness
from harness import BUILD, EXECUTABLE, TOOL, Store, clean_environment, timeless

SOURCE = harness.ROOT / "Tests" / "Integration" / "Faults" / "faults.c"
FIXTURES = harness.ROOT / "Tests" / "Integration" / "Fixtures" / "1.0"
SUITE = "ExplicitSuite.FaultTests"
TESTS = (
    "test1FailsWithAWAL", "test3FailsInATransaction", "test4FailsWithARollbackJournal",
    "test6FailsWithAnotherThreadsStore")
LAST = "test5FailsAtItsEnd"
FEW = "test7FailsWithFewDescriptors"
LARGE = "test9FailsInALargeTransaction"

# The number of random failures of each kind; `all` takes more than an hour.
LIMIT = os.environ.get("INTEGRATION_FAULTS", "30")
SEED = int(os.environ.get("INTEGRATION_SEED", "20261121"))
WORKERS = 3

# The results that a call may have once.
FAULTS = {
    "open": ("EMFILE", "EIO", "EINTR"),
    "opendir": ("EMFILE",),
    "readdir": ("EIO",),
    "close": ("EIO", "EINTR"),
    "read": ("EIO", "EINTR", "short"),
    "write": ("ENOSPC", "EIO", "EINTR", "short", "zero"),
    "mmap": ("ENOMEM",),
    "fsync": ("EIO", "ENOSPC", "EINTR"),
    "ftruncate": ("EIO", "EINTR"),
    "lock": ("ENOLCK", "EINTR"),
    "fstat": ("EIO",),
    "stat": ("EIO",),
    "unlink": ("EIO",),
    "rmdir": ("EIO",),
    "mkdir": ("ENOSPC", "EROFS"),
    "mkdtemp": ("ENOSPC",),
    "chmod": ("EPERM",),
    "readlink": ("EIO",),
    "rename": ("EIO", "ENOSPC"),
    "link": ("EIO", "EPERM", "ENOSPC"),
    "pthread_create": ("EAGAIN",),
}
# The failures that persist.
LASTING = (
    ("space", "ENOSPC"), ("descriptors", "EMFILE"), ("changes", "EROFS"), ("read", "EIO"), ("write", "EIO"),
    ("fsync", "EIO"), ("rename", "EIO"), ("link", "EIO"), ("unlink", "EIO"), ("fstat", "EIO"), ("pthread_create", "EAGAIN"))
GROUPS = {
    "space": ("open", "write", "mkdir", "mkdtemp", "rename", "link"),
    "descriptors": ("open", "opendir"),
    "changes": ("open", "write", "mkdir", "mkdtemp", "rename", "link", "unlink", "rmdir", "chmod", "ftruncate"),
}


@functools.lru_cache(maxsize=None)
def library():
    """Builds the library of faults.c, and returns its path."""
    place = BUILD / "integration" / "faults"
    place.mkdir(parents=True, exist_ok=True)
    built = place / "libfaults.so"
    subprocess.run(
        ["clang", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", str(built), str(SOURCE), "-ldl"],
        check=True)
    return built


def preloaded():
    """The variables that load the library. A path with a space would count as two paths."""
    return {"LD_PRELOAD": library().name, "LD_LIBRARY_PATH": str(library().parent)}


@dataclasses.dataclass(frozen=True)
class Point:
    """A call and its fault."""

    call: str
    number: int
    what: str
    lasts: bool = False

    @property
    def setting(self):
        code = str(getattr(errno, self.what)) if self.what.startswith("E") else self.what
        return f"{self.call}:{self.number}:{code}" + (":on" if self.lasts else "")

    def __str__(self):
        return f"{self.what} at {self.call} {self.number}" + (" and all later ones" if self.lasts else "")


class Place:
    """A directory in which tests run with faults."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.artifacts = self.directory / "failure-artifacts"
        self.scratch = self.directory / "tmp"
        self.scratch.mkdir()
        (self.directory / "rules.json").write_text('{"columns": [{"column": "name", "method": "hash"}]}')
        self.log = self.directory / "log"

    def run(self, command, point=None, watched=None, **variables):
        """Runs a command. `watched` selects the calls that count."""
        environment = clean_environment(self.scratch, **variables)
        if watched:
            self.log.unlink(missing_ok=True)
            environment |= {**preloaded(), "FAULTS_LOG": str(self.log), **watched}
        if point:
            environment["FAULTS_AT"] = point.setting
        return subprocess.run(
            [str(part) for part in command], cwd=self.directory, env=environment, capture_output=True, text=True,
            timeout=60)

    @property
    def calls(self):
        lines = self.log.read_text(errors="replace").splitlines()
        return [line.split(" ", 1) for line in lines if not line.startswith("! ")]

    @property
    def faults(self):
        if not self.log.is_file():
            return []
        lines = self.log.read_text(errors="replace").splitlines()
        return [line[2:].replace(str(self.directory), "") for line in lines if line.startswith("! ")]

    @property
    def bundles(self):
        return sorted(self.artifacts.glob("*.zip"))

    @property
    def in_flight(self):
        hidden = self.artifacts / ".in-flight"
        return sorted(entry.name for entry in hidden.iterdir()) if hidden.is_dir() else []


def content(path):
    """A bundle's content for comparison: the entries without random values and times."""
    with zipfile.ZipFile(path) as archive:
        metadata = json.loads(archive.read("metadata.json"))
        return frozenset(archive.namelist()), metadata


def damaged(path, metadata):
    """The stores in whose copies SQLite finds damage, each with what it finds."""
    with zipfile.ZipFile(path) as archive:
        for store in metadata["stores"]:
            found = Store(archive.read(store["entry"])).query("PRAGMA integrity_check") if "entry" in store else None
            if found not in (None, [("ok",)]):
                yield store["name"], found


def has_reasons(metadata):
    """True if the bundle gives the reason why a part of a store is missing."""
    return any(
        store["capture"].get("reason") or store.get("history", {}).get("reason") for store in metadata["stores"])


def points(calls):
    """All faults at all calls."""
    numbers = collections.Counter(call for call, _ in calls)
    found = [
        Point(call, number, what)
        for call in sorted(numbers) for what in FAULTS[call] for number in range(1, numbers[call] + 1)]
    for call, what in LASTING:
        count = sum(numbers[member] for member in GROUPS.get(call, (call,)))
        found += [Point(call, number, what, lasts=True) for number in range(1, count + 1)]
    return found


def sample(points, share=1):
    if LIMIT == "all":
        return points
    generator = random.Random(SEED)
    # Take some of each kind, because some functions are called much more often than others.
    kinds = collections.defaultdict(list)
    for point in points:
        kinds[point.call, point.what, point.lasts].append(point)
    chosen = []
    wanted = int(int(LIMIT) * share)
    while len(chosen) < wanted and any(kinds.values()):
        for kind in sorted(kinds):
            if kinds[kind] and len(chosen) < wanted:
                chosen.append(kinds[kind].pop(generator.randrange(len(kinds[kind]))))
    return chosen


class FaultCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not sys.platform.startswith("linux"):
            raise unittest.SkipTest("Libraries are preloaded on Linux.")

    def check_all(self, tasks):
        """Runs tasks: pairs of a title and a function that returns the faults and the problems."""
        print(f"{len(tasks)} faults, seed {SEED}", file=sys.stderr)
        wrong = []
        hit = 0
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for (title, _), (faults, problems) in zip(tasks, pool.map(lambda task: task[1](), tasks)):
                hit += bool(faults)
                wrong += [f"{title} ({faults[0] if faults else 'not reached'}): {problem}" for problem in problems]
        print(f"{hit} of {len(tasks)} faults reached", file=sys.stderr)
        report = os.environ.get("INTEGRATION_FAULTS_REPORT")
        if report:
            pathlib.Path(f"{report}-{type(self).__name__}").write_text("\n".join(wrong))
        self.assertEqual(wrong, [], f"{len(wrong)} problems")
        self.assertGreater(hit, len(tasks) * 0.8)


def archive_problems(place):
    """The problems with files that have final names."""
    problems = []
    for path in place.bundles:
        try:
            with zipfile.ZipFile(path) as archive:
                if archive.testzip() is not None:
                    problems.append(f"{path.name} is damaged")
        except (OSError, zipfile.BadZipFile, EOFError) as error:
            problems.append(f"{path.name}: {error}")
        unzip = subprocess.run(["unzip", "-tqq", str(path)], capture_output=True, text=True)
        if unzip.returncode != 0:
            problems.append(f"unzip -t {path.name}: {unzip.stdout}{unzip.stderr}")
    if place.bundles:
        verified = subprocess.run(
            [str(TOOL), "verify", str(place.artifacts)], capture_output=True, text=True,
            env=clean_environment(place.scratch))
        if verified.returncode != 0:
            problems.append(f"verify: {verified.stdout}{verified.stderr}")
    return problems


def by_test(place):
    found = collections.defaultdict(list)
    for path in place.bundles:
        found[path.name.split(".")[1].rsplit("-", 1)[0]].append(path)
    return found


def changes(selection, result):
    """The differences from a run of the tests without the product."""
    yardstick = harness.without(selection)
    if result.returncode != yardstick.status:
        yield f"status {result.returncode}: {result.stderr[-300:]}"
    if timeless(result.stdout) != timeless(yardstick.output):
        yield f"output: {result.stdout[-1000:]}"
    others = [line for line in result.stderr.splitlines() if not line.startswith(harness.OURS)]
    if others != yardstick.others:
        yield f"standard error: {others}"


class Capturing(FaultCase):
    """Faults in the process of the tests."""

    tests = TESTS
    variables = {}

    @functools.lru_cache(maxsize=None)
    def clean(self):
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = Place(name)
            for test in (*TESTS, LAST, FEW, LARGE):
                result = place.run([EXECUTABLE, f"{SUITE}/{test}"], **self.variables)
                self.assertNotIn(harness.WARNING, result.stderr)
            return {test: content(path) for test, (path,) in by_test(place).items()}

    def watched(self, place):
        return {"FAULTS_PATHS": str(place.artifacts)}

    def calls(self, selection):
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = Place(name)
            place.run([EXECUTABLE, selection], watched=self.watched(place), **self.variables)
            return place.calls

    def problems(self, selection, point):
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = Place(name)
            try:
                result = place.run(
                    [EXECUTABLE, selection], point, self.watched(place), **self.variables)
            except subprocess.TimeoutExpired:
                return place.faults, ["hangs"]
            faults = place.faults
            return faults, list(self.what_is_wrong(place, selection, point, result))

    def what_is_wrong(self, place, selection, point, result):
        yield from changes(selection, result)
        yield from archive_problems(place)
        said = [line for line in result.stderr.splitlines() if line.startswith(harness.WARNING)]
        found = by_test(place)
        clean = self.clean()
        for test in (*TESTS, LAST, FEW, LARGE):
            if not selection.endswith(test):
                continue
            yield from self.losses(test, clean[test], found[test], said)
        in_flight = place.in_flight
        # A later process isn't blocked, and completes the recovery.
        swept = place.run([TOOL, "sweep", place.artifacts]) if place.artifacts.is_dir() else None
        if swept and swept.returncode != 0:
            yield f"sweep: {swept.returncode} {swept.stdout} {swept.stderr} {in_flight}"
        for test, paths in by_test(place).items():
            if len(paths) > 1:
                yield f"{len(paths)} bundles of {test} after sweep; left were {in_flight}"
        before = len(place.bundles)
        # A run takes long, so it is made only if files are left, and for every tenth call.
        if in_flight or place.in_flight or point.number % 10 == 0:
            again = place.run([EXECUTABLE, f"{SUITE}/{TESTS[1]}"], **self.variables)
            if len(place.bundles) != before + 1 or harness.WARNING in again.stderr:
                new = len(place.bundles) - before
                yield f"the next run leaves {new} bundles: {again.stderr}; left were {in_flight}"
        if place.in_flight:
            yield f"{place.in_flight} is left for ever; before sweep {in_flight}"
        if archive_problems(place):
            yield f"after sweep: {archive_problems(place)}"

    def losses(self, test, clean, paths, said):
        about = [line for line in said if test in line or "No bundle can be written" in line]
        if len(paths) > 1:
            yield f"{len(paths)} bundles of {test}"
        if not paths:
            if not about:
                yield f"no bundle of {test}, and no word of it: {said}"
            return
        try:
            entries, metadata = content(paths[0])
        except Exception as error:
            yield f"{paths[0].name}: {error!r}"
            return
        missing = clean[0] - entries
        if missing and not (metadata["warnings"] or has_reasons(metadata)):
            yield f"{test} lacks {sorted(missing)}, and no word of it"
        for name, result in damaged(paths[0], metadata):
            yield f"{test}: integrity of {name} is {result!r}"
        for warning in metadata["warnings"]:
            if not any(warning["text"] in line for line in said):
                yield f"{test}: in the bundle only: {warning}"

    def run_all(self, share=1):
        calls = {test: self.calls(f"{SUITE}/{test}") for test in self.tests}
        found = [(test, point) for test in self.tests for point in points(calls[test])]
        by_point = collections.defaultdict(list)
        for test, point in found:
            by_point[point].append(test)
        if LIMIT != "all":
            chosen = sample([point for _, point in found], share)
            generator = random.Random(SEED)
            found = [(generator.choice(by_point[point]), point) for point in chosen]
        self.check_points(found)

    def check_points(self, found):
        self.check_all([
            (f"{test}: {point}", functools.partial(self.problems, f"{SUITE}/{test}", point)) for test, point in found])

    def run_kills(self, tests):
        """Kills the process before each of its calls."""
        found = [
            (test, Point("any", number, "kill")) for test in tests
            for number in range(1, len(self.calls(f"{SUITE}/{test}")) + 1)]
        if LIMIT != "all":
            found = random.Random(SEED).sample(found, min(int(LIMIT), len(found)))
        self.check_points(found)


class CapturingIntoTheDirectory(Capturing):
    """Faults while writing to and reading from the artifacts directory."""

    def test_faults(self):
        self.run_all()


class DyingAnywhere(Capturing):
    """The process is killed before each of its calls on the artifacts directory. A sweep recovers one bundle."""

    def problems(self, selection, point):
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = Place(name)
            result = place.run([EXECUTABLE, selection], point, self.watched(place), **self.variables)
            faults = place.faults
            if not faults:
                return faults, []
            if result.returncode != -signal.SIGKILL:
                return faults, [f"status {result.returncode}"]
            return faults, list(self.what_is_left(place))

    def what_is_left(self, place):
        yield from archive_problems(place)
        hidden = place.artifacts / ".in-flight"
        known = len(place.bundles) or len(list(hidden.glob("staging-*/metadata.json")))
        in_flight = [str(path.relative_to(hidden)) for path in sorted(hidden.rglob("*"))] if hidden.is_dir() else []
        before = len(place.bundles)
        if place.artifacts.is_dir():
            swept = place.run([TOOL, "sweep", place.artifacts])
            if swept.returncode != 0 or swept.stderr.replace(str(TOOL), ""):
                yield f"sweep: {swept.returncode} {swept.stderr}"
        count = len(place.bundles)
        if count > 1 or (known and count == 0):
            yield f"{before} bundles, {count} after sweep; left were {in_flight}"
        yield from archive_problems(place)
        if place.in_flight:
            yield f"{place.in_flight} is left for ever"

    def test_kills(self):
        self.run_kills(TESTS[:2])


class Redacting(Capturing):
    """Faults while writing to the private directory in which copies are redacted."""

    variables = {"FAILURE_ARTIFACTS_REDACTIONS": "rules.json"}

    def watched(self, place):
        return {"FAULTS_PATHS": f"{place.scratch}/failure-artifacts-private"}

    def test_faults(self):
        self.run_all(share=0.4)


class ReadingTheStores(Capturing):
    """Faults while the capture reads the application's files and the state of the process."""

    tests = (*TESTS, LARGE)

    def watched(self, place):
        return {"FAULTS_WINDOW_PATHS": f"{place.scratch}:/proc:/dev/fd"}

    def test_faults(self):
        self.run_all()


class Recovering(FaultCase):
    """Faults in a sweep after the test process has died. It may create no bundle, but no data is lost."""

    SCENARIOS = ("RawSuite.CrashTests/testFailsAndCrashes", "RawSuite.CrashTests/testIsKilled")

    def left(self, selection):
        """The outputs of a dead process."""
        place = Place(harness.fresh_directory(self))
        result = place.run([EXECUTABLE, selection])
        self.assertEqual(result.returncode, -signal.SIGKILL)
        return place

    def copy(self, left, name):
        place = Place(name)
        shutil.copytree(left.artifacts, place.artifacts)
        return place

    def watched(self, place, left):
        return {"FAULTS_PATHS": f"{place.artifacts}:{left.scratch}/suite-:/proc:/dev/fd"}

    def problems(self, left, clean, point):
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = self.copy(left, name)
            before = files_below(left.scratch)
            try:
                first = place.run([TOOL, "sweep", place.artifacts], point, self.watched(place, left))
            except subprocess.TimeoutExpired:
                return place.faults, ["hangs"]
            return place.faults, list(self.what_is_wrong(place, left, clean, before, point, first))

    def what_is_wrong(self, place, left, clean, before, point, first):
        if first.returncode < 0 and point.what != "kill":
            yield f"the sweep dies: {first.returncode} {first.stderr}"
        yield from archive_problems(place)
        half, in_flight = len(place.bundles), place.in_flight
        # The dead process's number may belong to another process now. If the sweep can't read that one's
        # start time, it leaves files that may be in use. The second sweep creates the bundle.
        is_taken = any(re.search(r" /proc/\d+/stat$", fault) for fault in place.faults)
        if half == 0 and not first.stderr and point.what != "kill" and not is_taken:
            yield "the sweep makes nothing and says nothing"
        second = place.run([TOOL, "sweep", place.artifacts])
        if second.returncode != 0 or second.stderr:
            yield f"the second sweep: {second.returncode} {second.stderr}"
        if files_below(left.scratch) != before:
            yield "the store has changed"
        if len(place.bundles) != 1:
            yield f"{half} bundles, then {len(place.bundles)}: {first.stderr}{second.stderr}; left were {in_flight}"
            return
        yield from archive_problems(place)
        if place.in_flight:
            yield f"{place.in_flight} is left for ever; before that {in_flight}"
        entries, metadata = content(place.bundles[0])
        missing = clean[0] - entries
        if missing and not (metadata["warnings"] or has_reasons(metadata)):
            yield f"lacks {sorted(missing)}, and no word of it"
        for name, result in damaged(place.bundles[0], metadata):
            yield f"integrity of {name} is {result!r}"
        if metadata["outcome"] != clean[1]["outcome"]:
            yield f"the outcome is {metadata['outcome']}"
        if [f["kind"] for f in metadata["failures"]] != [f["kind"] for f in clean[1]["failures"]]:
            yield f"the failures are {metadata['failures']}"

    def test_faults(self):
        tasks = []
        for selection in self.SCENARIOS:
            left = self.left(selection)
            with tempfile.TemporaryDirectory(prefix="faults ") as name:
                place = self.copy(left, name)
                result = place.run([TOOL, "sweep", place.artifacts], watched=self.watched(place, left))
                self.assertEqual(len(place.bundles), 1, result.stderr)
                clean = content(place.bundles[0])
                found = points(place.calls)
                # If the sweep is killed, the next process continues.
                kills = [Point("any", number, "kill") for number in range(1, len(place.calls) + 1)]
            if LIMIT != "all":
                kills = random.Random(SEED).sample(kills, int(LIMIT) // 5)
            tasks += [
                (f"sweep of {selection}: {point}", functools.partial(self.problems, left, clean, point))
                for point in sample(found, share=0.4) + kills]
        self.check_all(tasks)


def files_below(directory):
    """The files below a directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(pathlib.Path(directory).rglob("*")) if path.is_file()}


class JournalOfRedactedTests(FaultCase):
    """If a journal can't record the redaction rules, there is no journal."""

    SELECTION = "ExplicitSuite.ConfiguredRedactionTests/testIsKilled"
    SECRET = "an 8f3c2d secret"

    def run_killed(self, place, point=None):
        return place.run(
            [EXECUTABLE, self.SELECTION], point, {"FAULTS_PATHS": str(place.artifacts)}, SUITE_SECRET=self.SECRET)

    def problems(self, point):
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = Place(name)
            result = self.run_killed(place, point)
            faults = place.faults
            if result.returncode != -signal.SIGKILL:
                return faults, [f"status {result.returncode}"]
            if place.artifacts.is_dir():
                place.run([TOOL, "sweep", place.artifacts])
            found = []
            for path in place.bundles:
                with zipfile.ZipFile(path) as archive:
                    found += [
                        f"the secret is in {entry}" for entry in archive.namelist()
                        if self.SECRET.encode() in archive.read(entry)]
            return faults, found + archive_problems(place)

    def test_faults(self):
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = Place(name)
            self.run_killed(place)
            found = [point for point in points(place.calls) if point.call in ("write", "space", "changes", "ftruncate")]
            place.run([TOOL, "sweep", place.artifacts])
            self.assertEqual(len(place.bundles), 1)
        self.check_all([(point, functools.partial(self.problems, point)) for point in found])


class Shortages(Capturing):
    """SQLite may allocate little more memory during a capture, or the process may open only a few more files."""

    def problems(self, selection, resource, amount):
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = Place(name)
            stays = {"SUITE_HEAP_STAYS": "1"} if selection.endswith(LAST) else {}
            try:
                result = place.run([EXECUTABLE, selection], **{f"SUITE_{resource}": str(amount)}, **stays)
            except subprocess.TimeoutExpired:
                return [], ["hangs"]
            return ["reached"], list(self.what_is_wrong(place, selection, Point(resource, amount, "zero"), result))

    def check_amounts(self, resource, tests, amounts):
        self.check_all([
            (f"{test}: {amount}", functools.partial(self.problems, f"{SUITE}/{test}", resource, amount))
            for test in tests for amount in amounts])

    def test_memory(self):
        generator = random.Random(SEED)
        limits = [0, 100, 1000, 5000, 20_000, 50_000, 100_000, 1_000_000]
        limits += [generator.randrange(200_000) for _ in range(300 if LIMIT == "all" else 3)]
        self.check_amounts("HEAP", (*TESTS, LAST), limits)

    def test_descriptors(self):
        """Files that can't be examined don't count as missing."""
        self.check_amounts("DESCRIPTORS", (FEW,), range(16))

    def test_opening(self):
        """Discovery's own need for memory doesn't make an open fail that would succeed without it."""
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            result = Place(name).run([EXECUTABLE, "ExplicitSuite.OpeningTests/testOpens"])
        yardstick = harness.without("ExplicitSuite.OpeningTests/testOpens")
        self.assertIn("7 7", yardstick.output)
        self.assertEqual(timeless(result.stdout), timeless(yardstick.output))


class ReadingAZip(unittest.TestCase):
    def test_opens(self):
        """A zip of bundles is opened to find them and to read them, not for each."""
        with tempfile.TemporaryDirectory(prefix="faults ") as name:
            place = Place(name)
            path, bundle = place.directory / "many.zip", next(FIXTURES.glob("*.zip")).read_bytes()
            with zipfile.ZipFile(path, "w") as archive:
                # More than are read at a time.
                for number in range(64 * os.cpu_count() + 1):
                    archive.writestr(f"A.b-{number:08x}.zip", bundle)
            result = place.run([TOOL, "list", "--json", path], watched={"FAULTS_PATHS": str(path)})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual([call for call, _ in place.calls].count("open"), 2)
