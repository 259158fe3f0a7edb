"""A capture changes nothing that a test can notice, in any state of its connections.

The table of states is in `StatesSuite`. Each state runs with each kind of store in two fresh processes: one with
capturing off, one with it on. Their observations and the files that they leave are compared; the bundle is read.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import sqlite3
import sys
import tempfile
import unittest

from harness import EXECUTABLE, Run, Store, label, launch, read, timeless

TEST = "StatesSuite.StateTests/"
# In seconds. A capture that waits for a lock takes two.
LONGEST = 1.9
# The number of views that the bundles of all states may lack: those of stores that can't be written, of committed states
# that no journal has kept, and of a store in memory that connections share.
INEXACT = 9
# True for each view that is as expected. There are up to two for each store.
views = []


def table():
    """Returns the cases: each row of the table with each of its kinds of store."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "table.json"
        process = launch(TEST + "testTable", path.parent, {"STATES_TABLE": str(path), "FAILURE_ARTIFACTS": "off"})
        if process.returncode != 0:
            raise RuntimeError(f"{EXECUTABLE} does not write its table: {process.stdout}{process.stderr}")
        return json.loads(path.read_text())


@dataclasses.dataclass
class Side:
    """One of the two runs."""

    found: Run
    observations: dict  # By name. A repeated name has a number.
    files: dict  # The content of each remaining database.


def observed(path):
    """Returns the observations in a file, in their order."""
    seen, result = collections.Counter(), {}
    for line in path.read_text().splitlines() if path.exists() else []:
        name, value = json.loads(line)
        seen[name] += 1
        result[name if seen[name] == 1 else f"{name} ({seen[name]})"] = value
    return result


def content(path):
    """Returns the integrity of a database, its journal mode and its rows, or the error of reading them."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        try:
            return [database.execute(sql).fetchall() for sql in (
                "PRAGMA quick_check", "PRAGMA journal_mode", "SELECT name FROM fruit", "SELECT count(*) FROM filler")]
        except sqlite3.Error as error:
            return str(error)


def run(state, setting, variables):
    """Runs one case in a separate directory."""
    with tempfile.TemporaryDirectory(prefix="states ") as name:
        directory = pathlib.Path(name)
        process = launch(TEST + "testState", directory, {"STATES_CASE": f"{state} {setting}", **variables})
        files = {path.name: content(path) for path in sorted((directory / "store").glob("*.db"))}
        files["directory"] = sorted(path.name for path in (directory / "store").glob("*"))
        return Side(
            read(process, directory / "failure-artifacts", with_tools=False), observed(directory / "observations.jsonl"), files)


def differences(case, without, with_capture):
    """Yields the differences between the runs that the table does not allow."""
    allowed = {allowance["observation"]: allowance for allowance in case["allowances"]}
    names = [*without.observations, *(with_capture.observations.keys() - without.observations.keys())]
    if with_capture.found.status < 0:
        yield f"killed by signal {-with_capture.found.status} after {list(with_capture.observations)[-1:]}"
        names = [name for name in names if name in with_capture.observations]
        allowed = {name: allowed[name] for name in names if name in allowed}
    for name in names:
        before, after = (side.observations.get(name, "missing") for side in (without, with_capture))
        allowance = allowed.pop(name, None)
        if allowance is None:
            if before != after:
                yield f"{name}: {before!r}, with the product {after!r}"
        elif "becomes" in allowance:
            if before == allowance["becomes"] or after != allowance["becomes"]:
                yield f"{name}: {before!r}, with the product {after!r}, allowed is {allowance['becomes']!r}"
        else:
            difference = None if "missing" in (before, after) else int(after) - int(before)
            if difference is None or not 0 <= difference <= allowance["most"]:
                yield f"{name}: {before}, with the product {after}, allowed are {allowance['most']} more"
    for name in allowed:
        yield f"{name}: there is an allowance for it, but no such observation"
    # A killed test has no output to compare.
    if with_capture.found.status < 0:
        return
    for what, before, after in (
        ("status", without.found.status, with_capture.found.status),
        ("output", timeless(without.found.output), timeless(with_capture.found.output)),
        ("standard error", without.found.others, with_capture.found.others),
        ("files left", without.files, with_capture.files),
    ):
        if before != after:
            yield f"{what}: {before!r}, with the product {after!r}"


def rows(content, name):
    """Returns the rows of a table, or a text with the reason why the copy can't be read."""
    store = Store(content)
    try:
        if store.query("PRAGMA quick_check") != [("ok",)]:
            return "damaged pages"
        return [row for (row,) in store.query(f"SELECT name FROM {name} ORDER BY rowid")]
    except sqlite3.Error as error:
        return str(error)


def note_views(store, expected, bundle):
    """Notes if the bundle has the rows that the connection sees, and those that others see if they are different."""
    found, committed = (
        rows(bundle.contents[entry], expected["table"]) if entry else None
        for entry in (store.get("entry"), store.get("committedEntry")))
    views.append(found == expected["own"])
    if expected["others"] != expected["own"]:
        views.append(expected["others"] == (found if committed is None else committed))


def problems_of_copy(store, expected, bundle):
    """Yields the faults of a bundle's copies of one store."""
    entry, committed = store.get("entry"), store.get("committedEntry")
    copies = expected["copies"]
    if entry is None:
        if copies and not expected["mayBeDescribed"]:
            yield f"it is only described: {store['capture'].get('reason')}"
        if not store["capture"].get("reason"):
            yield "it is described without a reason"
    else:
        found = rows(bundle.contents[entry], expected["table"])
        if not copies and not expected["mayBeDescribed"]:
            yield f"it should be described, but there is a copy with {found}"
        elif found not in copies:
            if store["capture"]["consistent"]:
                yield f"a copy that is called consistent has {found}, and not one of {copies}"
            elif not expected["mayBeInconsistent"]:
                yield f"the copy has {found}, and not one of {copies}"
        if found != expected["own"] and not bundle.metadata["warnings"]:
            yield f"no warning says that the copy has {found} where the connection sees {expected['own']}"
    if committed is None:
        if expected["committed"] and entry and not expected["mayLackCommitted"]:
            yield "there is no copy of the committed state"
    else:
        found = rows(bundle.contents[committed], expected["table"])
        if found not in expected["committed"]:
            yield f"the committed state has {found}, and not one of {expected['committed']}"


def problems_of_bundle(case, found):
    """Yields the faults of the bundle."""
    if case["state"] == "fileSizeLimit" and not found.bundles:
        # The bundle itself is larger than the limit, which must be reported.
        if not found.warnings:
            yield "no bundle, and no warning"
        return
    if len(found.bundles) != 1:
        yield f"{len(found.bundles)} bundles: {found.errors}"
        return
    bundle = found.bundles[0]
    stores = {}
    for store in bundle.metadata["stores"]:
        name = label(store)
        # Only a PRAGMA distinguishes them, and none may run.
        if (case["setting"], name) == ("temporary", "memory"):
            name = case["setting"]
        if name in stores:
            yield f"two stores are called {name}"
        stores[name] = store
    for name in sorted(stores.keys() | case["stores"].keys()):
        if name not in stores:
            yield f"store {name}: it is not in the bundle"
        elif name not in case["stores"]:
            yield f"store {name}: it should not be in the bundle"
        else:
            note_views(stores[name], case["stores"][name], bundle)
            for problem in problems_of_copy(stores[name], case["stores"][name], bundle):
                yield f"store {name}: {problem}"
    if bundle.metadata["warnings"] and not case["mayWarn"]:
        yield f"needless warnings: {bundle.metadata['warnings']}"
    if bundle.metadata["capture"]["duration"] > LONGEST:
        yield f"the capture took {bundle.metadata['capture']['duration']:.1f} s"


def problems(case):
    """Runs both sides of a case; yields the differences and faults."""
    state, setting = case["state"], case["setting"]
    without, with_capture = pool.map(
        lambda variables: run(state, setting, variables), [{"FAILURE_ARTIFACTS": "off"}, {}])
    if without.observations.get("failed") != "true":
        yield f"the test does not come to its failure: {without.found}"
    if without.found.left is not None:
        yield f"an artifacts directory although capturing is off: {without.found.left}"
    yield from differences(case, without, with_capture)
    yield from problems_of_bundle(case, with_capture.found)


CASES = table()
# One run per core at once, independently of the cases.
pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())


class States(unittest.TestCase):
    """One test for each state; the cases of a state are its kinds of store."""

    @classmethod
    def tearDownClass(cls):
        if len(views) >= sum(len(case["stores"]) for case in CASES):
            exact = sum(views)
            print(f"{exact} of {len(views)} views are exact", file=sys.stderr)
            assert exact >= len(views) - INEXACT, f"only {exact} of {len(views)} views are exact"

    def check_state(self, cases):
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as waiting:
            for case, found in zip(cases, waiting.map(lambda case: list(problems(case)), cases)):
                with self.subTest(case["setting"]):
                    if found:
                        self.fail("\n".join(["differs:", *found]))


def add_tests():
    states = collections.defaultdict(list)
    for case in CASES:
        states[case["state"]].append(case)
    for state, cases in states.items():
        setattr(States, f"test_{state}", lambda self, cases=cases: self.check_state(cases))


add_tests()
