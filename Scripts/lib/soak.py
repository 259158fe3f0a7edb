"""Runs GRDB's own tests without the product and with it, and compares: see `Scripts/soak`."""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import zipfile

import explained
import grdb
import sanitizers
from grdb import Failure, INJECTED
from products import ROOT, TOOL
from xctest_log import Log

PLACE = ROOT / ".build" / "soak"
VARIANTS = ("without", "with")
# The repetitions of a differing test on each side per round, and the maximum number of rounds.
REPETITIONS = 20
ROUNDS = 5
# The probability of mistaking chance for a difference, over all rounds of a test.
ALPHA = 0.01


class Soak:
    def __init__(self, arguments):
        self.arguments = arguments
        parts = ["failing" if arguments.failing else "plain", arguments.sanitize, arguments.configuration]
        self.name = "-".join(part for part in parts if part)
        self.checkout = PLACE / parts[0]
        self.temporary = PLACE / f"{self.name}-tmp"
        self.problems = []
        self.failed = {}  # The number of failures of each test, for each variant.

    def file(self, variant, what):
        return PLACE / f"{self.name}-{variant}.{what}"

    def problem(self, text):
        self.problems.append(text)
        print(text, flush=True)

    # Building and running

    def build(self):
        start = time.monotonic()
        self.programs = grdb.build_both(
            self.checkout, PLACE / f"build-{self.name}", PLACE / f"{self.name}-build", self.arguments.failing,
            self.arguments.configuration, self.arguments.sanitize)
        print(f"built in {time.monotonic() - start:.0f} s", flush=True)

    def execute(self, variant, log, tests=None):
        """Runs tests, and returns the status, the seconds and the parsed output."""
        # The suite leaves hundreds of directories behind.
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        variables = {
            "TMPDIR": self.temporary, "FAILURE_ARTIFACTS_DIR": self.file(variant, "bundles"),
            "FAILURE_ARTIFACTS_MAX_BUNDLES": 1_000_000, "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES": 1 << 40,
            **sanitizers.variables(self.arguments.sanitize, self.file(variant, "reports"))}
        with open(log, "wb") as output:
            status, seconds = grdb.run(self.programs[variant], self.checkout, output, tests, **variables)
        parsed = Log(log.read_text(errors="replace"))
        self.failed[variant].update(name for name, result in parsed.ended if result == "failed")
        return status, seconds, parsed

    def run(self, variant):
        """Runs all tests, and returns the result of each."""
        self.failed[variant] = collections.Counter()
        shutil.rmtree(self.file(variant, "bundles"), ignore_errors=True)
        sanitizers.forget(self.file(variant, "reports"))
        log = self.file(variant, "log")
        status, seconds, parsed = self.execute(variant, log)
        results = {name: self.result(parsed, name, result) for name, result in parsed.ended}
        if not results:
            raise Failure(f"{log.read_text(errors='replace')[-20000:]}\nGRDB's suite could not run.")
        counts = collections.Counter(results.values())
        print(f"{variant:8} {len(results)} tests: "
              f"{listed(counts)}; "
              f"status {status}, in {seconds:.0f} s", flush=True)
        if status != int(counts["failed"] + counts[INJECTED] > 0):
            self.problem(f"The process ended with an unexpected status, {status}: see {log}.")
        return results

    @staticmethod
    def result(parsed, name, result):
        """Returns `injected` if the injected failure is the test's only failure."""
        return INJECTED if result == "failed" and parsed.failures[name] == [f"failed - {INJECTED}"] else result

    def run_alone(self, variant, test):
        """Runs one test, and returns its result."""
        log = self.file(variant, f"alone-{test}.log")
        parsed = self.execute(variant, log, [test])[2]
        [result] = [self.result(parsed, name, result) for name, result in parsed.ended if name == test] or ["died"]
        # Keep one log of each result.
        log.replace(self.file(variant, f"alone-{test}-{result}.log"))
        return result

    def differs(self, test):
        """Describes the difference if a test has different results with the product, beyond chance; otherwise None.

        Races between GRDB's own threads decide some of its tests.
        """
        counts, p, differs = repeat(lambda variant: self.run_alone(variant, test))
        sides = "; ".join(f"{listed(counts[variant])} {variant} the product" for variant in VARIANTS)
        text = f"{test}, alone and in turn: {sides} (p = {p:.2g})"
        print(f"{text}: {'a difference' if differs else 'no significant difference'}", flush=True)
        return text if differs else None

    # Comparing

    def compare(self, results):
        without, ours = (results[variant] for variant in VARIANTS)
        differences = []
        for test in sorted({*without, *ours}):
            if test not in without or test not in ours:
                side = VARIANTS[test in without]
                differences.append(f"{test}: not run {side} the product")
            elif without[test] != ours[test] and (difference := self.differs(test)):
                differences.append(difference)
        if differences:
            self.problem("\n".join(["The results differ:", *differences]))
        else:
            print("The results are the same, test by test, up to chance.")
        if self.arguments.failing:
            passed = [test for test, result in sorted(ours.items()) if result == "passed"]
            if passed:
                self.problem(f"These tests did not fail, although a failure was injected: {', '.join(passed)}.")

    # Bundles

    def check_bundles(self):
        directory = self.file("with", "bundles")
        bundles = sorted(directory.glob("*.zip")) if directory.exists() else []
        found, stores, ways, said = (collections.Counter() for _ in range(4))
        for bundle in bundles:
            with zipfile.ZipFile(bundle) as archive:
                metadata = json.loads(archive.read("metadata.json"))
            found[f"{metadata['test']['suite']}.{metadata['test']['name']}"] += 1
            stores[min(len(metadata["stores"]), 3)] += 1
            ways.update(capture_summary(store) for store in metadata["stores"])
            said.update({with_placeholders(warning["text"]) for warning in metadata["warnings"]})
        failed = self.failed["with"]
        print(f"{len(bundles)} bundles ({size(bundles) / (1 << 20):.0f} MiB) were left for {failed.total()} failures "
              f"of tests: {stores[0]} without a store, {stores[1]} with one, {stores[2]} with two, "
              f"{stores[3]} with more.")
        for text, count in ways.most_common():
            print(f"{count:6} stores: {text}")
        for text, count in said.most_common():
            print(f"{count:6} bundles warn: {text}")
        # A bundle describes the failure, even if the test has opened no store.
        if failed - found:
            self.problem(f"Bundles are missing: {', '.join(sorted((failed - found).elements()))}.")
        if found - failed:
            self.problem(f"There are too many bundles: {', '.join(sorted((found - failed).elements()))}.")
        if (directory / ".in-flight").exists() and any((directory / ".in-flight").iterdir()):
            self.problem("Files are left in flight.")
        if bundles:
            self.verify(directory, bundles)
            for problem in explained.check(bundles):
                self.problem(problem)

    def verify(self, directory, bundles):
        start = time.monotonic()
        output = self.file("with", "verified")
        with open(output, "wb") as file:
            subprocess.run([TOOL, "verify", "--json", directory], stdout=file)
        checks = [json.loads(line) for line in output.read_text().splitlines()]
        bad = {check["bundle"]: check["problems"] for check in checks if not check["ok"]}
        for bundle in [bundle for bundle in bad if has_no_database(bundle, self.checkout)]:
            print(f"{pathlib.Path(bundle).name} has an exact copy of the file that the test opened, which is no database.")
            del bad[bundle]
        for bundle, problems in bad.items():
            self.problem(f"'failure-artifacts verify' says of {bundle}: {' '.join(problems)}")
        if len(checks) != len(bundles):
            self.problem(f"'failure-artifacts verify' looked at {len(checks)} bundles: {output}.")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            broken = [bundle.name for bundle, sound in zip(bundles, pool.map(is_sound_zip, bundles)) if not sound]
        if broken:
            self.problem(f"'unzip -t' refuses {', '.join(broken)}.")
        print(f"'failure-artifacts verify' accepts {len(checks) - len(bad)} of them, and 'unzip -t' "
              f"{len(bundles) - len(broken)}, in {time.monotonic() - start:.0f} s.", flush=True)

    # Sanitizers

    def check_reports(self):
        found = {variant: sanitizers.reports(self.file(variant, "reports")) for variant in VARIANTS}
        places = {variant: collections.Counter(report.place for report in found[variant]) for variant in VARIANTS}
        ours = [report for report in found["with"] if report.is_ours]
        print(f"{self.arguments.sanitize} sanitizer: {len(found['without'])} reports without the product, "
              f"{len(found['with'])} with it, {len(ours)} of them with one of its functions in a stack")
        others = collections.Counter(report.place for report in found["with"] if not report.is_ours)
        for place in sorted({*others, *places["without"]}):
            print(f"{places['without'][place]:6} without, {others[place]} with: {place}")
        if ours:
            self.file("with", "reports-of-ours").write_text("\n".join(report.text for report in ours))
            counts = collections.Counter(report.place for report in ours).most_common()
            self.problem("\n".join([
                f"Reports with the product's functions, in {self.file('with', 'reports-of-ours')}:",
                *(f"{count:6} times {place}" for place, count in counts)]))

    def all(self):
        self.build()
        results = {variant: self.run(variant) for variant in VARIANTS}
        self.compare(results)
        self.check_bundles()
        if self.arguments.sanitize:
            self.check_reports()
        return not self.problems


def repeat(run):
    """Runs a test on both sides in turn, until a difference is certain or the rounds are over.

    - run: Runs the test once on the given side, and returns its result.

    Returns the counts of the results on each side, the p-value, and True if the sides differ.
    """
    counts = {variant: collections.Counter() for variant in VARIANTS}
    for _ in range(ROUNDS):
        for number in range(REPETITIONS):
            # The sides take turns at running first.
            for variant in VARIANTS if number % 2 == 0 else reversed(VARIANTS):
                counts[variant][run(variant)] += 1
        p = p_value(*counts.values())
        # Each round is a chance to be wrong, so the threshold is divided by their number.
        if p < ALPHA / ROUNDS:
            return counts, p, True
        if len(set().union(*counts.values())) == 1:
            break
    return counts, p, False


def p_value(left, right):
    """The probability of counts at least as unequal as these, if the results of both sides are equally likely."""
    results = sorted({*left, *right})
    # If there are two results, the second count follows from the first.
    compared = results if len(results) > 2 else results[:1]
    return min(1.0, len(compared) * min(
        fisher(left[result], left.total(), right[result], right.total()) for result in compared))


def fisher(count, total, other_count, other_total):
    """Fisher's exact test of two proportions, two-sided."""
    both = count + other_count

    def ways(number):
        return math.comb(total, number) * math.comb(other_total, both - number)

    observed = ways(count)
    possible = range(max(0, both - other_total), min(total, both) + 1)
    return sum(ways(number) for number in possible if ways(number) <= observed) / math.comb(total + other_total, both)


def listed(counts):
    return ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))


def capture_summary(store):
    capture = store["capture"]
    if "entry" not in store:
        return with_placeholders(f"{capture['method']}. {capture.get('reason')}")
    state = "consistent" if capture["consistent"] else "not consistent"
    return f"{capture['method']}, {state}, integrity {with_placeholders(store.get('integrity') or 'unknown')}"


def with_placeholders(text):
    """Replaces names and numbers in a warning by placeholders."""
    text = re.sub(r"'[^']*'", "'…'", text)
    return re.sub(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\S*|\d+", "…", text)


def has_no_database(bundle, checkout):
    """True for the bundle of the test that opens a picture as a database."""
    if not pathlib.Path(bundle).name.startswith("DatabaseQueueTests.testInvalidFileFormat-"):
        return False
    with zipfile.ZipFile(bundle) as archive:
        picture = (checkout / "Tests/GRDBTests/Betty.jpeg").read_bytes()
        return picture == archive.read("stores/Betty.sqlite")


def is_sound_zip(path):
    command = ["unzip", "-tq", path]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def size(files):
    return sum(file.stat().st_size for file in files)


def main():
    parser = argparse.ArgumentParser(prog="Scripts/soak", description=__doc__)
    parser.add_argument("--failing", action="store_true", help="make every test fail at its end")
    parser.add_argument("--configuration", choices=["debug", "release"], default="debug")
    parser.add_argument("--sanitize", choices=["thread", "address"], help="under a sanitizer")
    PLACE.mkdir(parents=True, exist_ok=True)
    return 0 if Soak(parser.parse_args()).all() else 1


if __name__ == "__main__":
    sys.exit(main())
