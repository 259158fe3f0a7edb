import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

@Suite struct ToolCommandTests {
    private let directory: String

    init() throws { directory = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "a package ") }

    private func make(_ name: String) throws {
        try FileSystem.write([], toNewFile: Path.join(directory, name))
    }

    @Test func pathIsShort() {
        let command = ToolCommand(in: "/a", searchPath: "")
        let name = "LedgerTests.testSum-0123abcd.zip"
        #expect(command.explain("/a/left/" + name) == "failure-artifacts explain left/0123abcd")
        #expect(command.explain("/b c/" + name) == "failure-artifacts explain '/b c/0123abcd'")
        // A file that the user has renamed.
        #expect(command.shortened("/a/left/mine.zip") == "left/mine.zip")
    }

    @Test func packageRunsTheToolThatIsNotInstalled() throws {
        defer { try? FileSystem.remove(directory) }
        func command(_ searchPath: String) -> String {
            ToolCommand(in: directory, searchPath: searchPath).explain("x")
        }
        #expect(command("/none:/tmp") == "failure-artifacts explain x")
        try make("Package.swift")
        #expect(command("/none:/tmp") == "swift run failure-artifacts explain x")
        try make("failure-artifacts")
        #expect(command("/none:\(directory)") == "failure-artifacts explain x")
    }
}
