import FailureArtifactsAnalysis
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// The bundle that a command takes if a path stands for several, or is omitted.
@Suite struct ChoiceTests {
    /// Returns the bundle that a command describes in JSON.
    private func described(
        _ command: [String], location: SourceLocation = #_sourceLocation
    ) throws -> (name: String, error: String) {
        let outcome = run(command + ["--json"])
        #expect(outcome.status == 0, "\(outcome.error)", sourceLocation: location)
        // The whole output is the object.
        let json = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
        let bundle = try #require((json as? [String: Any])?["bundle"] as? String)
        return (Path.name(of: bundle), outcome.error)
    }

    @Test(arguments: ["show", "explain"]) func theNewestFailureOfSeveral(command: String) throws {
        let fixture = try Fixture()
        try fixture.attempt("T.a-00000001.zip", at: 1)
        try fixture.attempt("T.b-00000002.zip", test: "b", at: 3)
        try fixture.attempt("T.a-00000003.zip", at: 2)
        try fixture.attempt("T.b-passed-00000004.zip", test: "c", at: 4, outcome: "passed")
        try fixture.write(Array("PK nonsense".utf8), to: "b/broken.zip")
        let (name, error) = try described([command, fixture.path("b")])
        #expect(name == "T.b-00000002.zip")
        let lines = error.split(separator: "\n")
        #expect(lines[0].contains("3 failures") && lines[0].contains("PlainTests.b"), "\(error)")
        // The others, the newest first, each with what to type.
        let listed = lines.filter { $0.contains(" \(command) ") }
        #expect(listed.count == 2)
        for (line, number) in zip(listed, [3, 1]) {
            #expect(line.contains(" \(command) \(fixture.path("b/0000000\(number)")) "), "\(line)")
        }
        // What to type stands for that bundle only.
        let single = try described([command, fixture.path("b/00000003")])
        #expect(single == ("T.a-00000003.zip", ""))
    }

    @Test func aPartOfANameOfSeveral() throws {
        let fixture = try Fixture()
        for number in 1...3 { try fixture.attempt("T.a-0000000\(number).zip", at: number) }
        try fixture.attempt("T.b-00000009.zip", test: "b", at: 9)
        let (name, error) = try described(["show", fixture.path("b/T.a-")])
        #expect(name == "T.a-00000003.zip")
        #expect(error.contains("3 failures") && !error.contains("00000009"), "\(error)")
        // Commands that take several bundles take all with that part.
        let listed = run("list", fixture.path("b/T.a-")).output
        #expect(listed.split(separator: "\n").filter { $0.hasSuffix(".zip") }.count == 3, "\(listed)")
    }

    @Test func ofAZip() throws {
        let fixture = try Fixture()
        for number in 1...2 { try fixture.attempt("T.a-0000000\(number).zip", at: 5 - number) }
        let outer = try fixture.pythonZip(
            "outer.zip", stored: false,
            (1...2).map { ("shard 1/T.a-0000000\($0).zip", "b/T.a-0000000\($0).zip") })
        let (name, error) = try described(["show", outer])
        #expect(name == "T.a-00000001.zip")
        #expect(error.contains(" show \(outer)/00000002 "), "\(error)")
        #expect(try described(["show", outer + "/00000002"]) == ("T.a-00000002.zip", ""))
    }

    @Test func manyOthersAreCounted() throws {
        let fixture = try Fixture()
        for number in 1...9 { try fixture.attempt("T.a-0000000\(number).zip", at: number) }
        let error = try described(["show", fixture.path("b")]).error
        #expect(error.ranges(of: " show ").count == 5)
        #expect(error.contains("and 3 more: ") && error.contains(" list \(fixture.path("b"))\n"))
        // Another command only says which one it takes.
        let extracted = run("extract", fixture.path("b"), "-o", fixture.path("out"))
        #expect(extracted.status == 0)
        #expect(extracted.error.split(separator: "\n").count == 1, "\(extracted.error)")
        #expect(
            try String(
                decoding: FileSystem.contents(ofFile: fixture.path("out/metadata.json")), as: UTF8.self
            ).contains("07:08:09.000Z"))
    }

    @Test(arguments: [true, false]) func aTestThatHasPassedSinceIsNotTheNewest(isRecorded: Bool) throws {
        let fixture = try Fixture()
        try fixture.attempt("T.a-00000001.zip", test: "a", at: 1)
        try fixture.attempt("T.b-00000002.zip", test: "b", at: 2)
        try fixture.attempt("T.c-00000003.zip", test: "c", at: 3)
        if isRecorded {
            try fixture.write(Array("T.c-00000003.zip\nT.d-00000003.zip\n".utf8), to: "b/.passed")
        } else {
            try fixture.attempt("T.c-passed-00000004.zip", test: "c", at: 4, outcome: "passed")
            // This failure is newer than the pass.
            try fixture.attempt("T.b-passed-00000004.zip", test: "b", at: 1, outcome: "passed")
        }
        let (name, error) = try described(["explain", fixture.path("b")])
        #expect(name == "T.b-00000002.zip")
        #expect(error.contains("2 failures") && error.contains("1 other passed"), "\(error)")
        #expect(!error.contains("00000003"))
        // It is still taken by its name, and if there is no other.
        #expect(try described(["show", fixture.path("b/00000003")]).name == "T.c-00000003.zip")
        for name in ["T.a-00000001.zip", "T.b-00000002.zip"] {
            try FileSystem.remove(fixture.path("b/" + name))
        }
        let only = try described(["show", fixture.path("b")])
        #expect(only.name == "T.c-00000003.zip")
        #expect(only.error.contains("has passed since"))
    }

    @Test func aPassOfTheSameTestIsComparedWith() throws {
        let fixture = try Fixture()
        try fixture.attempt("T.a-00000001.zip", test: "a", at: 1)
        try fixture.attempt("T.a-passed-00000002.zip", test: "a", at: 2, outcome: "passed")
        try fixture.attempt("T.b-passed-00000003.zip", test: "b", at: 3, outcome: "passed")
        let outcome = run(
            "explain", fixture.path("b/00000001"), "--against", fixture.path("b"), "--json")
        #expect(outcome.status == 0)
        #expect(!outcome.error.contains("is of another test"), "\(outcome.error)")
    }

    // MARK: The default directory

    @Test(arguments: [
        ["explain", "--json"], ["show", "--json"], ["list", "--json"], ["verify", "--json"],
        ["summary", "-o", "-"], ["junit"], ["report", "-o", "-"], ["extract", "-o", "out", "--json"],
        ["query", "SELECT 1"], ["history"], ["bisect", "SELECT 1"], ["diff"], ["open"],
        ["blame", "account", "1"], ["reduce", "--check", "SELECT 1"],
    ])
    func theArtifactsDirectoryIsTheDefault(command: [String]) throws {
        let fixture = try Fixture()
        let environment = ["FAILURE_ARTIFACTS_DIR": ""]
        let missing = try Program.tool(
            command, environment: environment, directory: fixture.directory)
        #expect(missing.status == 66)
        #expect(missing.error.hasPrefix("error: There is no directory 'failure-artifacts'."))
        #expect(missing.error.contains("swift test"))
        try fixture.attempt("T.a-00000001.zip", at: 1, in: "failure-artifacts")
        try fixture.attempt("T.a-00000002.zip", at: 1, in: "else where")
        for (directory, name) in [("", "T.a-00000001.zip"), ("else where", "T.a-00000002.zip")] {
            let outcome = try Program.tool(
                command, environment: ["FAILURE_ARTIFACTS_DIR": directory],
                directory: fixture.directory)
            let text = outcome.output + outcome.error
            try? FileSystem.remove(fixture.path("out"))
            // These commands name the bundle in an error, as it has no stores.
            #expect(!text.contains("There is no directory"), "\(text)")
            guard !["summary", "junit", "report", "extract"].contains(command[0]) else {
                #expect(outcome.status == 0, "\(text)")
                continue
            }
            #expect(text.contains(name), "\(text)")
        }
    }
}

extension ChoiceTests {
    @Test(arguments: ["67d75c58", "addingTwoFeeds", "T.addingTwoFeeds-67d75c58.zip", "Two/67d75c58"])
    func aNameIsSearchedForInTheArtifactsDirectory(name: String) throws {
        let fixture = try Fixture()
        try fixture.attempt("T.addingTwoFeeds-67d75c58.zip", at: 1, in: "failure-artifacts/Two")
        try fixture.attempt("T.a-00000001.zip", at: 2, in: "failure-artifacts")
        // Nothing is searched elsewhere.
        try fixture.attempt("T.addingTwoFeeds-67d75c58.zip", at: 3, in: "others")
        for command in [
            ["show", name, "--json"], ["explain", name, "--json"], ["list", name, "--json"],
            ["open", name],
            ["query", name, "SELECT 1"], ["bisect", name, "SELECT 1"], ["diff", name],
            ["history", name],
            ["blame", name, "account", "1"], ["reduce", name, "--check", "SELECT 1"],
        ] where command[0] != "blame" || name != "addingTwoFeeds" {
            let outcome = try Program.tool(
                command, environment: ["FAILURE_ARTIFACTS_DIR": ""], directory: fixture.directory)
            // Some commands name the bundle in an error, as it has no stores.
            let text = (outcome.output + outcome.error).replacing("\\/", with: "/")
            #expect(text.contains("failure-artifacts/Two/T.addingTwoFeeds-67d75c58.zip"), "\(text)")
            #expect(!text.contains("00000001"), "\(text)")
        }
    }

    @Test func theErrorNamesBothPlaces() throws {
        let fixture = try Fixture()
        try fixture.attempt("T.a-00000001.zip", at: 2, in: "failure-artifacts")
        for (command, name) in [("show", "nowhere"), ("list", "a/b.zip"), ("diff", "T.b-00000001.zip")] {
            let outcome = try Program.tool(
                command, name, environment: ["FAILURE_ARTIFACTS_DIR": ""], directory: fixture.directory)
            #expect(outcome.status == 66)
            #expect(
                outcome.error
                    == "error: There is nothing at '\(name)', and no bundle in 'failure-artifacts' has '\(name)' in "
                    + "its name. 'failure-artifacts list' shows the names.\n")
        }
    }
}

extension Fixture {
    /// Writes a bundle without stores of a test at a second after 07:08.
    @discardableResult
    func attempt(
        _ name: String, test: String = "a", at second: Int, outcome: String = "failed",
        in folder: String = "b", facts: [(String, String)] = []
    ) throws -> String {
        let time = Timestamp(seconds: 1_795_244_880 + Int64(second)).description
        var metadata = Metadata.plain(test: test, message: "m")
            .replacing("\"failed\"", with: "\"\(outcome)\"")
            .replacing("2026-11-21T07:08:09.120Z", with: time)
            .replacing("2026-11-21T07:08:09.123Z", with: time)
        for (old, new) in facts {
            try #require(metadata.contains(old), "\(old)")
            metadata = metadata.replacing(old, with: new)
        }
        return try zip("\(folder)/\(name)", [("metadata.json", Array(metadata.utf8))])
    }
}
