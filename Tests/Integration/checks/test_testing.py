"""Tests of Swift Testing, which run at the same time in one process."""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import tempfile

from harness import Store, SuiteCase, label, launch, openers, read, run, timeless, without

# The number of repetitions of the stress test. Use some hundred when running it by hand.
ROUNDS = int(os.environ.get("STRESS_ROUNDS", "3"))


def only(suite, name=None, *options, module="TestingSuite"):
    """The options that select one suite, or one test of it."""
    # Tests are matched by `Module.Suite/function(labels:)/File.swift:line:column`.
    pattern = rf"^{module}\.{re.escape(suite)}/" + (rf"{re.escape(name)}\(" if name else "")
    return ("--testing-library", "swift-testing", *options, "--filter", pattern)


class TestingCase(SuiteCase):
    framework = "Swift Testing"

    def assertUnchanged(self, with_capture, selection):
        """Compares the outputs without their order, because simultaneous tests print in any order."""
        yardstick = without(selection)
        self.assertEqual(with_capture.status, yardstick.status, with_capture.errors)
        for attribute in ("output", "errors"):
            with_lines, without_lines = (
                sorted(line for line in timeless(getattr(found, attribute)).splitlines()
                       if not line.startswith("failure-artifacts: "))
                for found in (with_capture, yardstick))
            self.assertEqual(with_lines, without_lines)

    def scenario(self, suite, name, *messages, kind="assertion", stem=None, variables=None, **stores):
        bundle = self.leaves(only(suite, name), variables=variables)
        self.assertTest(bundle, suite.replace("/", "."), name, *messages, kind=kind, stem=stem)
        self.assertStores(bundle, **stores)
        return bundle


ROTTEN = "the fruit is rotten"
APPLE = {"fruit": ["apple"]}
# The messages of each test of `FailureTests`, its stores, and the rows of the committed state that differs.
FAILURES = {
    "expectation": (["Expectation failed: (total → 3) == 4\na comment"], APPLE),
    "requirement": (["Expectation failed: Bool(false)\nrequired"], APPLE),
    "nothing": (["Expectation failed: number → nil"], APPLE),
    "record": (["Issue recorded: by hand"], APPLE),
    "recordedError": ([f"Caught error: {ROTTEN}\nby hand"], APPLE),
    "thrownError": ([f"Caught error: {ROTTEN}"], APPLE),
    "thrownInATransaction": ([f"Caught error: {ROTTEN}"], {"memory": ["apple", "pear"]}, ["apple"]),
    "wrongError": ([
        f'Expectation failed: expected error of type CocoaError, but "{ROTTEN}" of type Rotten was thrown instead'], APPLE),
    # The test isn't cancelled.
    "cancellationError": (["Caught error: CancellationError()"], APPLE),
    "miscount": (["Confirmation was confirmed 1 time, but expected to be confirmed 2 times\ntwo"], APPLE),
    "severalIssues": ([f"Issue recorded: {number}" for number in ("first", "second", "third")], APPLE),
    "childTask": (["Issue recorded: in a child task"], APPLE),
    "taskGroup": (["Issue recorded: in a task group"], {**APPLE, "group": ["pear"]}),
    "unstructuredTask": (["Issue recorded: in a task of its own"], APPLE),
    "mainActor": (["Issue recorded: on the main actor"], APPLE),
    "pool": (["Expectation failed: (count → 2) == 0\na pool"], {"pool": ["apple", "pear"]}),
    "insideATransaction": (["Issue recorded: inside a transaction"], {"fruit": ["apple", "pear"]}, ["apple"]),
    "exitTest": (["Issue recorded: in the child", "Expectation failed: .success → .exitCode(3)"], APPLE),
}


class Failures(TestingCase):
    """Each kind of failure is captured when it happens, with Swift Testing's own message."""

    def test_each_kind(self):
        selection = only("FailureTests", None, "--no-parallel")
        bundles = {bundle.metadata["test"]["name"]: bundle for bundle in self.leaves(selection, count=len(FAILURES))}
        printed = without(selection)
        lines = (printed.output + printed.errors).splitlines()
        for name, (messages, stores, *committed) in FAILURES.items():
            with self.subTest(name):
                bundle = bundles[name]
                self.assertTest(
                    bundle, "FailureTests", name, *messages,
                    kind="error" if messages[0].startswith("Caught error") else "assertion")
                self.assertEqual(bundle.messages, messages)
                self.assertStores(bundle, **stores)
                self.assertFalse([name for name in bundle.names if name.startswith("snapshots/")])
                self.assertFalse([store for store in bundle.metadata["stores"] if store.get("shared")])
                for rows in committed:
                    self.assertEqual(bundle.store(*stores, "committedEntry").rows(), rows)
                # The console's output, line by line.
                for failure in bundle.metadata["failures"]:
                    first, *comments = failure["message"].removeprefix("Issue recorded: ").split("\n")
                    place = f"{pathlib.PurePath(failure['file']).name}:{failure['line']}:"
                    self.assertTrue(any(place in line and "recorded an issue" in line for line in lines), lines)
                    self.assertTrue(any(line.endswith(": " + first) or line == "↳ " + first for line in lines), lines)
                    for comment in comments:
                        self.assertIn("↳ " + comment, lines)

    def test_each_of_several_issues(self):
        bundle = self.leaves(
            only("FailureTests", "severalIssues"), variables={"FAILURE_ARTIFACTS": "every-failure"})
        rows = [
            Store(bundle.contents[snapshot["stores"][0]["entry"]]).rows()
            for snapshot in bundle.metadata["snapshots"]]
        self.assertEqual(rows, [["apple", "pear"], ["apple", "pear", "kiwi"]])

    def test_everything_of_the_current_test(self):
        selection = only("CurrentTestTests", "everything")
        bundle = self.leaves(selection)
        self.assertStores(bundle, fruit=["apple", "pear"])
        self.assertEqual(bundle.described("fruit")["name"], "given")
        self.assertEqual(Store(bundle.contents["snapshots/before/given.sqlite"]).rows(), ["apple"])
        self.assertEqual(bundle.contents["attachments/vegetable.txt"], b"leek")
        # Without options, the store is compared with the snapshot.
        compared = bundle.tool("diff", "--json")
        self.assertEqual(compared.returncode, 1, compared.stderr)
        self.assertIn("'before'", compared.stderr)
        found = json.loads(compared.stdout)
        self.assertEqual((found["a"]["store"], found["b"]["store"]), ("before/given", "given"))
        self.assertEqual([(table["name"], table["inserted"]) for table in found["tables"]], [("fruit", 1)])

    def test_configuration_by_hand(self):
        bundle = self.leaves(only("CurrentTestTests", "configuration"))
        self.assertStores(bundle, fruit=["apple"])
        self.assertEqual(
            Store(bundle.contents["snapshots/failure-2/fruit.sqlite"]).rows(), ["apple", "pear"])


class Quiet(TestingCase):
    """Tests without a failure leave no bundle."""

    def test_no_failure(self):
        names = ("passes", "knownIssue", "knownError", "warning", "cancelled", "cancelledCase",
                 "cancelledWhileAChildWaits", "disabled")
        selection = (*only("QuietTests")[:-1], rf"^TestingSuite\.QuietTests/({'|'.join(names)})\(")
        self.assertEqual(self.leaves(selection, count=0), [])
        self.assertEqual(without(selection).status, 0)
        found = run(only("CurrentTestTests", "nothingOfAPassingTest"))
        self.assertIsNone(found.left)

    def test_failure_of_no_test(self):
        for name in ("detachedTask", "thread"):
            with self.subTest(name):
                self.leaves(only("QuietTests", name), count=0)
                self.assertEqual(without(only("QuietTests", name)).status, 1)

    def test_failure_after_the_end(self):
        bundle = self.leaves(only("LateTests"))
        self.assertTest(bundle, "LateTests", "aStarts", "before the end")
        self.assertStores(bundle, late=["apple"])


class AutomaticTrait(TestingCase):
    """Tests need no trait. If these fail with a new toolchain, Swift Testing calls another function than the one that
    swift_testing.c defines."""

    def test_without_the_trait(self):
        self.scenario("PlainTests", "fails", "without the trait", fruit=["apple"])

    # Passing, failing, skipped and cancelled tests, with arguments, known issues, warnings, and traits of their own.
    ALL = ("--testing-library", "swift-testing", "--filter", r"^TestingSuite\.(OuterTests|ArgumentTests|"
           r"QuietTests/(passes|known|warning|cancelled\(|cancelledCase|disabled)|FailureTests/(expect|several|thrown))")

    def test_console_is_unchanged(self):
        for options in ((), ("--quiet",), ("--very-verbose",)):
            with self.subTest(options):
                selection = (*self.ALL, *options)
                self.assertUnchanged(run(selection), selection)

    def events(self, **variables):
        """The records of the event stream without their times, in any order."""
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "events"
            run((*self.ALL, "--event-stream-output-path", str(path)), variables)
            records = []
            for line in path.read_text().splitlines():
                record = json.loads(line, object_hook=lambda value: {
                    key: timeless(item) if isinstance(item, str) else item for key, item in value.items()
                    if key != "instant"})
                records.append(json.dumps(record, sort_keys=True))
        self.assertGreater(len(records), 100)
        return sorted(records)

    def test_event_stream_is_unchanged(self):
        self.assertEqual(self.events(), self.events(FAILURE_ARTIFACTS="off"))

    def test_off(self):
        """Then the function leaves the tests' traits alone."""
        found = run(only("PlainTests", "fails"), {"FAILURE_ARTIFACTS": "off"})
        self.assertEqual(found.status, 1)
        self.assertTidy(found, 0)


class Names(TestingCase):
    # By the test: its suite, the message, and the start of the bundle's name if it isn't that of both.
    NAMES = {
        "nested": ("OuterTests.InnerTests", "nested"),
        "inAnExtension": ("OuterTests.ExtensionTests", "in an extension"),
        "named": ("OuterTests.NamedTests", "named"),
        "ofTheType": ("OuterTests", "of the type"),
        "CoreData内の果物を更新できる": ("OuterTests", "果物"),
        # The trait is given three times.
        "again": ("OuterTests.AgainTests", "again"),
        '`a raw identifier: "quoted"/slash`': ("OuterTests", "raw", "OuterTests._a_raw_identifier_quoted_slash_"),
    }

    def test_names(self):
        bundles = {bundle.metadata["test"]["name"]: bundle
                   for bundle in self.leaves(only("OuterTests"), count=len(self.NAMES) + 1)}
        for name, (suite, message, *stem) in self.NAMES.items():
            with self.subTest(name):
                self.assertTest(bundles.pop(name), suite, name, message, stem=stem[0] if stem else None)
        ((name, bundle),) = bundles.items()
        self.assertTrue(name.startswith("aNameSoLong"))
        self.assertEqual(bundle.messages, ["Issue recorded: long"])

    def test_function_of_no_suite(self):
        bundle = self.leaves(
            ("--testing-library", "swift-testing", "--filter", r"^TestingSuite\.freeFunction\("))
        self.assertTest(bundle, "TestingSuite", "freeFunction", "a free function")

    def test_instances(self):
        self.scenario("ActorTests", "isolated", "in an actor", fruit=["apple"])
        self.scenario(
            "ClassTests", "throwsAnError", "the fruit is rotten", kind="error", fruit=["apple"], memory=["pear"])
        self.scenario("InitialiserTests", "neverRuns", "the fruit is rotten", kind="error", fruit=["apple"])


class Cases(TestingCase):
    def test_arguments(self):
        bundles = self.leaves(only("ArgumentTests", "one"), count=2)
        found = {}
        for bundle in bundles:
            self.assertEqual(bundle.stem, "ArgumentTests.one")
            self.assertEqual(bundle.metadata["test"]["name"], "one(fruit:)")
            self.assertEqual(bundle.metadata["test"]["attempt"], 1)
            (argument,) = bundle.metadata["test"]["arguments"]
            found[argument] = bundle.store("fruit").rows()
        self.assertEqual(found, {'"apple"': ["apple"], '"pear"': ["pear"]})

    def test_arguments_of_own_types(self):
        bundles = self.leaves(only("ArgumentTests", "two"), count=2)
        arguments = sorted(bundle.metadata["test"]["arguments"] for bundle in bundles)
        self.assertEqual(arguments, [[".apple", "a basket of 1"], [".pear", "a basket of 2"]])

    def test_repetitions(self):
        for selection, count in [
                (only("ArgumentTests", "passesInTheEnd", "--repetitions", "5", "--repeat-until", "pass"), 2),
                (only("FailureTests", "record", "--repetitions", "3"), 3)]:
            bundles = self.leaves(selection, count=count)
            attempts = sorted(bundle.metadata["test"]["attempt"] for bundle in bundles)
            self.assertEqual(attempts, list(range(1, count + 1)))
            self.assertEqual(len({bundle.metadata["fingerprint"] for bundle in bundles}), 1)


class Attachments(TestingCase):
    def test_bundle_is_attached(self):
        """With it is a text about the failure. This works even if several tests fail at the same time."""
        for selection, count in [(only("FailureTests", "record"), 1), (only("ArgumentTests", "one"), 2)]:
            with tempfile.TemporaryDirectory(prefix="attachments ") as name:
                options = (*selection, "--attachments-path", name)
                found = run(options)
                self.assertTidy(found, count)
                attached = {path.name: path.read_bytes() for path in pathlib.Path(name).iterdir()}
                notes = [name for name in attached if name.endswith(".md")]
                texts = sorted(attached.pop(name) for name in notes)
                self.assertEqual(texts, sorted(bundle.contents["README.txt"] for bundle in found.bundles))
                self.assertEqual(sorted(attached), [bundle.path.name for bundle in found.bundles])
                sizes = sorted(len(content) for content in attached.values())
                self.assertEqual(sizes, sorted(bundle.size for bundle in found.bundles))

    def test_nothing_is_attached_by_tests_that_pass(self):
        with tempfile.TemporaryDirectory() as name:
            found = run((*only("QuietTests", "passes"), "--attachments-path", name))
            self.assertTidy(found, 0)
            self.assertEqual(list(pathlib.Path(name).iterdir()), [])


class Ownership(TestingCase):
    def test_own_and_shared_stores(self):
        bundles = self.leaves(only("OwnershipTests"), count=2)
        for bundle, name, fruit in zip(bundles, ("first", "second"), ("apple", "pear")):
            self.assertStores(bundle, **{name: [fruit], "unattributed": ["cherry"], "lazily": ["plum"]})
            shared = {label(store): store.get("shared", False) for store in bundle.metadata["stores"]}
            # A race decides which of them has opened `lazily`.
            self.assertEqual(shared, {name: False, "unattributed": True, "lazily": True})
            # Each statement on the shared connection has the test in whose task it ran.
            names = {test["id"]: test["name"] for test in bundle.metadata["tests"]}
            entry = bundle.described("lazily")["statements"]["entry"]
            records = [json.loads(line) for line in bundle.contents[entry].decode().splitlines()]
            counts = [r for r in records if r["sql"].startswith("SELECT COUNT(*)")]
            self.assertEqual(sorted(names[r["test"]] for r in counts), ["first", "second"])

    def test_stores_that_earlier_tests_left_open(self):
        bundles = {bundle.metadata["test"]["name"]: bundle for bundle in self.leaves(only("LeftOpenTests"), count=2)}
        used, last = bundles["usesThem"], bundles["usesNothing"]
        self.assertStores(used, own=["plum"], used=["pear", "fig"], queue=["pear", "fig"])
        opener = {"suite": "LeftOpenTests", "name": "leaves"}
        self.assertEqual(openers(used), {
            "own": (None, None), "used": (True, opener), "queue": (True, opener)})
        self.assertStores(last, last=["kiwi"])

    def test_a_store_used_without_a_task_belongs_to_the_tests_of_its_suite(self):
        used, other, unused = self.leaves(only("QueueTests") + only("StrangerTests")[2:], count=3)
        self.assertTest(used, "QueueTests", "bFails", "uses the queue")
        self.assertStores(used, queue=["pear", "fig"])
        self.assertEqual(openers(used), {"queue": (True, {"suite": "QueueTests", "name": "aOpens"})})
        self.assertTest(other, "QueueTests", "cFails", "uses the other queue")
        self.assertStores(other, **{"of-no-test": ["plum", "kiwi"]})
        self.assertEqual(openers(other), {"of-no-test": (True, None)})
        self.assertTest(unused, "StrangerTests", "fails", "uses nothing")
        # The other store was opened on a thread while this test was running.
        self.assertLessEqual({label(store) for store in unused.metadata["stores"]}, {"of-no-test"})

    def test_crowd(self):
        """64 simultaneous tests, each with its own stores."""
        selection = only("StressTests", "crowd", "--repetitions", str(ROUNDS))
        with tempfile.TemporaryDirectory(prefix="crowd ") as name:
            directory = pathlib.Path(name)
            limits = {"FAILURE_ARTIFACTS_MAX_BUNDLES": "1000000"}
            process = launch(selection, directory, limits, patience=300 + 100 * ROUNDS)
            found = read(process, directory / "failure-artifacts")
        self.assertTidy(found, 32 * ROUNDS)
        self.assertEqual(found.warnings, [])
        self.assertEqual(found.status, 1)
        runs = collections.Counter()
        for bundle in found.bundles:
            self.check(bundle)
            ((number,), attempt) = (bundle.metadata["test"][key] for key in ("arguments", "attempt"))
            runs[int(number), attempt] += 1
            own = "memory" if int(number) // 2 % 6 in (1, 2, 4) else "own"
            self.assertStores(bundle, **{own: [number, number + ".1"], "unattributed": ["cherry"]})
            shared = {label(store): store.get("shared", False) for store in bundle.metadata["stores"]}
            self.assertEqual(shared, {own: False, "unattributed": True})
            if int(number) // 2 % 6 == 3:
                self.assertEqual(bundle.store(own, "committedEntry").rows(), [number])
        expected = {(number, attempt + 1) for number in range(0, 64, 2) for attempt in range(ROUNDS)}
        self.assertEqual(runs, collections.Counter(expected))


    def test_stores_that_are_left_open(self):
        """A failing test's bundle doesn't have the open store of a test that has just ended."""
        selection = only("LeavingTests", "leaves", "--repetitions", "5")
        with tempfile.TemporaryDirectory(prefix="leaving ") as name:
            directory = pathlib.Path(name)
            limits = {"FAILURE_ARTIFACTS_MAX_BUNDLES": "1000000"}
            process = launch(selection, directory, limits, patience=300)
            found = read(process, directory / "failure-artifacts")
        self.assertTidy(found, 160)
        for bundle in found.bundles:
            self.assertStores(bundle, left=bundle.metadata["test"]["arguments"])


class TimeLimits(TestingCase):
    """Time limits are minutes, so these tests run beside the others; see `setUpModule`."""

    def test_time_limits(self):
        found, yardstick = (future.result() for future in TIME_LIMITED)
        self.assertEqual(found.status, yardstick.status)
        self.assertTidy(found, 2)
        self.assertEqual(found.warnings, [])
        for bundle, name, more in zip(
                found.bundles, ("ignoresItsEnd", "sleepsTooLong"), ({"memory": ["pear"]}, {})):
            self.check(bundle)
            self.assertTest(bundle, "TimeLimitTests", name, "Time limit was exceeded: 60.000 seconds")
            self.assertIn(bundle.messages[0], found.output + found.errors)
            self.assertStores(bundle, fruit=["apple"], **more)


TIME_LIMITED = []


def setUpModule():
    executor = concurrent.futures.ThreadPoolExecutor(max_workers=2)
    for variables in ({}, {"FAILURE_ARTIFACTS": "off"}):
        TIME_LIMITED.append(executor.submit(run, only("TimeLimitTests"), variables))
    executor.shutdown(wait=False)
