"""A user's package that only adds the product, with every way to run its tests."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from harness import BUILD, ROOT, SuiteCase, clean_environment, read

PLACE = BUILD / "integration" / "a user's packages"

MANIFEST = """// swift-tools-version: 6.3

import PackageDescription

let package = Package(
    name: "{name}",
    platforms: [.macOS(.v13)],
    dependencies: [{dependencies}],
    targets: [
        .systemLibrary(name: "CUserSQLite"),
        .testTarget(name: "UserTests", dependencies: ["CUserSQLite", {products}]),
    ]
)
"""

SWIFT_TESTING_TESTS = """import CUserSQLite
import FailureArtifactsTesting
import Foundation
import Testing

@Suite(.failureArtifacts) enum All {}

extension All {
    struct UserTests {
        @Test func passes() throws { try fill("passes") }

        @Test func fails() throws {
            try fill("fails")
            Issue.record("one")
        }

        @Test(arguments: [1, 2]) func failsWith(number: Int) throws {
            try fill("failsWith\\(number)")
            #expect(number == 1)
        }

        private func fill(_ name: String) throws {
            let path = FileManager.default.temporaryDirectory.appendingPathComponent(name + ".sqlite").path
            var handle: OpaquePointer?
            #expect(sqlite3_open(path, &handle) == SQLITE_OK)
            let sql = "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple')"
            #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        }
    }
}
"""

MODULE = """module CUserSQLite [system] {
    header "shim.h"
    link "sqlite3"
    export *
}
"""

TESTS = """import CUserSQLite
import XCTest

final class UserTests: XCTestCase {
    func testPasses() throws {
        try fill("passes")
    }

    func testFails() throws {
        try fill("fails")
        XCTFail("one")
    }

    func testFailsToo() throws {
        try fill("failsToo")
        XCTFail("two")
    }

    private func fill(_ name: String) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(name + ".sqlite").path
        var handle: OpaquePointer?
        XCTAssertEqual(sqlite3_open(path, &handle), SQLITE_OK)
        let sql = "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple')"
        XCTAssertEqual(sqlite3_exec(handle, sql, nil, nil, nil), SQLITE_OK)
    }
}
"""


class UserPackage:
    """A package on disk, with or without the product. Its build is kept between runs."""

    def __init__(self, name, dependencies="", products="", tests=TESTS, built_as=None):
        self.path = PLACE / name
        # Packages that are built in one place compile their shared dependencies once.
        self.scratch = PLACE / (built_as or name) / ".build"
        self.write("Package.swift", MANIFEST.format(name=name, dependencies=dependencies, products=products))
        self.write("Sources/CUserSQLite/module.modulemap", MODULE)
        self.write("Sources/CUserSQLite/shim.h", "#include <sqlite3.h>\n")
        self.write("Tests/UserTests/UserTests.swift", tests)

    def write(self, name, text):
        path = self.path / name
        # Writing the manifest again makes SwiftPM look for new files in the dependencies.
        if name != "Package.swift" and path.is_file() and path.read_text() == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def swift(self, *arguments, **variables):
        """Runs `swift …` in the package, and reads its outputs."""
        artifacts = self.path / "failure-artifacts"
        shutil.rmtree(artifacts, ignore_errors=True)
        place = ("--scratch-path", str(self.scratch))
        with tempfile.TemporaryDirectory() as scratch:
            process = subprocess.run(
                ["swift", arguments[0], *place, *arguments[1:]], cwd=self.path,
                env=clean_environment(scratch, **variables), capture_output=True, text=True, encoding="utf-8")
        found = read(process, artifacts)
        shutil.rmtree(artifacts, ignore_errors=True)
        return found


# These builds are also the check that no product has a warning in a release build.
RELEASE = (
    "-c", "release", "-Xswiftc", "-enable-testing", "-Xswiftc", "-warnings-as-errors", "-Xcc", "-Werror")


def with_product(name, product, **options):
    """A package whose tests link a product of this package but never import it."""
    return UserPackage(
        name, f'.package(name: "failure-artifacts", path: "{ROOT}")',
        f'.product(name: "{product}", package: "failure-artifacts")', **options)


class ModesCase(SuiteCase):
    def assertBundles(self, found, **expected):
        """Each failing test has a bundle with its store."""
        self.assertEqual(found.status, 1, found.output + found.errors)
        self.assertTidy(found, len(expected))
        names = {bundle.metadata["test"]["name"]: bundle for bundle in found.bundles}
        self.assertEqual(sorted(names), sorted(expected))
        for name, store in expected.items():
            self.check(names[name])
            self.assertEqual(names[name].stem, f"UserTests.{name}")
            self.assertStores(names[name], **{store: ["apple"]})

    def runs_plainly(self, package):
        # All tests of this mode share one process, in which the first test's store is still open.
        self.assertBundles(package.swift("test", "--filter", "testFails$"), testFails="fails")

    def runs_in_release(self, package):
        self.assertBundles(package.swift("test", *RELEASE, "--filter", "testFails$"), testFails="fails")

    def runs_with_other_build_system(self, package):
        for _ in range(5):
            found = package.swift("test", "--build-system", "swiftbuild", "--filter", "testFails$")
            # Swift 6.3.1 itself crashes in one of a dozen runs while it plans such a build (in libdispatch;
            # with any package, even without the product). A test process is never retried.
            if found.status != -signal.SIGSEGV or "Test Suite" in found.output:
                break
        self.assertBundles(found, testFails="fails")

    def lists_as(self, plain, package):
        """Listing tests is not disturbed: the product prints nothing and leaves no files."""
        for built in (package, plain):
            self.assertEqual(built.swift("build", "--build-tests").status, 0)
        listed = package.swift("test", "list", "--skip-build")
        expected = plain.swift("test", "list", "--skip-build")
        self.assertEqual(expected.status, 0)
        self.assertIn("UserTests.UserTests/testFails\n", expected.output)
        self.assertEqual((listed.status, listed.output), (expected.status, expected.output))
        self.assertEqual(listed.errors, expected.errors)
        self.assertTidy(listed, 0)


class Modes(ModesCase):
    @classmethod
    def setUpClass(cls):
        cls.package = with_product("with", "FailureArtifacts")
        cls.plain = UserPackage("without")

    def test_plain(self):
        self.runs_plainly(self.package)

    def test_all(self):
        found = self.package.swift("test")
        self.assertEqual(found.status, 1, found.output + found.errors)
        self.assertTidy(found, 2)

    def test_parallel(self):
        self.assertBundles(
            self.package.swift("test", "--parallel"), testFails="fails", testFailsToo="failsToo")

    def test_nothing_fails(self):
        found = self.package.swift("test", "--filter", "testPasses")
        self.assertEqual(found.status, 0, found.output + found.errors)
        self.assertTidy(found, 0)

    def test_off(self):
        found = self.package.swift("test", FAILURE_ARTIFACTS="off")
        self.assertEqual(found.status, 1)
        self.assertTidy(found, 0)

    def test_release(self):
        self.runs_in_release(self.package)

    def test_other_build_system(self):
        self.runs_with_other_build_system(self.package)

    def test_list(self):
        self.lists_as(self.plain, self.package)

    def test_working_directory(self):
        """Without the variable, bundles go to the working directory of `swift test`."""
        with tempfile.TemporaryDirectory() as directory:
            found = self.package.swift("test", "--filter", "testFails$", FAILURE_ARTIFACTS_DIR=directory)
            self.assertTidy(found, 0)
            left = [name for name in os.listdir(directory) if not name.startswith(".")]
            self.assertEqual(len(left), 1, left)
            self.assertTrue((pathlib.Path(directory) / ".gitignore").is_file())


class OtherProducts(ModesCase):
    """Each product for XCTest installs the observer when it is linked."""

    @classmethod
    def setUpClass(cls):
        cls.test_kit = with_product("with the test kit", "FailureArtifactsTestKit", built_as="with")
        # Without Core Data this product is empty, but still installs the observer.
        cls.core_data = with_product("with Core Data", "FailureArtifactsCoreData", built_as="with")
        cls.plain = UserPackage("without")

    def test_test_kit(self):
        self.runs_plainly(self.test_kit)

    def test_test_kit_in_release(self):
        self.runs_in_release(self.test_kit)

    def test_test_kit_with_other_build_system(self):
        self.runs_with_other_build_system(self.test_kit)

    def test_test_kit_is_silent_where_tests_are_listed(self):
        self.lists_as(self.plain, self.test_kit)

    def test_core_data(self):
        self.runs_plainly(self.core_data)

    def test_core_data_in_release(self):
        self.runs_in_release(self.core_data)


class SwiftTestingModes(SuiteCase):
    """The product for Swift Testing alone, with one enclosing suite."""

    framework = "Swift Testing"

    @classmethod
    def setUpClass(cls):
        cls.package = UserPackage(
            "with Swift Testing", f'.package(name: "failure-artifacts", path: "{ROOT}")',
            '.product(name: "FailureArtifactsTesting", package: "failure-artifacts")', tests=SWIFT_TESTING_TESTS, built_as="with")

    def assertBundles(self, found):
        self.assertEqual(found.status, 1, found.output + found.errors)
        self.assertTidy(found, 2)
        fails, fails_with = found.bundles
        self.check(fails)
        self.assertTest(fails, "All.UserTests", "fails", "one")
        self.assertStores(fails, fails=["apple"])
        self.check(fails_with)
        self.assertEqual(fails_with.metadata["test"]["arguments"], ["2"])
        # The stores are never closed, so the other case's store is still open after its end.
        self.assertStores(fails_with, failsWith2=["apple"])

    def test_plain(self):
        self.assertBundles(self.package.swift("test"))

    def test_parallel(self):
        self.assertBundles(self.package.swift("test", "--parallel"))

    def test_release(self):
        self.assertBundles(self.package.swift("test", *RELEASE))

    def test_attachments(self):
        with tempfile.TemporaryDirectory() as directory:
            found = self.package.swift("test", "--attachments-path", directory)
            self.assertBundles(found)
            self.assertEqual(sorted(os.listdir(directory)), [bundle.path.name for bundle in found.bundles])

    def test_list(self):
        self.assertEqual(self.package.swift("build", "--build-tests").status, 0)
        listed = self.package.swift("test", "list", "--skip-build")
        self.assertIn("UserTests.All/UserTests/fails()\n", listed.output)
        self.assertNotIn("failure-artifacts: ", listed.output + listed.errors)
        self.assertTidy(listed, 0)
