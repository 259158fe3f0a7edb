import FailureArtifactsAnalysis
@testable import FailureArtifactsCommands
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

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

    @Test(arguments: [40, 41, 50, 59, 60, 68, 69, 70, 80, 120, 300])
    func aTerminalIsNotOverrun(_ width: Int) throws {
        let fixture = try Fixture()
        try fixture.ledger()
        try fixture.attempt(
            "PlainTests.test_CoreData内の果物を更新できる_長い名前のテスト-00000001.zip",
            test: "test_CoreData内の果物を更新できる_長い名前のテスト", at: 20, outcome: "terminated",
            facts: [("\"m\"", "\"\(String(repeating: "長い ", count: 90))\"")])
        let lines = run("list", fixture.directory, width: width).output.split(separator: "\n")
        try #require(lines.count == 2)
        #expect(lines.allSatisfy { TextWidth.columns(of: String($0)) <= width }, "\(lines)")
        #expect(lines.allSatisfy { $0.contains("Tests") }, "\(lines)")
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

/// The tests that have passed since, and the times.
@Suite struct ListSectionTests {
    private static let service = """
        ,
         "ci": {"service": "GitHub Actions", "variables": {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "test"}}
        """

    /// Writes a bundle of a process outside CI.
    private func local(
        _ number: Int, at second: Int, test: String, in fixture: borrowing Fixture
    ) throws {
        try fixture.attempt(
            "T.\(test)-0000000\(number).zip", test: test, at: second, facts: [(Self.service, "")])
    }

    /// Returns the last digits of the listed bundles, by section.
    private func sections(_ fixture: borrowing Fixture) -> [[Int]] {
        let lines = run("list", fixture.path("b")).output.split(
            separator: "\n", omittingEmptySubsequences: false)
        return lines.split(separator: "").map { section in
            section.compactMap { line in
                line.hasSuffix(".zip") ? line.dropLast(4).last?.wholeNumberValue : nil
            }
        }
    }

    @Test(arguments: [true, false]) func laterPassesAreApart(isRecorded: Bool) throws {
        let fixture = try Fixture()
        try local(1, at: 1, test: "a", in: fixture)
        try local(2, at: 2, test: "b", in: fixture)
        if isRecorded {
            try fixture.write(Array("T.a-00000001.zip\n".utf8), to: "b/.passed")
        } else {
            try fixture.attempt("T.a-passed-00000003.zip", test: "a", at: 3, outcome: "passed")
        }
        #expect(sections(fixture) == (isRecorded ? [[1], [2]] : [[1], [2, 3]]))
        #expect(run("list", fixture.path("b")).output.hasPrefix("Passed since"))
        let flags = run("list", "--json", fixture.path("b")).output.split(separator: "\n").map {
            $0.contains("\"passedSince\":true")
        }
        #expect(flags == (isRecorded ? [true, false] : [false, false, false]))
    }

    @Test func theTimeIsLocal() throws {
        let fixture = try Fixture()
        try local(1, at: 7, test: "a", in: fixture)
        for (zone, time) in [("UTC", "07:08:07"), ("Asia/Tokyo", "16:08:07")] {
            let outcome = try Program.tool("list", fixture.path("b"), environment: ["TZ": zone])
            #expect(outcome.output.contains(" \(time)  "), "\(outcome.output)")
        }
    }
}

/// Lists of which an output has only the first entries say how many there are.
@Suite struct CutListTests {
    private static let fill = """
        CREATE TABLE entry(id INTEGER PRIMARY KEY, n);
        WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 120)
        INSERT INTO entry SELECT x, x FROM i
        """

    private func json(_ words: String...) throws -> [String: Any] {
        let outcome = run(words + ["--json"])
        return try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any],
            "\(outcome.error)")
    }

    @Test func rowsOfABisectedQueryAreCounted() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle([Self.fill, "UPDATE entry SET n = -n WHERE id <= 20"])
        let sql = "SELECT id FROM entry WHERE n < 0"
        let text = run("bisect", bundle, sql).output
        #expect(
            text.contains("\n  id 5\n  and 15 more rows\n  entry id = 1 updated: n 1 → -1\n"), "\(text)")
        let found = try json("bisect", bundle, sql)
        let query = try #require(found["query"] as? [String: Any])
        #expect((query["after"] as? [Any])?.count == 5)
        #expect(query["afterCount"] as? Int == 20)
        #expect(query["beforeCount"] as? Int == 0)
    }

    @Test func rowsOfAComparedResultAreCounted() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle([Self.fill, "DELETE FROM entry WHERE id > 7"])
        let sql = "SELECT id FROM entry"
        let text = run("bisect", bundle, sql, "--changed").output
        #expect(
            text.contains("\n  before: id 5\n  before: and 115 more rows\n  after: id 1\n"), "\(text)")
        #expect(text.contains("\n  after: id 5\n  after: and 2 more rows\n"))
        let query = try #require(try json("bisect", bundle, sql, "--changed")["query"] as? [String: Any])
        #expect(query["beforeCount"] as? Int == 120 && query["afterCount"] as? Int == 7)
    }

    @Test func changedRowsOfATransactionAreCounted() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle([Self.fill, "UPDATE entry SET n = -n"])
        let found = try json("bisect", bundle, "SELECT id FROM entry WHERE n < 0")
        #expect((found["rows"] as? [Any])?.count == 100)
        #expect(found["rowCount"] as? Int == 120)
    }

    @Test(arguments: [(5, 12), (60, 120)]) func rowsOfAFindingAreCounted(_ deleted: Int, _ total: Int)
        throws
    {
        let fixture = try Fixture()
        let delete = "DELETE FROM entry WHERE id <= \(deleted)"
        let bundle = try fixture.walBundle(
            [Self.fill.replacing("120", with: "\(total)"), delete],
            log: [
                ("BEGIN", nil), ("CREATE TABLE entry(id INTEGER PRIMARY KEY, n)", 0),
                ("INSERT INTO entry SELECT x, x FROM i", total), ("COMMIT", nil),
                ("BEGIN", nil), (delete, deleted), ("COMMIT", nil), ("SELECT count(*) FROM entry", 0),
            ],
            message: "XCTAssertEqual failed: (\"\(total - deleted)\") is not equal to (\"\(total)\")")
        let findings = try #require(try json("explain", bundle)["findings"] as? [[String: Any]])
        let finding = try #require(findings.first { $0["code"] as? String == "unexpected-delete" })
        let count = try #require(finding["rows"] as? [Any]).count
        #expect(finding["rowsOfTransaction"] as? Int == (count < deleted ? deleted : nil))
        #expect((count < deleted) == (deleted == 60))
        let undone = try #require(finding["undone"] as? [String: Any])
        #expect(undone["result"] as? String == "\(total)" && undone["isExpected"] as? Bool == true)
    }
}
