import FailureArtifactsBundle
@testable import FailureArtifactsCommands
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@Suite struct VerifyTests {
    @Test func goodBundles() throws {
        let fixture = try Fixture()
        try fixture.ledger("a.zip")
        try fixture.plain("b.zip")
        let outcome = try Program.tool("verify", ".", directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "ok   ./a.zip\nok   ./b.zip\n", error: ""))
    }

    @Test func everyDamageIsFound() throws {
        let fixture = try Fixture()
        // A page of the store is damaged, but the zip is valid.
        var store = try fixture.store(
            "CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE INDEX i ON t(a)")
        store.replaceSubrange(4096..<4196, with: repeatElement(0xFF, count: 100))
        try fixture.zip(
            "corrupt.zip",
            [("metadata.json", Array(Metadata.store("s").utf8)), ("stores/s.sqlite", store)])
        // A byte of a stored entry is wrong.
        try fixture.write(Array(Metadata.plain(test: "t", message: "m").utf8), to: "m")
        try fixture.write(Array("needle".utf8), to: "n")
        let crc = try fixture.pythonZip(
            "crc.zip", stored: true, [("metadata.json", "m"), ("n.txt", "n")])
        _ = try Program.run("/bin/sed", ["-i", "s/needle/noodle/", crc])
        try fixture.zip("missing.zip", [("metadata.json", Array(Metadata.store("s").utf8))])
        // Passing runs that are invalid.
        try fixture.zip(
            "lines.zip",
            [
                ("metadata.json", Array(Metadata.plain(test: "t", message: "m").utf8)),
                (Baseline.entry, Array("{}\n".utf8)),
            ])
        let cut = try fixture.plain("cut.zip")
        _ = try Program.run("/usr/bin/truncate", ["-s", "200", cut])
        try fixture.ledger("ok.zip")
        let outcome = try Program.tool("verify", ".", directory: fixture.directory)
        #expect(outcome.status == 1)
        #expect(outcome.error.isEmpty)
        let lines = outcome.output.split(separator: "\n")
        try #require(lines.count == 6)
        #expect(lines[0].hasPrefix("bad  ./corrupt.zip: The store 's' is damaged: "))
        #expect(
            lines[1]
                == "bad  ./crc.zip: Entry 'n.txt' of './crc.zip' is damaged: its content does not have the "
                + "recorded CRC-32.")
        #expect(lines[2].hasPrefix("bad  ./cut.zip: "))
        #expect(lines[3].hasPrefix("bad  ./lines.zip: ") && lines[3].contains(Baseline.entry))
        #expect(
            lines[4]
                == "bad  ./missing.zip: './missing.zip' is incomplete: its metadata names 'stores/s.sqlite', "
                + "and the zip has no such entry.")
        #expect(lines[5] == "ok   ./ok.zip")
    }

    @Test func json() throws {
        let fixture = try Fixture()
        let path = try fixture.plain("b.zip")
        #expect(
            run("verify", "--json", path).output
                == "{\"bundle\":\"\(path)\",\"notes\":[],\"ok\":true,\"problems\":[]}\n")
    }

    @Test func aCollationOfTheApplicationIsNoDamage() throws {
        let fixture = try Fixture()
        let path = fixture.path("made.sqlite")
        let made = try Program.python(
            """
            import sqlite3
            c = sqlite3.connect("\(path)")
            c.create_collation("swiftCompare", lambda a, b: (a > b) - (a < b))
            c.executescript("CREATE TABLE t(a TEXT COLLATE swiftCompare); CREATE INDEX i ON t(a);"
                            "INSERT INTO t VALUES ('a'), ('b');")
            c.close()
            """, "")
        try #require(made.isEmpty)
        let bundle = try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(Metadata.store("s").utf8)),
                ("stores/s.sqlite", try FileSystem.contents(ofFile: path)),
            ])
        let outcome = run("verify", bundle)
        #expect(outcome.status == 0)
        #expect(outcome.output == "ok   \(bundle)\n")
    }
}

/// Invalid paths, each of which produces a sentence and the right status, and never a trap.
@Suite struct BadInputTests {
    static let commands: [[String]] = [
        ["list"], ["show"], ["open"], ["query", "SELECT 1"], ["extract"], ["verify"],
    ]

    /// Runs the command on `path` with the built tool, so that a trap is visible.
    private func run(_ command: [String], _ path: String) throws -> Outcome {
        var arguments = command
        arguments.insert(path, at: 1)
        return try Program.run(Program.tool, arguments, directory: "/tmp")
    }

    private func check(
        _ command: [String], _ path: String, _ status: Int32, _ part: String,
        location: SourceLocation = #_sourceLocation
    ) throws {
        let outcome = try run(command, path)
        #expect(outcome.status == status, sourceLocation: location)
        #expect(outcome.output.isEmpty, sourceLocation: location)
        #expect(outcome.error.hasPrefix("error: "), sourceLocation: location)
        #expect(outcome.error.contains(part), "\(outcome.error)", sourceLocation: location)
        #expect(outcome.error.contains(path), sourceLocation: location)
        #expect(outcome.error.split(separator: "\n").count == 1, sourceLocation: location)
        #expect(outcome.error.hasSuffix(".\n"), sourceLocation: location)
    }

    @Test(arguments: commands)
    func pathsWithoutBundles(_ command: [String]) throws {
        let fixture = try Fixture()
        try check(command, fixture.path("nowhere"), 66, "There is nothing at")
        try check(command, fixture.path("nowhere/a.zip"), 66, "There is nothing at")
        try FileSystem.createDirectory(fixture.path("empty/.in-flight"))
        try check(command, fixture.path("empty"), 66, "holds no bundles")
        try check(
            command, fixture.path("empty"), 66,
            ". Give the directory into which failing tests put them; by default it is failure-artifacts."
        )
        try check(command, try fixture.zip("foreign.zip", [("a.txt", [1])]), 65, "has no metadata.json")
        try check(command, try fixture.zip("bare.zip", []), 65, "has no metadata.json")
        try check(command, fixture.path("bare.zip"), 65, ". Give a zip that a failing test has left.")
        // A path inside a bundle doesn't exist.
        try check(command, try fixture.plain("plain.zip") + "/inner.zip", 66, "There is nothing at")
    }

    @Test(arguments: commands)
    func filesThatAreNoZip(_ command: [String]) throws {
        let fixture = try Fixture()
        try check(command, try fixture.write([], to: "empty.zip"), 65, "is not a ZIP archive")
        try check(
            command, try fixture.write(Array(repeating: 0x50, count: 70_000), to: "no.zip"), 65,
            "is not a ZIP archive")
        let store = try fixture.write(try fixture.store("CREATE TABLE t(a)"), to: "store.sqlite")
        try check(
            command, store, 65, "is not a ZIP archive. Give a zip that a failing test has left.")
        let pipe = fixture.path("pipe.zip")
        #expect(try Program.run("/usr/bin/env", ["mkfifo", pipe]).status == 0)
        try check(
            command, pipe, 65, "is a pipe or a device. Write its content to a file, and give that.")
    }

    @Test(arguments: commands)
    func pathsThatTheSystemRefuses(_ command: [String]) throws {
        let fixture = try Fixture()
        let path = fixture.path(String(repeating: "x", count: 300))
        try check(command, path, 74, "error: Cannot examine '\(path)': File name too long.")
    }

    /// Root may list every directory, so another user runs the tool.
    @Test(arguments: [
        ["list"], ["verify"], ["report", "-o", "/dev/null"], ["sweep"], ["prune", "--max-bundles", "1"],
    ])
    func directoriesThatCannotBeListed(_ command: [String]) throws {
        let fixture = try Fixture()
        let place = fixture.path("locked")
        try FileSystem.createDirectory(place)
        let modes = try Program.run(
            "/usr/bin/env",
            ["sh", "-c", "chmod 755 \"$0\" && chmod 000 \"$1\"", fixture.directory, place])
        #expect(modes.status == 0)
        let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        let outcome = try Program.run(
            "/usr/bin/env",
            ["TMPDIR="] + (geteuid() == 0 ? user : []) + [Program.tool, command[0], place]
                + command.dropFirst())
        #expect(
            outcome
                == Outcome(
                    status: 74, output: "",
                    error: "error: Cannot list '\(place)': Permission denied. Check the permissions.\n"))
    }

    /// The recorders of processes that died are in a hidden directory.
    @Test func sweepNamesTheHiddenDirectoryThatCannotBeListed() throws {
        let fixture = try Fixture()
        let place = fixture.path(".in-flight")
        let link = try Program.run("/usr/bin/env", ["ln", "-s", ".in-flight", place])
        #expect(link.status == 0)
        #expect(
            try Program.tool("sweep", fixture.directory)
                == Outcome(
                    status: 74, output: "",
                    error: "error: Cannot list '\(place)': Too many levels of symbolic links.\n"))
        try FileSystem.remove(place)
        #expect(
            try Program.tool("sweep", fixture.directory) == Outcome(status: 0, output: "", error: ""))
    }

    @Test func bundlesThatAreCutShort() throws {
        let fixture = try Fixture()
        let whole = try FileSystem.contents(ofFile: try fixture.ledger("whole.zip"))
        for part in 1..<8 {
            let path = try fixture.write(
                Array(whole.prefix(whole.count * part / 8)), to: "cut\(part).zip")
            for command in Self.commands { try check(command, path, 65, path) }
        }
        let path = try fixture.write(Array(whole.dropLast()), to: "last.zip")
        for command in Self.commands { try check(command, path, 65, path) }
    }

    @Test(arguments: [
        ("", "it is not valid JSON"), ("nonsense", "it is not valid JSON"),
        ("[1]", "it has another type"),
        ("null", "it"), ("{}", "it has no 'formatVersion'"),
        ("{\"formatVersion\": \"1.0\"}", "it has no "),
        ("{\"formatVersion\": \"one\"}", "'formatVersion' has a value that is not known"),
        ("{\"formatVersion\": [1]}", "'formatVersion' has another type"),
        ("{\"formatVersion\": \"2.0\"}", "has format version 2.0"),
        ("{\"formatVersion\": \"99\"}", "has format version 99.0"),
        ("{\"formatVersion\": 99}", "has format version 99.0"),
        ("{\"formatVersion\": 2.5}", "has format version 2.5"),
    ])
    func metadataThatIsNone(_ json: String, _ part: String) throws {
        let fixture = try Fixture()
        let path = try fixture.zip("a.zip", [("metadata.json", Array(json.utf8))])
        try check(["list"], path, 65, part)
        try check(["query", "SELECT 1"], path, 65, part)
        let outcome = try run(["verify"], path)
        #expect(outcome.status == 1)
        #expect(outcome.output.hasPrefix("bad  \(path): "))
        #expect(outcome.output.contains(part))
    }

    @Test func aMissingScratchDirectory() throws {
        let fixture = try Fixture()
        let outcome = try Program.tool(
            "show", try fixture.plain("a.zip"), environment: ["TMPDIR": "/nowhere/at/all"])
        #expect(outcome.status == 74)
        #expect(
            outcome.error
                == "error: Cannot create a directory in '/nowhere/at/all': No such file or directory. Set TMPDIR to a directory that can be written to.\n"
        )
    }

    @Test func aFullDisk() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        let outcome = try Program.run(
            "/bin/sh", ["-c", "\"$0\" show \"$1\" > /dev/full", Program.tool, bundle])
        #expect(outcome.status == 74)
        #expect(
            outcome.error
                == "error: Cannot write to 'standard output': No space left on device. Free some space on the disk, "
                + "and try again.\n")
    }
}
