@testable import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsSystem
import Testing

@Suite struct PackageRootTests {
    private func root(_ recorded: String?) -> PackageRoot {
        PackageRoot(.failed(in: [], packageRoot: recorded))
    }

    @Test(arguments: ["/home/ci/app", "/home/ci/app/", "~/app", "/"])
    func filesBelowTheRootAreRelative(_ directory: String) {
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        let root = root(directory)
        #expect(root.relativePath(of: prefix + "Tests/A.swift") == "Tests/A.swift")
        for file in [prefix + ".build/checkouts/B.swift"] {
            #expect(root.relativePath(of: file) == file)
        }
    }

    /// An empty path isn't the root of the file system.
    @Test(arguments: ["", nil]) func withoutARootPathsStay(_ directory: String?) {
        #expect(root(directory).relativePath(of: "/A.swift") == "/A.swift")
    }

    @Test func otherFilesKeepTheirPaths() {
        for file in ["/application/A.swift", "/other/Tests/A.swift", "AppTests/A.swift", "<EXPR>"] {
            #expect(root("/app").relativePath(of: file) == file)
        }
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
