import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
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
            "LedgerTests.testTransfer", "the money is gone", "Tests/LedgerTests.swift:42",
            "The store &#39;vanished&#39; was not copied.", "attachments/request.txt",
            "The file was removed before the failure.",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(
            try FileSystem.contents(ofDirectory: fixture.directory).filter { $0.hasPrefix(".") }.isEmpty)
    }

    @Test func `Databases of frameworks are listed, with the reason`() throws {
        let fixture = try Fixture()
        try plain(["a"], in: fixture)
        #expect(run("report", fixture.path("bundles"), "-o", fixture.path("page.html")).status == 0)
        #expect(!(try page(fixture)).contains("not captured"))
        let metadata = Metadata.plain(test: "testB", message: "m").replacing(
            "\"stores\": []",
            with: """
                "stores": [], "otherStores": [
                {"path": "~/Caches/<b>/Cache.db", "reason": "It belongs to URLSession."},
                {"path": "/tmp/Cookies.db", "reason": "It belongs to WebKit."}]
                """)
        try fixture.zip("bundles/T.t-00000001.zip", [("metadata.json", Array(metadata.utf8))])
        #expect(
            run("report", fixture.path("bundles/T.t-00000001.zip"), "-o", fixture.path("page.html"))
                .status == 0)
        let page = try page(fixture)
        let part = try #require(page.firstRange(of: "<h3>2 other stores not captured</h3>"))
        // It is closed, among the last parts.
        #expect(page[..<part.lowerBound].hasSuffix("<details class=\"part\"><summary>"))
        #expect(
            page[part.upperBound...].contains(
                "<li><code>~/Caches/&lt;b&gt;/Cache.db</code> <span class=\"dim\">It belongs to URLSession.</span></li>"
            ))
        #expect(page[part.upperBound...].contains("<h3>Environment</h3>"))
    }

    @Test func `ReportedBundles of one cause are one failure`() throws {
        let fixture = try Fixture()
        try plain(["a", "b", "b", "c", "b"], in: fixture)
        let result = run("report", fixture.path("bundles"), "-o", fixture.path("page.html"))
        #expect(result.status == 0)
        let page = try page(fixture)
        #expect(page.ranges(of: "<article class=\"failure\"").count == 3)
        #expect(page.contains("5 failed tests with 3 causes"))
        // The most frequent cause comes first.
        let first = try #require(page.firstRange(of: "<h2 id=\"f1-title\">PlainTests."))
        #expect(page[first.upperBound...].hasPrefix("testb</h2><p class=\"place\">"))
        #expect(page[first.upperBound...].prefix(200).contains("3 bundles"))
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
        #expect(page.ranges(of: "<article class=\"failure\"").count == 2)
        #expect(page.ranges(of: "3 bundles").count >= 2)
        for shard in 1...3 { #expect(page.contains("<td>shard-\(shard).zip</td>")) }
    }

    @Test func `A store with very many tables is cut, and the page says so`() throws {
        let fixture = try Fixture()
        let sql = (1...203).map { "CREATE TABLE t\($0)(a);" }.joined()
        let bundle = try fixture.zip(
            "T.t-00000000.zip",
            [
                ("metadata.json", Array(Metadata.store("s").utf8)),
                ("stores/s.sqlite", try fixture.store(sql)),
            ])
        // Neither a very large page nor a very small one is an error.
        for size in ["1", "8000000000GB"] {
            let result = run(
                "report", bundle, "-o", fixture.path("page.html"), "--max-bytes", size)
            #expect(result.status == 0, "\(size): \(result.error)")
            #expect(try page(fixture).contains("3 more tables not shown here"), "\(size)")
        }
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

    private func permissions(_ path: String) throws -> UInt16? {
        try FileSystem.status(of: path)?.permissions
    }

    @Test(arguments: [("", 0o600), ("group", 0o640), ("everyone", 0o644)] as [(String, UInt16)])
    func `By default the page is beside the bundles, for those who may read them`(
        readers: String, expected: UInt16
    ) throws {
        let fixture = try Fixture()
        try plain(["a"], in: fixture)
        let download = try fixture.pythonZip(
            "down load.zip", stored: true, [("T.t-00000000.zip", "bundles/T.t-00000000.zip")])
        let bundle = fixture.path("bundles/T.t-00000000.zip")
        let environment = ["FAILURE_ARTIFACTS_READABLE_BY": readers]
        for (path, page) in [
            (fixture.path("bundles"), fixture.path("bundles/report.html")),
            (fixture.path("bundles/00000000"), fixture.path("bundles/report.html")),
            (bundle, fixture.path("bundles/T.t-00000000.report.html")),
            (download, fixture.path("down load.report.html")),
            (download + "/00000000", fixture.path("down load.report.html")),
        ] {
            // An older page of others is replaced, and so is a link.
            try? FileSystem.remove(page)
            let target = try fixture.write([], to: "target-\(UInt32.random(in: 0 ... .max))")
            #expect(symlink(target, page) == 0)
            let result = run(["report", path], environment: environment)
            #expect(result == Outcome(status: 0, output: page + "\n", error: ""))
            #expect(try permissions(page) == expected)
            #expect(try FileSystem.contents(ofFile: target).isEmpty)
            #expect(try FileSystem.contents(ofFile: page).starts(with: Array("<!DOCTYPE".utf8)))
        }
        let chosen = fixture.path("page.html")
        #expect(run(["report", bundle, "-o", chosen], environment: environment).status == 0)
        #expect(try permissions(chosen) == 0o644)
        let merged = fixture.path("merged")
        #expect(run(["merge", bundle, "-o", merged], environment: environment).status == 0)
        #expect(try permissions(merged + "/report.html") == expected)
    }

    @Test func `What cannot work is said in a sentence`() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        #expect(run("report", bundle, "-o", "").status == 64)
        #expect(run("report", fixture.path("none")).status == 66)
        let output = run("report", bundle, "-o", "-")
        #expect(output.status == 0 && output.output.hasPrefix("<!DOCTYPE html>"))
    }
}
