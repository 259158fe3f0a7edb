import FailureArtifactsAnalysis
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsReport

@Suite final class WholeFileTests {
    /// A text whose second half can't be produced.
    private struct Broken: WrittenText {
        func write(_ write: (String) throws -> Void) throws {
            try write(String(repeating: "half", count: 10_000))
            throw Problem()
        }
    }

    private struct Problem: Error {}

    private let fixture: Fixture

    init() throws { fixture = try Fixture() }

    private func names(_ directory: String = "") throws -> [String] {
        try FileSystem.contents(ofDirectory: fixture.path(directory))
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try FileSystem.contents(ofFile: fixture.path(name)), as: UTF8.self)
    }

    @Test func anUnfinishedFileHasAnotherName() throws {
        let path = fixture.path("new/store")
        try WholeFile.create(path) { part in
            try FileSystem.write(Array("half".utf8), toNewFile: part)
            #expect(try FileSystem.status(of: path) == nil)
            #expect(try names("new").allSatisfy { $0.hasPrefix(".") })
        }
        #expect(try names("new") == ["store"])
    }

    @Test func afterAnErrorNothingIsLeft() throws {
        #expect(throws: Problem.self) { try WholeFile.write(Broken(), to: fixture.path("new/page")) }
        #expect(throws: Problem.self) {
            try WholeFile.create(fixture.path("new/store")) { part in
                try FileSystem.write(Array("half".utf8), toNewFile: part)
                throw Problem()
            }
        }
        #expect(try names("new").isEmpty)

        try fixture.write(Array("old".utf8), to: "page")
        #expect(throws: Problem.self) { try WholeFile.write(Broken(), to: fixture.path("page")) }
        #expect(try text("page") == "old")
        #expect(try names() == ["new", "page"])
    }

    @Test func existingFilesAreReplacedOnlyByWrite() throws {
        let path = try fixture.write(Array("old".utf8), to: "file")
        let error = #expect(throws: CommandError.self) {
            try WholeFile.create(path) { _ in Issue.record("Nothing is to be made.") }
        }
        #expect(error?.exitCode == .usage)
        #expect(try text("file") == "old")
        try WholeFile.write("new", to: path)
        #expect(try text("file") == "new")
    }

    /// Another process may make the file in the meantime.
    @Test func aFileThatAppearsMeanwhileStays() throws {
        let path = fixture.path("file")
        let error = #expect(throws: SystemError.self) {
            try WholeFile.create(path) { part in
                try FileSystem.write(Array("new".utf8), toNewFile: part)
                try FileSystem.write(Array("other".utf8), toNewFile: path)
            }
        }
        #expect(error?.sentence == "Cannot create '\(path)': File exists.")
        #expect(try text("file") == "other")
        #expect(try names() == ["file"])
    }

    @Test func checksCreateNothing() throws {
        try WholeFile.checkNew(fixture.path("a/b/file"))
        try WholeFile.checkDirectory(fixture.path("a/b"))
        #expect(try names().isEmpty)
    }
}
