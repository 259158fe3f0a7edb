"""Checkouts of GRDB, whose own tests run without the product and with it.

The two programs differ only in the product: GRDB and its tests are compiled once and linked twice. The product is added
to a test target of the package, as a user would add it. That target is a separate one beside GRDB's own, because adding
a dependency to a target changes its compilation. All test targets of a package form one program.

    python3 grdb.py PATH [--linked] [--failing]    creates or changes a checkout
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from products import ROOT

VERSION = "7.10.0"
URL = "https://github.com/groue/GRDB.swift"
# The start of GRDB's first test target.
GRDB_TESTS = '        .testTarget(\n            name: "GRDBTests",'
INJECTED = "injected"


class Failure(SystemExit):
    """A full sentence about the failure, with which the script ends."""


# Sources


def prepare(path, linked=False, failing=False, shortened=False):
    """Prepares a checkout. Files that already have the right content keep their dates.

    - linked: add the product.
    - failing: add a failure at the end of every test.
    - shortened: use fewer rows in profiling tests.
    """
    path = pathlib.Path(path)
    if not (path / ".git").exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth", "1", "--branch", VERSION,
                   URL, str(path)]
        result = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            raise Failure(f"GRDB {VERSION} could not be cloned: {result.stderr}")
    wanted = {"Package.swift": manifest(original(path, "Package.swift"), linked)}
    if linked:
        wanted["Linked/Linked.swift"] = "// A target needs a file.\n"
    if failing:
        wanted["Tests/GRDBTests/FailingTestCase.swift"] = FAILING_SOURCE
    for name in listed(path, "Tests/GRDBTests", "Tests/GRDBCombineTests"):
        if name.endswith(".swift"):
            source = original(path, name)
            if shortened and name == PROFILING_TESTS:
                source = with_fewer_rows(source)
            wanted[name] = with_failures(source) if failing else source
    for name in listed(path, "--others", "--exclude-standard"):
        if name not in wanted and not name.startswith("failure-artifacts/"):
            (path / name).unlink()
    for name, text in wanted.items():
        file = path / name
        if not file.exists() or file.read_text() != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return path


def listed(path, *arguments):
    return git(path, "ls-files", "-z", *arguments).split("\0")[:-1]


def original(path, name):
    return git(path, "show", f"{VERSION}:{name}")


def git(path, *arguments):
    return subprocess.run(["git", "-C", str(path), *arguments], check=True, stdout=subprocess.PIPE).stdout.decode()


def manifest(text, linked):
    # Compile both for the same system version, with or without the product.
    changes = [(".macOS(.v10_15)", ".macOS(.v13)")]
    if linked:
        changes += [
            ("Package.Dependency] = []",
             f'Package.Dependency] = [.package(name: "failure-artifacts", path: {quoted(ROOT)})]'),
            (GRDB_TESTS, LINKED_TARGET + GRDB_TESTS)]
    for old, new in changes:
        if text.count(old) != 1:
            raise Failure(f"GRDB's manifest has changed: {old!r} was expected once.")
        text = text.replace(old, new)
    return text


def quoted(path):
    return json.dumps(str(path), ensure_ascii=False)


LINKED_TARGET = '''\
        .testTarget(
            name: "Linked",
            dependencies: [.product(name: "FailureArtifacts", package: "failure-artifacts")],
            path: "Linked"),
'''

# Failures

FAILING_SOURCE = f'''\
import XCTest

/// Fails each of its tests once: at its last line or, if that isn't reached, after the test and before `tearDown`.
class FailingTestCase: XCTestCase {{
    private var isInjected = false

    override func invokeTest() {{
        // Added before `setUp`, which subclasses override without calling super. So it runs as the last
        // block.
        addTeardownBlock {{ [unowned self] in
            if testRun?.hasBeenSkipped != true {{ injectFailure() }}
        }}
        super.invokeTest()
    }}

    func injectFailure() {{
        guard !isInjected else {{ return }}
        isInjected = true
        XCTFail("{INJECTED}")
    }}
}}
'''


def with_failures(source):
    """Makes the classes inherit from `FailingTestCase` and the tests end with a failure.

    At its last line, a test still has its queues and pools open. Most are closed when it returns.
    """
    if "XCTest" not in source and "GRDBTestCase" not in source:
        return source
    source = re.sub(r"^((?:\w+ )*class \w+ ?: ?)XCTestCase\b", r"\1FailingTestCase", source, flags=re.MULTILINE)
    # GRDB indents by four spaces: the first brace at that level ends a method.
    return re.sub(
        r"^(    (?:(?:@\w+|\w+) )*func test\w*\(\)[^\n{]*\{\n(?:.*\n)*?)(    \}\n)", r"\1        injectFailure()\n\2",
        source, flags=re.MULTILINE)


# Tests that are slow with a sanitizer

PROFILING_TESTS = "Tests/GRDBTests/DatabaseCursorTests.swift"


def with_fewer_rows(source):
    """Reduces the rows that the `Profiling test`s step through, from ten million to a hundredth of that.

    These tests take half of the suite's time, and minutes each with a sanitizer. The product's code doesn't run for a
    row.
    """
    rows = "WHERE x<10000000)"
    if source.count(rows) != 1:
        raise Failure(f"GRDB's tests have changed: {rows!r} was expected once.")
    return source.replace(rows, "WHERE x<100000)")


# Building and running


def build(path, scratch, log, configuration="debug", sanitizer=None):
    """Builds the tests, and returns the path of the program."""
    # Swift Build, the default from Swift 6.4 on, would make a program of its own for the target with the product.
    options = ["--build-system", "native", "--package-path", path, "--scratch-path", scratch,
               "--configuration", configuration]
    if configuration == "release":
        # GRDB's tests use `@testable import`.
        options += ["-Xswiftc", "-enable-testing"]
    if sanitizer:
        options += ["--sanitize", sanitizer]
    options = [str(option) for option in options]
    # SwiftPM caches a build plan and doesn't notice new files in a package beside this one.
    command = ["env", "-u", "FAILURE_ARTIFACTS_STRICT", "swift", "build", *options, "--build-tests",
               "--disable-build-manifest-caching"]
    with open(log, "wb") as output:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode
    if status != 0:
        raise Failure(f"{pathlib.Path(log).read_text(errors='replace')[-20000:]}\n"
                      f"This failed with status {status}: {' '.join(command)}")
    place = subprocess.run(
        ["swift", "build", *options, "--show-bin-path"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return pathlib.Path(place) / "GRDBPackageTests.xctest"


def build_both(path, scratch, log, failing=False, configuration="debug", sanitizer=None, shortened=False):
    """Builds the tests without the product and with it. Returns the two programs by these names.

    They are in the same directory, next to the tests' resources.
    """
    programs = {}
    for name in ("without", "with"):
        prepare(path, linked=name == "with", failing=failing, shortened=shortened or sanitizer is not None)
        built = build(path, scratch, f"{log}-{name}.log", configuration, sanitizer)
        programs[name] = built.with_name(f"GRDBPackageTests-{name}.xctest")
        replace(built, programs[name])
    return programs


def replace(source, target):
    """Copies a test program, which is a file on Linux and a bundle on Apple platforms."""
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, symlinks=True)
    else:
        # Replaced rather than overwritten, because a running program can't be written to.
        partial = target.with_suffix(".partial")
        shutil.copy2(source, partial)
        os.replace(partial, target)


def run(program, path, output, tests=None, **variables):
    """Runs tests like `swift test`. Returns the status and the seconds.

    - output: A file for the output.
    - tests: Each as `Class` or `Class.method`; all, if it is None.
    - variables: Added to the environment, which has no other settings of the product.
    """
    command = [str(program)]
    if sys.platform == "darwin":
        command = ["xcrun", "xctest", *(["-XCTest", ",".join(tests).replace(".", "/")] if tests else []), str(program)]
    elif tests:
        command.append(",".join("GRDBTests." + test.replace(".", "/") for test in tests))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FAILURE_ARTIFACTS")}
    environment = {**inherited, **{name: str(value) for name, value in variables.items()}}
    start = time.monotonic()
    status = subprocess.run(
        command, cwd=path, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode
    return status, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--linked", action="store_true", help="with the product")
    parser.add_argument("--failing", action="store_true", help="with a failure at the end of every test")
    arguments = parser.parse_args()
    prepare(arguments.path, arguments.linked, arguments.failing)


if __name__ == "__main__":
    main()
