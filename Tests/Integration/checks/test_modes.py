"""A user's package that only adds the product, with every way to run its tests."""

import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from harness import BUILD, ONE_BUILD, OPTIONS, ROOT, Store, SuiteCase, clean_environment, read

PLACE = BUILD / "integration" / "a user's packages"

MANIFEST = """// swift-tools-version: 6.3

import PackageDescription

// SwiftPM removes the checkouts that a package doesn't need from the directory that it shares with others.
let isShared = Context.environment["FAILURE_ARTIFACTS_STRICT"] != nil

let package = Package(
    name: "{name}",
    platforms: [.macOS(.v13)],
    dependencies: [{dependencies}]
        + (isShared ? [.package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0")] : []),
    targets: [
        .systemLibrary(name: "CUserSQLite"),
        .testTarget(
            name: "UserTests",
            dependencies: ["CUserSQLite", {products}]
                + (isShared ? [.product(name: "GRDB", package: "GRDB.swift")] : [])),
    ]
)
"""

# Tests of Swift Testing of every kind. Nothing in them names this package.
MODERN_TESTS = """import CUserSQLite
import Foundation
import Testing

/// Opens a store with a row, calls a closure that may fail, and adds another row.
private func store(_ name: String, _ fails: () throws -> Void) rethrows {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(name + ".sqlite").path
    var handle: OpaquePointer?
    sqlite3_open(path, &handle)
    sqlite3_exec(handle, "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple')", nil, nil, nil)
    defer { sqlite3_close(handle) }
    try fails()
    sqlite3_exec(handle, "INSERT INTO fruit VALUES ('pear')", nil, nil, nil)
}

struct Wrong: Error {}

@Test func free() { store("free") { #expect(1 == 2) } }

@Test func passes() { store("passes") {} }

@Suite struct Declared {
    @Test func inSuite() throws { try store("inSuite") { try #require(Int("x") != nil) } }

    @Suite("With a name") struct Nested {
        @Test("a named test") func nested() { store("nested") { Issue.record("nested") } }
    }
}

struct Undeclared {
    @Test(arguments: 1...3) func parameterized(_ number: Int) { store("parameterized\\(number)") { #expect(number == 2) } }

    @Test func asynchronous() async {
        await Task.yield()
        store("asynchronous") { #expect(Bool(false)) }
    }

    @Test func throwing() throws { try store("throwing") { throw Wrong() } }

    @MainActor @Test func onMain() { store("onMain") { #expect(Bool(false)) } }

    @Test func known() { store("known") { withKnownIssue { #expect(Bool(false)) } } }

    @Test func knownAndUnknown() {
        store("knownAndUnknown") {
            withKnownIssue { #expect(Bool(false)) }
            #expect(Bool(false))
        }
    }

    @Test(.disabled()) func disabled() { Issue.record("disabled") }

    @Test(.timeLimit(.minutes(1)), .tags(.slow), .bug(id: 1)) func traits() { store("traits") { #expect(Bool(false)) } }
}

extension Tag { @Tag static var slow: Self }

@Suite(.serialized) final class Serialized {
    @Test func first() { store("first") { #expect(Bool(false)) } }
    @Test func second() async { store("second") { #expect(Bool(false)) } }
}

/// Opens a store around each test.
struct Opens: SuiteTrait, TestTrait, TestScoping {
    /// The address of its connection.
    @TaskLocal static var handle = 0
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        var handle: OpaquePointer?
        sqlite3_open(":memory:", &handle)
        sqlite3_exec(handle, "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('fig')", nil, nil, nil)
        try await Self.$handle.withValue(Int(bitPattern: handle), operation: function)
        sqlite3_close(handle)
    }
}

@Suite(Opens()) struct WithTrait {
    @Test func ownTrait() {
        sqlite3_exec(OpaquePointer(bitPattern: Opens.handle), "INSERT INTO fruit VALUES ('plum')", nil, nil, nil)
        Issue.record("with a trait")
    }

    @Test func unused() { Issue.record("uses nothing") }
}
"""

MODULE = """module CUserSQLite [system] {
    header "shim.h"
    link "sqlite3"
    export *
}
"""

XCTESTS = """import CUserSQLite
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


# These builds are also the check that no product has a warning in a release build.
RELEASE = (
    "-c", "release", "-Xswiftc", "-enable-testing", "-Xswiftc", "-warnings-as-errors", "-Xcc", "-Werror")
# Swift's next build system. This is also the build of the modules as a user has them, incremental within a module.
SWIFT_BUILD = ("--build-system", "swiftbuild")


class UserPackage:
    """A package on disk, with or without the product. Its build is kept between runs."""

    PLACE = ("--scratch-path", str(PLACE / ".build"), "--disable-build-manifest-caching")

    def __init__(self, name, dependencies="", products="", modern=MODERN_TESTS):
        self.path = PLACE / name
        self.write("Package.swift", MANIFEST.format(name=name, dependencies=dependencies, products=products))
        self.write("Sources/CUserSQLite/module.modulemap", MODULE)
        self.write("Sources/CUserSQLite/shim.h", "#include <sqlite3.h>\n")
        self.write("Tests/UserTests/UserTests.swift", XCTESTS)
        self.write("Tests/UserTests/ModernTests.swift", modern)
        self.built = set()

    def write(self, name, text):
        path = self.path / name
        if path.is_file() and path.read_text() == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def swift(self, *arguments, options=(), **variables):
        """Runs `swift …` in the package, and reads its outputs.

        Without options, the package is built beside the integration suites, which have compiled the product's modules.
        """
        artifacts = self.path / "failure-artifacts"
        shutil.rmtree(artifacts, ignore_errors=True)
        place = (*self.PLACE, *options) if options else OPTIONS
        if not options:
            variables = {"FAILURE_ARTIFACTS_STRICT": "1", **variables}
        for _ in range(5):
            with tempfile.TemporaryDirectory() as scratch:
                process = subprocess.run(
                    ["swift", arguments[0], *place, *arguments[1:]], cwd=self.path,
                    env=clean_environment(scratch, **variables), capture_output=True, text=True, encoding="utf-8")
            # Swift 6.3.1 itself crashes in one of a dozen runs while it plans a build with Swift Build (in libdispatch;
            # with any package, even without the product). A test process is never retried.
            if options != SWIFT_BUILD or process.returncode != -signal.SIGSEGV or "Test " in process.stdout:
                break
        found = read(process, artifacts)
        shutil.rmtree(artifacts, ignore_errors=True)
        return found

    def build(self, options=()):
        """Builds the tests, unless that was done with the same options."""
        if options not in self.built:
            found = self.swift("build", "--build-tests", options=options, **ONE_BUILD)
            assert found.status == 0, found.output + found.errors
            self.built.add(options)

    def test(self, *arguments, options=(), **variables):
        """Runs tests, as `swift test` does after its build."""
        self.build(options)
        return self.swift("test", "--skip-build", *arguments, options=options, **variables)


@functools.cache
def with_product(name, product, **more):
    """A package whose tests link a product of this package but never import it."""
    return UserPackage(
        name, f'.package(name: "failure-artifacts", path: "{ROOT}")',
        f'.product(name: "{product}", package: "failure-artifacts")', **more)


# It includes the test kit. Without Core Data it has nothing of its own, but still installs the observer.
CORE_DATA = ("with Core Data", "FailureArtifactsCoreData")


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

    def runs(self, package, options=()):
        # All tests of this mode share one process, in which the first test's store is still open.
        self.assertBundles(package.test("--filter", "testFails$", options=options), testFails="fails")


class Modes(ModesCase):
    @classmethod
    def setUpClass(cls):
        cls.package = with_product("with", "FailureArtifacts")
        cls.plain = UserPackage("without")

    def test_plain(self):
        self.runs(self.package)

    def test_all(self):
        found = self.package.test("--disable-swift-testing")
        self.assertEqual(found.status, 1, found.output + found.errors)
        self.assertTidy(found, 2)

    def test_parallel(self):
        self.assertBundles(
            self.package.test("--parallel", "--disable-swift-testing"), testFails="fails", testFailsToo="failsToo")

    def test_linked_modules(self):
        """What only reads bundles stays out of the test process, and out of the build."""
        self.package.build()
        place = self.package.swift("build", "--show-bin-path").output.strip()
        program = pathlib.Path(place) / "withPackageTests.xctest"
        symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
        # A mangled name starts with its module's, after the length of that.
        starts = set(re.findall(r" \$s(\d+)(FailureArtifacts\w{0,20})", symbols))
        modules = {name[:int(length)].removeprefix("FailureArtifacts") for length, name in starts}
        self.assertEqual(modules, {"", "Testing", "Capture", "Bundle", "SQLite", "Zip", "System"})

    def test_nothing_fails(self):
        found = self.package.test("--filter", "testPasses")
        self.assertEqual(found.status, 0, found.output + found.errors)
        self.assertTidy(found, 0)

    def test_off(self):
        found = self.package.test(FAILURE_ARTIFACTS="off")
        self.assertEqual(found.status, 1)
        self.assertTidy(found, 0)

    def test_other_build_system(self):
        self.runs(self.package, SWIFT_BUILD)

    def test_list(self):
        """Listing tests is not disturbed: the product prints nothing and leaves no files."""
        for built in (self.package, self.plain):
            built.build()
        listed = self.package.swift("test", "list", "--skip-build")
        expected = self.plain.swift("test", "list", "--skip-build")
        self.assertEqual(expected.status, 0)
        self.assertIn("UserTests.UserTests/testFails\n", expected.output)
        self.assertIn("UserTests.Undeclared/parameterized(_:)\n", expected.output)
        self.assertEqual((listed.status, listed.output), (expected.status, expected.output))
        self.assertEqual(listed.errors, expected.errors)
        self.assertTidy(listed, 0)

    def test_working_directory(self):
        """Without the variable, bundles go to the working directory of `swift test`."""
        with tempfile.TemporaryDirectory() as directory:
            found = self.package.test("--filter", "testFails$", FAILURE_ARTIFACTS_DIR=directory)
            self.assertTidy(found, 0)
            left = [name for name in os.listdir(directory) if not name.startswith(".")]
            self.assertEqual(len(left), 1, left)
            self.assertTrue((pathlib.Path(directory) / ".gitignore").is_file())


class OtherProducts(ModesCase):
    """Each product for XCTest installs the observer when it is linked."""

    def test_test_kit(self):
        self.runs(with_product("with the test kit", "FailureArtifactsTestKit", modern=""))

    def test_core_data_in_release(self):
        self.runs(with_product(*CORE_DATA), RELEASE)


class SwiftTestingModes(SuiteCase):
    """Tests of Swift Testing of every kind leave bundles in every mode, although they don't name the package."""

    framework = "Swift Testing"

    EXPECTED = {
        "UserTests.free": {"free": ["apple"]}, "Declared.inSuite": {"inSuite": ["apple"]},
        "Declared.Nested.nested": {"nested": ["apple"]},
        "Undeclared.parameterized(_:) 1": {"parameterized1": ["apple"]},
        "Undeclared.parameterized(_:) 3": {"parameterized3": ["apple"]},
        "Undeclared.asynchronous": {"asynchronous": ["apple"]}, "Undeclared.throwing": {"throwing": ["apple"]},
        "Undeclared.onMain": {"onMain": ["apple"]}, "Undeclared.knownAndUnknown": {"knownAndUnknown": ["apple"]},
        "Undeclared.traits": {"traits": ["apple"]}, "Serialized.first": {"first": ["apple"]},
        "Serialized.second": {"second": ["apple"]}, "WithTrait.ownTrait": {"memory": ["fig", "plum"]},
        "WithTrait.unused": {"memory": ["fig"]},
    }

    @classmethod
    def setUpClass(cls):
        cls.package = with_product("with", "FailureArtifacts")

    def leaves_all(self, *arguments, package=None, options=()):
        found = (package or self.package).test("--disable-xctest", *arguments, options=options)
        self.assertEqual(found.status, 1, found.output + found.errors)
        self.assertTidy(found, len(self.EXPECTED))
        seen = []
        for bundle in found.bundles:
            self.check(bundle)
            test = bundle.metadata["test"]
            name = " ".join([f"{test['suite']}.{test['name']}", *test.get("arguments", [])])
            seen.append(name)
            with self.subTest(name):
                self.assertStores(bundle, **self.EXPECTED[name])
        self.assertEqual(sorted(seen), sorted(self.EXPECTED))
        return found

    def test_parallel(self):
        """Also, each bundle is an attachment of its test, with a text about the failure."""
        with tempfile.TemporaryDirectory() as directory:
            found = self.leaves_all("--parallel", "--attachments-path", directory)
            names = sorted(os.listdir(directory))
            self.assertEqual(
                [name for name in names if name.endswith(".zip")], [bundle.path.name for bundle in found.bundles])
            notes = [name for name in names if re.fullmatch(r"failure(-\w+)?\.md", name)]
            self.assertEqual(len(notes), len(found.bundles), names)
            texts = sorted(pathlib.Path(directory, name).read_text() for name in notes)
            self.assertEqual(texts, sorted(bundle.contents["README.txt"].decode() for bundle in found.bundles))
            for bundle in found.bundles:
                test = bundle.metadata["test"]
                text = bundle.contents["README.txt"].decode()
                self.assertIn(f"    {test['suite']}.{test['name']}", text)
                self.assertIn(bundle.metadata["failures"][0]["message"].split("\n")[0], text)
                lines = [line for store in bundle.metadata["stores"] if "statements" in store
                         for line in bundle.statements(store) if line["phase"] == "test" and "source" in line]
                for line in sorted(lines, key=lambda line: line["order"])[-1:]:
                    self.assertIn(f"{line['source']['file']}:{line['source']['line']}", text)

    def test_no_parallel(self):
        self.leaves_all("--no-parallel")

    def test_release(self):
        self.leaves_all(package=with_product(*CORE_DATA), options=RELEASE)

    def test_other_build_system(self):
        self.leaves_all(options=SWIFT_BUILD)


class DynamicLibrary(SuiteCase):
    """If the product is a part of a dynamic library, only tests that have the trait are captured."""

    framework = "Swift Testing"

    LIBRARY = """// swift-tools-version: 6.3

import PackageDescription

let package = Package(
    name: "helpers",
    platforms: [.macOS(.v13)],
    products: [.library(name: "Helpers", type: .dynamic, targets: ["Helpers"])],
    dependencies: [.package(name: "failure-artifacts", path: "{root}")],
    targets: [
        .target(
            name: "Helpers", dependencies: [.product(name: "FailureArtifacts", package: "failure-artifacts")])
    ]
)
"""

    def test_traits_are_needed(self):
        helpers = PLACE / "helpers"
        (helpers / "Sources" / "Helpers").mkdir(parents=True, exist_ok=True)
        (helpers / "Package.swift").write_text(self.LIBRARY.format(root=ROOT))
        (helpers / "Sources" / "Helpers" / "Helpers.swift").write_text("@_exported import FailureArtifactsTesting\n")
        tests = MODERN_TESTS.replace("import Testing", "import Helpers\nimport Testing")
        # The other trait opens its store before the scope of this one begins.
        tests = tests.replace("@Suite(Opens())", "@Suite(Opens(), .failureArtifacts)")
        package = UserPackage(
            "with a dynamic library", f'.package(path: "{helpers}")', '.product(name: "Helpers", package: "helpers")',
            modern=tests)
        found = package.test("--filter", "WithTrait")
        self.assertEqual(found.status, 1, found.output + found.errors)
        self.assertTidy(found, 2)
        for bundle, name, message, fruit in zip(
                found.bundles, ("ownTrait", "unused"), ("with a trait", "uses nothing"), (["fig", "plum"], ["fig"])):
            self.check(bundle)
            self.assertTest(bundle, "WithTrait", name, message)
            # A store that is opened before the scope begins may be any test's.
            rows = [Store(bundle.contents[store["entry"]]).rows() for store in bundle.metadata["stores"]]
            self.assertIn(fruit, rows)
        self.assertTidy(package.test("--filter", "free"), 0)
