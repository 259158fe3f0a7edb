import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

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
        let cut = try fixture.plain("cut.zip")
        _ = try Program.run("/usr/bin/truncate", ["-s", "200", cut])
        try fixture.ledger("ok.zip")
        let outcome = try Program.tool("verify", ".", directory: fixture.directory)
        #expect(outcome.status == 1)
        #expect(outcome.error.isEmpty)
        let lines = outcome.output.split(separator: "\n")
        try #require(lines.count == 5)
        #expect(lines[0].hasPrefix("bad  ./corrupt.zip: The store 's' is damaged: "))
        #expect(
            lines[1]
                == "bad  ./crc.zip: Entry 'n.txt' of './crc.zip' is damaged: its content does not have the "
                + "recorded CRC-32.")
        #expect(lines[2].hasPrefix("bad  ./cut.zip: "))
        #expect(
            lines[3]
                == "bad  ./missing.zip: './missing.zip' is incomplete: its metadata names 'stores/s.sqlite', "
                + "and the zip has no such entry.")
        #expect(lines[4] == "ok   ./ok.zip")
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
