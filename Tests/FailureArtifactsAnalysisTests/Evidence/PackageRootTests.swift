import FailureArtifactsBundle
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct PackageRootTests {
    private func root(_ files: [String], _ sources: String..., recorded: String? = nil) -> PackageRoot {
        PackageRoot(
            .failed(in: files, packageRoot: recorded),
            sources: sources.map { StatementRecord.Source(file: $0, function: nil, line: 1) })
    }

    /// A test without statements has the same paths as others.
    @Test(arguments: ["/home/ci/app", "/home/ci/app/", "~/app"])
    func aRecordedRootNeedsNoStatements(_ directory: String) {
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        let root = root(["<EXPR>"], recorded: directory)
        #expect(root.relativePath(of: prefix + "Tests/A.swift") == "Tests/A.swift")
        for file in [prefix.dropLast() + "lication/A.swift", prefix + ".build/checkouts/B.swift"] {
            #expect(root.relativePath(of: file) == file)
        }
    }

    /// An empty path isn't the root of the file system.
    @Test func anEmptyRootIsUnknown() {
        #expect(root([], recorded: "").relativePath(of: "/A.swift") == "/A.swift")
    }

    @Test(arguments: ["/home/ci/app", "~/app", "/"])
    func filesBelowTheRootAreRelative(_ directory: String) {
        let prefix = directory == "/" ? "/" : directory + "/"
        let test = prefix + "Tests/AppTests/A.swift"
        let root = root([test], "Sources/App/App.swift", "Tests/AppTests/A.swift")
        #expect(root.relativePath(of: test) == "Tests/AppTests/A.swift")
        #expect(root.relativePath(of: prefix + "Tests/B.swift") == "Tests/B.swift")
    }

    /// The first failure is in a helper that runs no statement.
    @Test func anotherFailureTellsTheRoot() {
        let files = ["/app/Tests/Helper.swift", "/app/Tests/A.swift"]
        #expect(root(files, "Tests/A.swift").relativePath(of: files[0]) == "Tests/Helper.swift")
    }

    @Test func otherFilesKeepTheirPaths() {
        let root = root(["/app/Tests/A.swift"], "Tests/A.swift")
        for file in [
            "/application/A.swift", "/other/Tests/A.swift", "AppTests/A.swift", "<EXPR>",
            "/app/.build/checkouts/Kit/Sources/Kit/Kit.swift",
        ] {
            #expect(root.relativePath(of: file) == file)
        }
    }

    @Test func withoutAMatchTheRootIsUnknown() {
        let file = "/app/Tests/A.swift"
        #expect(root([file], "Sources/App.swift", "sts/A.swift").relativePath(of: file) == file)
        #expect(root([file]).relativePath(of: file) == file)
    }

    @Test func contradictingPathsDontTellTheRoot() {
        let file = "/app/Tests/A.swift"
        #expect(root([file], "Tests/A.swift", "A.swift").relativePath(of: file) == file)
    }

    /// A forged bundle can name any path.
    @Test(arguments: ["../Tests/A.swift", "/Tests/A.swift", "", "x/../Tests/A.swift"])
    func pathsThatLeaveTheRootDontCount(_ source: String) {
        let file = "/app/x/../Tests/A.swift"
        #expect(root([file, "/app/Tests/A.swift"], source).relativePath(of: file) == file)
    }
}

extension BundleMetadata {
    /// The metadata of a test that failed in files.
    static func failed(in files: [String], packageRoot: String? = nil) -> BundleMetadata {
        let failures = files.map {
            Failure(message: "m", file: $0, line: 1, kind: .assertion, at: .now)
        }
        var metadata = BundleMetadata(
            test: Test(framework: "XCTest", suite: "A", name: "b"), outcome: .failed, fingerprint: "",
            failures: failures, stores: [], attachments: [],
            environment: RunEnvironment.describe(variables: [:]),
            capture: Capture(at: .now, duration: 0, limitsHit: []), warnings: [])
        metadata.packageRoot = packageRoot
        return metadata
    }
}
