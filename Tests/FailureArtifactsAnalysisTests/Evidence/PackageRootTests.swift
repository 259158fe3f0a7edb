import FailureArtifactsBundle
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct PackageRootTests {
    private func root(_ files: [String], _ sources: String...) -> PackageRoot {
        PackageRoot(
            files: files,
            sources: sources.map { StatementRecord.Source(file: $0, function: nil, line: 1) })
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
