import FailureArtifactsBundle
@testable import FailureArtifactsCommands
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@Suite struct ExtractTests {
    @Test func theFilesInADirectoryOfTheBundlesName() throws {
        let fixture = try Fixture()
        try fixture.ledger("in/a.b-1a2b3c4d.zip")
        let outcome = try Program.tool("extract", "in", directory: fixture.directory)
        #expect(
            outcome
                == Outcome(
                    status: 0,
                    output: """
                        a.b-1a2b3c4d/metadata.json
                        a.b-1a2b3c4d/stores/ledger.sqlite
                        a.b-1a2b3c4d/stores/ledger.committed.sqlite
                        a.b-1a2b3c4d/attachments/request.txt
                        a.b-1a2b3c4d/README.txt

                        """, error: ""))
        let unpacked = try Program.run(
            "/usr/bin/unzip", ["-q", "in/a.b-1a2b3c4d.zip", "-d", "unzipped"],
            directory: fixture.directory)
        #expect(unpacked.status == 0)
        let difference = try Program.run(
            "/usr/bin/env", ["diff", "-r", "a.b-1a2b3c4d", "unzipped"], directory: fixture.directory)
        #expect(difference == Outcome(status: 0, output: "", error: ""))
        let again = try Program.tool("extract", "in", directory: fixture.directory)
        #expect(again.status == 64)
        #expect(
            again.error
                == "error: 'a.b-1a2b3c4d' is not empty, and nothing in it is to be written over: empty it, or "
                + "choose another directory with -o.\n")
    }

    @Test func aDirectoryOfOnesOwn() throws {
        let fixture = try Fixture()
        let bundle = try fixture.plain("a.zip")
        let directory = fixture.path("x/y")
        let outcome = run("extract", bundle, "-o", directory, "--json")
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("{\"bytes\":"))
        #expect(outcome.output.hasSuffix(",\"path\":\"\(directory)/metadata.json\"}\n"))
        let file = run("extract", bundle, "--output", bundle)
        #expect(file.status == 64)
        #expect(file.error.contains("is a file"))
        #expect(run("extract", bundle, "-o", "").status == 64)
    }

    @Test(arguments: ["../out.txt", "/tmp/fa-out.txt", "a/../../out.txt"])
    func nothingGetsOutside(_ name: String) throws {
        let fixture = try Fixture()
        try fixture.write(Array(Metadata.plain(test: "t", message: "m").utf8), to: "m")
        try fixture.write([1], to: "x")
        let bundle = try fixture.pythonZip(
            "a.zip", stored: false, [("metadata.json", "m"), ("placeholder", "x")])
        // zipfile's write() would normalise the name.
        let made = try Program.run(
            "/usr/bin/env",
            [
                "python3", "-c",
                """
                import sys, zipfile
                with zipfile.ZipFile(sys.argv[1], "a") as archive: archive.writestr(sys.argv[2], "out")
                """, bundle, name,
            ])
        try #require(made.status == 0)
        let outcome = run("extract", bundle, "-o", fixture.path("in/side"))
        // Python drops the first slash of an absolute name.
        #expect(outcome.status == 65 || name.hasPrefix("/"))
        #expect(try FileSystem.status(of: fixture.path("out.txt")) == nil)
        #expect(try FileSystem.status(of: fixture.path("in/out.txt")) == nil)
        #expect(try FileSystem.status(of: "/tmp/fa-out.txt") == nil)
    }
}

/// The paths of files and directories that commands write.
@Suite final class OutputPathTests {
    /// The arguments of a command that writes a file, without the path; `IN` is a bundle.
    static let files: [[String]] = [
        ["junit", "IN", "-o"], ["summary", "IN", "-o"], ["report", "IN", "-o"],
        ["reduce", "IN", "--check", "SELECT 1 FROM account", "-o"],
    ]
    /// The same for a directory.
    static let directories: [[String]] = [
        ["extract", "IN", "-o"], ["extract", "IN", "--at", "1", "-o"],
        ["extract", "IN", "--fixture", "--at", "1", "-o"], ["merge", "IN", "-o"],
    ]

    private let fixture: Fixture
    private let bundle: String

    init() throws {
        fixture = try Fixture()
        bundle = try fixture.walBundle(
            ["INSERT INTO account VALUES (3, 'c', 30)"],
            log: [("INSERT INTO account VALUES (3, 'c', 30)", 1)])
    }

    private func outcome(of command: [String], _ path: String) -> Outcome {
        run(command.map { $0 == "IN" ? bundle : $0 } + [path])
    }

    @Test(arguments: files)
    func missingDirectoriesOfAFileAreCreated(_ command: [String]) throws {
        let path = fixture.path("new/deep/file.out")
        let outcome = outcome(of: command, path)
        #expect(outcome.status == 0, "\(outcome)")
        #expect(FileSystem.regularFile(path).map { $0.size > 0 } == true)
        let names = try FileSystem.contents(ofDirectory: fixture.path("new/deep"))
        #expect(names == (command[0] == "reduce" ? ["file.out", "file.sql"] : ["file.out"]))
    }

    @Test(arguments: directories)
    func missingParentsOfADirectoryAreCreated(_ command: [String]) throws {
        let outcome = outcome(of: command, fixture.path("new/deep"))
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(try FileSystem.contents(ofDirectory: fixture.path("new/deep")).isEmpty == false)
    }

    @Test func missingDirectoriesOfARunsResultsAreCreated() throws {
        let outcome = try Program.tool(
            "run", "--junit", "new/deep/junit.xml", "--", "true", directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "", error: ""))
        #expect(FileSystem.regularFile(fixture.path("new/deep/junit.xml")) != nil)
    }

    @Test(arguments: files + directories, ["", "/deep"])
    func aFileInPlaceOfADirectoryIsNamed(_ command: [String], _ below: String) throws {
        let file = try fixture.write([], to: "file")
        let path = file + below + "/name"
        let outcome = outcome(of: command, path)
        let named = command.contains("--fixture") ? path + "/Fixtures/Store.sql" : path
        #expect(
            outcome
                == Outcome(
                    status: 74, output: "",
                    error:
                        "error: '\(named)' cannot be written: '\(file)' is not a directory. Give another path.\n"
                ))
    }

    @Test func aRunWarnsOfResultsWithoutADirectory() throws {
        try fixture.write([], to: "file")
        let outcome = try Program.tool(
            "run", "--junit", "file/junit.xml", "--", "sh", "-c", "exit 3", directory: fixture.directory)
        #expect(
            outcome
                == Outcome(
                    status: 3, output: "",
                    error:
                        "warning: The results could not be written to 'file/junit.xml'. 'file/junit.xml' "
                        + "cannot be written: 'file' is not a directory. Give another path.\n"))
    }

    /// A long search would be for nothing.
    @Test func reduceChecksThePathBeforeItRunsTheCommand() throws {
        let file = try fixture.write([], to: "file")
        let outcome = run(
            "reduce", bundle, "-o", file + "/small.sqlite", "--", "touch", fixture.path("ran"))
        #expect(outcome.status == 74)
        #expect(try FileSystem.status(of: fixture.path("ran")) == nil)
    }

    @Test(arguments: files)
    func aPathThatEndsInASlashIsADirectory(_ command: [String]) throws {
        let path = fixture.path("new/")
        #expect(
            outcome(of: command, path)
                == Outcome(
                    status: 74, output: "",
                    error:
                        "error: '\(path)' is a directory, so no file is written there. Give the path of a file.\n"
                ))
        #expect(try FileSystem.status(of: path) == nil)
    }

    /// The error names the user's path, not a temporary file's.
    @Test(arguments: files)
    func aNameThatIsTooLong(_ command: [String]) throws {
        let path = fixture.path(String(repeating: "x", count: 256))
        let outcome = outcome(of: command, path)
        #expect(outcome.status == 74)
        #expect(outcome.error == "error: Cannot examine '\(path)': File name too long.\n")
    }
}
