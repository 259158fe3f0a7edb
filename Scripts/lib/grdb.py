"""Checkouts of GRDB, whose own tests are run without the product and with it.

What is compared differs in nothing but that: GRDB and its tests are compiled once, and linked twice. The product is
added to a test target of the package, as a user adds it; that target is one beside GRDB's own, since what is added to
a target changes how all of it is compiled. All test targets of a package are one program.

    python3 grdb.py PATH [--linked] [--failing]    makes or changes a checkout
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

VERSION = "7.10.0"
URL = "https://github.com/groue/GRDB.swift"
ROOT = pathlib.Path(__file__).resolve().parents[2]
# What is in front of every other target of tests.
GRDB_TESTS = '        .testTarget(\n            name: "GRDBTests",'
PLANTED = "planted"


class Failure(SystemExit):
    """A full sentence on what could not be done, with which a script ends."""


# Sources


def prepare(path, linked=False, failing=False, shortened=False):
    """A checkout with the sources as they should be; files that are so already keep their dates.

    - linked: with the product.
    - failing: with a failure at the end of every test.
    - shortened: with fewer rows in the tests that are there to be profiled.
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
        wanted["Linked/Linked.swift"] = "// The target has to have a file.\n"
    if failing:
        wanted["Tests/GRDBTests/Planted.swift"] = PLANTED_SOURCE
    for name in listed(path, "Tests/GRDBTests", "Tests/GRDBCombineTests"):
        if name.endswith(".swift"):
            source = original(path, name)
            if shortened and name == PROFILING_TESTS:
                source = with_fewer_rows(source)
            wanted[name] = planted(source) if failing else source
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
    # With the product or without it, both are compiled for the same system.
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

PLANTED_SOURCE = f'''\
import XCTest

/// Fails each of its tests once: at its last line, or, where that is not reached, after it and before `tearDown`.
class PlantedTestCase: XCTestCase {{
    private var isPlanted = false

    override func invokeTest() {{
        // Added before any `setUp`, which subclasses override without calling ours: it runs as the last block.
        addTeardownBlock {{ [unowned self] in
            if testRun?.hasBeenSkipped != true {{ plantFailure() }}
        }}
        super.invokeTest()
    }}

    func plantFailure() {{
        guard !isPlanted else {{ return }}
        isPlanted = true
        XCTFail("{PLANTED}")
    }}
}}
'''


def planted(source):
    """A source of tests whose classes inherit from `PlantedTestCase`, and whose tests end with a failure.

    At its last line a test still has its queues and pools; most are closed as soon as it is left.
    """
    if "XCTest" not in source and "GRDBTestCase" not in source:
        return source
    source = re.sub(r"^((?:\w+ )*class \w+ ?: ?)XCTestCase\b", r"\1PlantedTestCase", source, flags=re.MULTILINE)
    # GRDB indents by four: what ends a method is the first brace at its own level.
    return re.sub(
        r"^(    (?:(?:@\w+|\w+) )*func test\w*\(\)[^\n{]*\{\n(?:.*\n)*?)(    \}\n)", r"\1        plantFailure()\n\2",
        source, flags=re.MULTILINE)


# What a sanitizer slows down

PROFILING_TESTS = "Tests/GRDBTests/DatabaseCursorTests.swift"


def with_fewer_rows(source):
    """The source whose `Profiling test`s step through ten million rows of one statement: a hundredth of them.

    They are half of what the tests take, and a sanitizer takes minutes for each. Nothing of the product is called for
    a row.
    """
    rows = "WHERE x<10000000)"
    if source.count(rows) != 1:
        raise Failure(f"GRDB's tests have changed: {rows!r} was expected once.")
    return source.replace(rows, "WHERE x<100000)")


# Building and running


def build(path, scratch, log, configuration="debug", sanitizer=None):
    """Builds the tests; gives the path of the program."""
    options = ["--package-path", path, "--scratch-path", scratch, "--configuration", configuration]
    if configuration == "release":
        # GRDB's tests import it as `@testable`.
        options += ["-Xswiftc", "-enable-testing"]
    if sanitizer:
        options += ["--sanitize", sanitizer]
    options = [str(option) for option in options]
    # SwiftPM keeps a plan of the build, and does not see that a package beside this one has new files.
    command = ["swift", "build", *options, "--build-tests", "--disable-build-manifest-caching"]
    with open(log, "wb") as output:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode
    if status != 0:
        raise Failure(f"{pathlib.Path(log).read_text(errors='replace')[-20000:]}\n"
                      f"This failed with status {status}: {' '.join(command)}")
    place = subprocess.run(
        ["swift", "build", *options, "--show-bin-path"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return pathlib.Path(place) / "GRDBPackageTests.xctest"


def build_both(path, scratch, log, failing=False, configuration="debug", sanitizer=None, shortened=False):
    """Builds the tests without the product and with it; gives the two programs, by those names.

    They lie in the same directory, where the resources of the tests are.
    """
    programs = {}
    for name in ("without", "with"):
        prepare(path, linked=name == "with", failing=failing, shortened=shortened or sanitizer is not None)
        built = build(path, scratch, f"{log}-{name}.log", configuration, sanitizer)
        programs[name] = built.with_name(f"GRDBPackageTests-{name}.xctest")
        replace(built, programs[name])
    return programs


def replace(source, target):
    """Copies what is a file on Linux and a bundle on Apple's systems."""
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, symlinks=True)
    else:
        # Not written into: a program that runs can't be.
        partial = target.with_suffix(".partial")
        shutil.copy2(source, partial)
        os.replace(partial, target)


def run(program, path, output, tests=None, **variables):
    """Runs tests as `swift test` does; gives the status and the seconds it took.

    - output: A file for what is printed.
    - tests: Each as `Class` or `Class.method`; all, where it is None.
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
