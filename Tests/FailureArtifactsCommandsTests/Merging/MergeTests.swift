import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsZip
import Foundation
import Testing

@testable import FailureArtifactsCommands

@Suite("merge") struct MergeTests {
    /// Returns the bytes of all bundles in a directory, sorted by content.
    private func bundles(in directory: String) throws -> [[UInt8]] {
        try names(in: directory).map { try FileSystem.contents(ofFile: Path.join(directory, $0)) }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func names(in directory: String) throws -> [String] {
        try FileSystem.contents(ofDirectory: directory).filter { $0.hasSuffix(".zip") }
    }

    private func page(in directory: String) throws -> String {
        let file = Path.join(directory, "report.html")
        return String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
    }

    /// Writes a bundle of a store.
    ///
    /// `run` is the CI's attempt.
    private func attempt(
        _ path: String, in fixture: borrowing Fixture, run: Int = 1, inProcess: Int = 1,
        fingerprint: String = "a", message: String = "m", rows: String
    ) throws {
        let metadata = Metadata.store("s")
            .replacing("\"attempt\": 1", with: "\"attempt\": \(inProcess)")
            .replacing("\"fingerprint\": \"0\"", with: "\"fingerprint\": \"\(fingerprint)\"")
            .replacing("\"message\": \"m\"", with: "\"message\": \"\(message)\"")
            .replacing(
                "\"GITHUB_RUN_ID\"", with: "\"GITHUB_RUN_ATTEMPT\": \"\(run)\", \"GITHUB_RUN_ID\"")
        let store = try fixture.store(
            "CREATE TABLE fruit(id INTEGER PRIMARY KEY, name, kilos); INSERT INTO fruit VALUES \(rows)")
        try fixture.zip(
            path, [("metadata.json", Array(metadata.utf8)), ("stores/s.sqlite", store)])
    }

    @Test func `Links of the target directory are replaced, and their targets stay unchanged`() throws {
        let fixture = try Fixture()
        try fixture.plain("src/T.t-1a2b3c4d.zip", test: "testA")
        let output = fixture.path("merged")
        try FileSystem.createDirectory(output)
        let victim = fixture.path("victim")
        try FileSystem.write(Array("precious".utf8), toNewFile: victim)
        let page = Path.join(output, "report.html")
        try FileManager.default.createSymbolicLink(atPath: page, withDestinationPath: victim)
        #expect(run("merge", fixture.path("src"), "-o", output).status == 0)
        #expect(try FileSystem.contents(ofFile: victim) == Array("precious".utf8))
        #expect(try FileSystem.statusWithoutFollowing(page)?.kind == .regular)
    }

    @Test func `Nothing is lost, and nothing is there twice`() throws {
        let fixture = try Fixture()
        // There are three contents with one name, and three files with one content.
        for (shard, test) in [("1", "testA"), ("2", "testB"), ("3/deep", "testC")] {
            try fixture.plain("src/\(shard)/T.t-1a2b3c4d.zip", test: test)
            try fixture.plain("src/\(shard)/T.same-00000001.zip", test: "testSame")
        }
        let output = fixture.path("merged")
        let result = run("merge", fixture.path("src"), "-o", output)
        let page = Path.join(output, "report.html")
        #expect(
            result
                == Outcome(
                    status: 0,
                    output: """
                        \(output): 4 bundles, 4 added, 2 of them under another name, 2 there already
                        \(page)

                        """, error: ""))
        var sources: Set<[UInt8]> = []
        for shard in ["1", "2", "3/deep"] {
            sources.formUnion(try bundles(in: fixture.path("src/\(shard)")))
        }
        #expect(Set(try bundles(in: output)) == sources)
        let names = try names(in: output)
        #expect(names.count == 4)
        #expect(names.contains("T.t-1a2b3c4d.zip") && names.contains("T.same-00000001.zip"))
        #expect(names.allSatisfy { $0.wholeMatch(of: #/T\.(t|same)-[0-9a-f]{8}\.zip/#) != nil })
        #expect(
            try FileSystem.contents(ofDirectory: output).filter { $0.hasPrefix(".") } == [".gitignore"])

        // Merging again, also with another bundle, leaves the existing bundles unchanged.
        try fixture.plain("more/T.t-1a2b3c4d.zip", test: "testD")
        let before = try bundles(in: output)
        #expect(
            run("merge", fixture.path("src"), "-o", output).output.contains("0 added, 6 there already"))
        #expect(try bundles(in: output) == before)
        let more = run("merge", "--json", fixture.path("more"), "-o", output)
        #expect(
            more.output
                == "{\"added\":1,\"bundles\":5,\"directory\":\"\(output)\",\"identical\":0,\"renamed\":1,"
                + "\"report\":\"\(page)\"}\n")
        #expect(Set(before).isSubset(of: try bundles(in: output)))
        #expect(run("verify", output).status == 0)
    }

    @Test(arguments: [true, false])
    func `Zips of bundles are merged as they are`(stored: Bool) throws {
        let fixture = try Fixture()
        try fixture.ledger("one.zip")
        try fixture.plain("two.zip")
        try FileSystem.createDirectory(fixture.path("zips"))
        for shard in 1...2 {
            try fixture.pythonZip(
                "zips/shard-\(shard).zip", stored: stored,
                [("x/T.t-00000001.zip", "one.zip"), ("T.t-00000002.zip", "two.zip")])
        }
        let output = fixture.path("merged")
        let result = run("merge", fixture.path("zips"), "-o", output)
        #expect(result.output.hasPrefix("\(output): 2 bundles, 2 added, 2 there already\n"))
        #expect(
            Set(try bundles(in: output))
                == [
                    try FileSystem.contents(ofFile: fixture.path("one.zip")),
                    try FileSystem.contents(ofFile: fixture.path("two.zip")),
                ])
    }

    @Test func `Shards with one cause are no attempts`() throws {
        let fixture = try Fixture()
        for shard in 1...3 {
            try attempt("\(shard)/T.t-00000001.zip", in: fixture, rows: "(\(shard), 'x', 1)")
        }
        let paths = (1...3).map { fixture.path("\($0)") }
        #expect(run(["merge"] + paths + ["-o", fixture.path("merged")]).status == 0)
        let page = try page(in: fixture.path("merged"))
        #expect(page.contains("3 bundles"))
    }

    @Test func `What cannot be read is said, and the others are merged`() throws {
        let fixture = try Fixture()
        try fixture.plain("src/T.good-00000001.zip")
        try fixture.write(Array("PK\u{3}\u{4}nothing".utf8), to: "src/T.bad-00000002.zip")
        let output = fixture.path("merged")
        let result = run("merge", fixture.path("src"), "-o", output)
        #expect(result.status == 65)
        #expect(result.error.contains("T.bad-00000002.zip"))
        #expect(try names(in: output) == ["T.good-00000001.zip"])
        #expect(try page(in: output).contains("Some bundles could not be read"))
        #expect(try FileSystem.contents(ofDirectory: output).filter { $0.hasPrefix(".merging") }.isEmpty)
    }

    @Test func `A directory is not merged into itself, but may hold the result`() throws {
        let fixture = try Fixture()
        try fixture.plain("all/1/T.t-00000001.zip")
        let all = fixture.path("all")
        for path in [all, fixture.path("all/1"), fixture.path("all/1/T.t-00000001.zip")] {
            let result = run("merge", path, "-o", all)
            #expect(result.status == 64)
            #expect(result.error.contains("is in '\(all)' already."))
        }
        let output = fixture.path("all/merged")
        #expect(run("merge", all, "-o", output).output.contains("1 bundle, 1 added\n"))
        #expect(run("merge", all, "-o", output).output.contains("1 bundle, 0 added, 1 there already\n"))
    }

    @Test func `A directory is needed`() throws {
        let fixture = try Fixture()
        let bundle = try fixture.plain("T.t-00000001.zip")
        #expect(run("merge", bundle).error.contains("'merge' needs a directory: -o DIR."))
        #expect(run("merge", bundle, "-o", "").status == 64)
        let file = try fixture.write([1], to: "file")
        #expect(
            run("merge", bundle, "-o", file)
                == Outcome(
                    status: 64, output: "",
                    error:
                        "error: '\(file)' is a file, and the bundles need a directory: choose one with -o.\n"
                ))
        #expect(run("merge", "-o", fixture.path("x")).status == 64)
        #expect(run("merge", fixture.path("none"), "-o", fixture.path("x")).status == 66)
        #expect(run("merge", bundle, "-o", bundle).status != 0)
    }

    @Test(arguments: [
        ("S.t-1a2b3c4d.zip", "S.t-0000002a.zip"), ("S.t.zip", "S.t-0000002a.zip"),
        ("果物-zzzzzzzz.zip", "果物-zzzzzzzz-0000002a.zip"),
    ])
    func `Another name has another random part`(name: String, other: String) {
        #expect(MergeCommand.name(name, with: 42) == other)
    }

    @Test func `A long name stays within the limit`() {
        let name = String(repeating: "果", count: 66) + ".zip"
        #expect(MergeCommand.name(name, with: 42).utf8.count <= 200)
        #expect(MergeCommand.name(name, with: 42).hasSuffix("果-0000002a.zip"))
    }
}
