import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite("report")
struct ReportTests {
    /// Writes bundles of several causes.
    ///
    /// Each element of `causes` is a fingerprint.
    private func plain(_ causes: [String], in fixture: borrowing Fixture, folder: String = "bundles")
        throws
    {
        for (number, cause) in causes.enumerated() {
            let metadata = Metadata.plain(test: "test\(cause)", message: "message \(cause)")
                .replacing("\"fingerprint\": \"0\"", with: "\"fingerprint\": \"\(cause)\"")
            try fixture.zip(
                "\(folder)/T.t-0000000\(number).zip", [("metadata.json", Array(metadata.utf8))])
        }
    }

    private func page(_ fixture: borrowing Fixture) throws -> String {
        String(decoding: try FileSystem.contents(ofFile: fixture.path("page.html")), as: UTF8.self)
    }

    @Test func `A page is written, over an older one, and its path is the result`() throws {
        let fixture = try Fixture()
        try fixture.ledger()
        let file = try fixture.write(Array("older".utf8), to: "page.html")
        let result = run("report", fixture.path("LedgerTests.testTransfer-1a2b3c4d.zip"), "-o", file)
        #expect(result == Outcome(status: 0, output: file + "\n", error: ""))
        let page = try page(fixture)
        #expect(page.hasPrefix("<!DOCTYPE html>"))
        #expect(page.hasSuffix("</html>\n"))
        for text in [
            "LedgerTests.testTransfer", "the money is gone", "Tests/LedgerTests.swift:42", "チェッキング",
            "The store &#39;vanished&#39; was not copied.", "attachments/request.txt",
            "The file was removed before the failure.", "Not committed at the failure",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(
            try FileSystem.contents(ofDirectory: fixture.directory).filter { $0.hasPrefix(".") }.isEmpty)
    }

    @Test func `ReportedBundles of one cause are one failure`() throws {
        let fixture = try Fixture()
        try plain(["a", "b", "b", "c", "b"], in: fixture)
        let result = run("report", fixture.path("bundles"), "-o", fixture.path("page.html"))
        #expect(result.status == 0)
        let page = try page(fixture)
        #expect(page.ranges(of: "<details class=\"failure\"").count == 3)
        #expect(page.contains("5 failed tests with 3 causes"))
        #expect(page.contains("<h2>PlainTests.testb</h2><span class=\"count\">3 occurrences</span>"))
        // The most frequent cause comes first.
        let first = try #require(page.firstRange(of: "<h2>PlainTests."))
        #expect(page[first.upperBound...].hasPrefix("testb"))
    }

    @Test(arguments: [
        ("07:08:09.500Z", "500 ms later"), ("07:08:11.000Z", "2 s later"),
        ("07:18:09.000Z", "10 min later"),
        ("10:08:09.000Z", "3 h later"),
    ])
    func `The time between the failures is said in a unit that fits`(end: String, text: String) throws {
        let fixture = try Fixture()
        for (number, time) in ["07:08:09.000Z", end].enumerated() {
            let metadata = Metadata.plain(test: "testA", message: "m")
                .replacing("2026-11-21T07:08:09.123Z", with: "2026-11-21T" + time)
            try fixture.zip(
                "bundles/T.t-0000000\(number).zip", [("metadata.json", Array(metadata.utf8))])
        }
        #expect(run("report", fixture.path("bundles"), "-o", fixture.path("page.html")).status == 0)
        #expect(try page(fixture).contains(">\(text)<"))
    }

    @Test func `The zips of shards are read as they are`() throws {
        let fixture = try Fixture()
        for shard in 1...3 {
            try plain(["a", "b"], in: fixture, folder: "shard\(shard)")
            try fixture.pythonZip(
                "shard-\(shard).zip", stored: shard == 1,
                [
                    ("T.t-00000000.zip", "shard\(shard)/T.t-00000000.zip"),
                    ("x/T.t-00000001.zip", "shard\(shard)/T.t-00000001.zip"),
                ])
        }
        let result = run(
            ["report"] + (1...3).map { fixture.path("shard-\($0).zip") } + [
                "-o", fixture.path("page.html"),
            ])
        #expect(result.status == 0, "\(result.error)")
        let page = try page(fixture)
        #expect(page.ranges(of: "<details class=\"failure\"").count == 2)
        #expect(page.ranges(of: "3 occurrences").count >= 2)
        for shard in 1...3 { #expect(page.contains("<td>shard-\(shard).zip</td>")) }
    }

    @Test func `What each transaction changed is there cell by cell`() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(
            uncommitted: "UPDATE account SET balance = 'all' WHERE id = 1")
        #expect(run("report", bundle, "-o", fixture.path("page.html")).status == 0)
        let page = try page(fixture)
        for text in [
            "Transaction 1 <span class=\"dim\">account: 1 inserted, 1 updated</span>",
            "<b>balance</b> <del>10</del> → <ins>5</ins>", "<b>name</b> <ins>&#39;c&#39;</ins>",
            "Transaction 2 <span class=\"dim\">entry: 2 inserted; table entry added; user_version 0 → 4</span>",
            "<b>name</b> <del>&#39;b&#39;</del>",
            "<b>balance</b> <del>5</del> → <ins>&#39;all&#39;</ins>",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(page.ranges(of: "<summary>Transaction ").count == 3)
    }

    @Test func `Large tables are cut, and the page says so`() throws {
        let fixture = try Fixture()
        let store = try fixture.store(
            """
            CREATE TABLE large(id INTEGER PRIMARY KEY, text);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
            INSERT INTO large SELECT i, hex(randomblob(200)) FROM n;
            CREATE TABLE small(id); INSERT INTO small VALUES (1);
            """)
        let bundle = try fixture.zip(
            "T.t-00000000.zip",
            [("metadata.json", Array(Metadata.store("s").utf8)), ("stores/s.sqlite", store)])
        #expect(run("report", bundle, "-o", fixture.path("page.html")).status == 0)
        let page = try page(fixture)
        #expect(page.utf8.count < 1 << 20)
        #expect(page.contains(" of 60,000 rows are on this page"))
        #expect(page.contains("\"rows\":[[1]]"))
    }

    @Test func `Damage of one bundle is said, and the others are on the page`() throws {
        let fixture = try Fixture()
        try plain(["a"], in: fixture)
        var store = try fixture.store(Metadata.ledgerSQL)
        for index in 4096..<store.count { store[index] = 0x5A }
        try fixture.zip(
            "bundles/T.damaged-00000009.zip",
            [("metadata.json", Array(Metadata.store("s").utf8)), ("stores/s.sqlite", store)])
        try fixture.write(Array("PK\u{3}\u{4}nothing".utf8), to: "bundles/T.t-0000000f.zip")
        let result = run("report", fixture.path("bundles"), "-o", fixture.path("page.html"))
        #expect(result.status == 65)
        #expect(result.error.contains("T.t-0000000f.zip"))
        let page = try page(fixture)
        #expect(page.contains("PlainTests.testa"))
        #expect(page.contains("Some bundles could not be read"))
        #expect(page.contains("malformed") || page.contains("cannot be read"))
    }

    @Test func `What cannot work is said in a sentence`() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        #expect(run("report").status == 64)
        #expect(run("report", bundle, "-o", "").status == 64)
        #expect(run("report", fixture.path("none")).status == 66)
        let result = run("report", bundle, "-o", fixture.path("none/page.html"))
        #expect(result.status == 74)
        #expect(result.error.contains("none"))
        let output = run("report", bundle, "-o", "-")
        #expect(output.status == 0 && output.output.hasPrefix("<!DOCTYPE html>"))
    }
}
