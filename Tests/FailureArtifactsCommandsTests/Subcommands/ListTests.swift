import FailureArtifactsAnalysis
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct ListTests {
    @Test func aLineForEachBundle() throws {
        let fixture = try Fixture()
        try fixture.ledger("LedgerTests.testTransfer-1a2b3c4d.zip")
        try fixture.plain(
            "shard/PlainTests.test果物-00000001.zip", test: "test果物", message: "一\\n二\\u001b[2J")
        try fixture.plain(".in-flight/half.zip")
        try fixture.zip("other.zip", [("hello.txt", [1])])
        try fixture.write([], to: "notes.txt")
        let outcome = try Program.tool(
            "list", ".", environment: ["TZ": "UTC"], directory: fixture.directory)
        #expect(outcome.status == 0)
        #expect(
            outcome.error == "warning: './other.zip' is passed over: it is a zip, but no bundle.\n")
        #expect(
            outcome.output == """
                failed  Nov 21 07:08:09  LedgerTests.testTransfer  90 ≠ 100 - the money is gone  \
                LedgerTests.testTransfer-1a2b3c4d.zip
                failed  Nov 21 07:08:09  PlainTests.test果物       一 二\\u{1b}[2J                \
                PlainTests.test果物-00000001.zip

                """)
    }

    @Test(arguments: [60, 80, 120, 300])
    func aTerminalIsNotOverrun(_ width: Int) throws {
        let fixture = try Fixture()
        try fixture.ledger()
        try fixture.plain(
            "PlainTests.test_CoreData内の果物を更新できる_長い名前のテスト-00000001.zip",
            test: "test_CoreData内の果物を更新できる_長い名前のテスト", message: String(repeating: "長い ", count: 90))
        let lines = run("list", fixture.directory, width: width).output.split(separator: "\n")
        try #require(lines.count == 2)
        if width >= 80 {
            #expect(lines.allSatisfy { TextWidth.columns(of: String($0)) <= width })
        }
        // The identifying part of a bundle's name is never truncated.
        #expect(lines[0].hasSuffix("  1a2b3c4d") && lines[1].hasSuffix("  00000001"))
    }

    @Test func jsonIsOneObjectALine() throws {
        let fixture = try Fixture()
        try fixture.ledger("a.zip")
        try fixture.plain("b.zip")
        let outcome = run("list", "--json", fixture.directory)
        let read = try Program.python(
            """
            import json, sys
            rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
            print(*[(r["metadata"]["test"]["name"], r["bundle"].split("/")[-1], r["bytes"] > 100) for r in rows])
            """, outcome.output)
        #expect(read == "('testTransfer', 'a.zip', True) ('testPlain', 'b.zip', True)\n")
        #expect(outcome.output.contains("\"file\":\"Tests/LedgerTests.swift\""))
    }

    @Test(arguments: [true, false])
    func aZipOfBundles(stored: Bool) throws {
        let fixture = try Fixture()
        try fixture.ledger("one.zip")
        try fixture.plain("two.zip")
        let outer = try fixture.pythonZip(
            "download.zip", stored: stored,
            [("shard 1/one.zip", "one.zip"), ("two.zip", "two.zip"), ("__MACOSX/._two.zip", "two.zip")])
        let outcome = run("list", "--json", outer)
        #expect(outcome.error.isEmpty)
        let names = try Program.python(
            """
            import json, sys
            for line in open(sys.argv[1], encoding="utf-8"): print(json.loads(line)["bundle"])
            """, outcome.output)
        #expect(names == "\(outer)/shard 1/one.zip\n\(outer)/two.zip\n")
    }

    @Test func oneBadBundleDoesNotHideTheOthers() throws {
        let fixture = try Fixture()
        try fixture.write(Array("PK nonsense".utf8), to: "a.zip")
        try fixture.plain("b.zip")
        try fixture.zip(
            "c.zip",
            [("metadata.json", Array(Metadata.plain(test: "t", message: "m", version: "99").utf8))])
        let outcome = run("list", fixture.directory, "/nowhere/at/all")
        #expect(outcome.status == 65)
        #expect(outcome.output.split(separator: "\n").count == 1)
        #expect(outcome.error.split(separator: "\n").count == 3)
        #expect(
            outcome.error.contains("has format version 99.0, and this tool reads versions up to 1.x"))
        #expect(outcome.error.contains("There is nothing at '/nowhere/at/all'."))
    }

    /// Bundles of several batches stay in order, and warnings appear in their place.
    @Test func manyKeepTheirOrder() throws {
        let fixture = try Fixture()
        let names = (1000..<1600).map { "\($0).zip" }
        for name in names {
            if name == "1301.zip" {
                try fixture.zip(name, [("hello.txt", [1])])
            } else {
                try fixture.plain(name, test: "test" + name.prefix(4))
            }
        }
        let outcome = try Program.run(
            "/bin/sh", ["-c", "\"$0\" list --json . 2>&1", Program.tool], directory: fixture.directory)
        #expect(outcome.status == 0)
        let found = outcome.output.split(separator: "\n").map { line in
            line.hasPrefix("warning") ? "1301.zip" : String(line.split(separator: "\"")[3].suffix(8))
        }
        #expect(found == names)
    }

    @Test func aReaderThatLeavesIsNoError() throws {
        let fixture = try Fixture()
        try fixture.ledger()
        let outcome = try Program.run(
            "/bin/bash",
            ["-c", "set -o pipefail; \"$0\" query . \"$1\" | head -n 1", Program.tool, Self.counting],
            directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "n\r\n", error: ""))
    }

    private static let counting =
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000) SELECT n FROM c"
}
