import FailureArtifactsAnalysis
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsZip
import Foundation
import Testing

@testable import FailureArtifactsCommands

@Suite("prune: what stays and what goes") struct PruneTests {
    /// Writes bundles with the given ages, in hours.
    ///
    /// The newest bundle is 0.zip, but the files' times say the opposite.
    private func bundles(
        _ ages: [Double] = [1, 2, 30, 49, 100], sizes: [Int] = [], in fixture: borrowing Fixture
    ) throws {
        for (number, hours) in ages.enumerated() {
            try bundle(
                "\(number).zip", hours: hours, size: number < sizes.count ? sizes[number] : 0,
                in: fixture)
        }
    }

    @discardableResult
    private func bundle(
        _ name: String, hours: Double, size: Int = 0, at: String? = nil, in fixture: borrowing Fixture
    ) throws -> String {
        let now = Timestamp.now
        let time = Timestamp(seconds: now.seconds - Int64(hours * 3600))
        let metadata = Metadata.plain(test: "test", message: "m")
            .replacing("2026-11-21T07:08:09.123Z", with: at ?? time.description)
            .replacing("2026-11-21T07:08:09.120Z", with: at ?? time.description)
        let filler = (0..<size).map { _ in UInt8.random(in: 0...255) }
        let path = try fixture.zip(
            "b/" + name, [("metadata.json", Array(metadata.utf8)), ("attachments/x", filler)])
        let file = Date(timeIntervalSince1970: Double(now.seconds) - 1000 * 3600 + hours * 3600)
        try FileManager.default.setAttributes([.modificationDate: file], ofItemAtPath: path)
        return path
    }

    /// Returns the names of the remaining files, without the extension.
    private func left(_ fixture: borrowing Fixture) throws -> [String] {
        try FileSystem.contents(ofDirectory: fixture.path("b"))
            .map { $0.hasSuffix(".zip") ? String($0.dropLast(4)) : $0 }
    }

    private func size(_ name: String, _ fixture: borrowing Fixture) throws -> UInt64 {
        try #require(FileSystem.regularFile(fixture.path("b/\(name).zip"))).size
    }

    @Test(arguments: [
        (["--max-bundles", "3"], "012"), (["--max-bundles=0"], ""), (["--max-bundles", "9"], "01234"),
        (["--max-age", "3d"], "0123"), (["--max-age", "48h"], "012"), (["--max-age", "90m"], "0"),
        (["--max-age=1m"], ""), (["--max-total-bytes", "22KB"], "012"),
        (["--max-total-bytes", "50000"], "01234"), (["--max-total-bytes", "100"], ""),
        (["--max-total-bytes", "9KB"], ""),
        (["--max-bundles", "2", "--max-age", "3d"], "01"),
        (["--max-bundles", "4", "--max-age", "31h"], "012"),
        (["--max-bundles", "4", "--max-age", "31h", "--max-total-bytes", "21KB"], "01"),
    ])
    func `The newest stay that are within all limits`(options: [String], expected: String) throws {
        let fixture = try Fixture()
        // The newest bundle is large. An older bundle that would fit isn't kept instead.
        try bundles(sizes: [10_000, 8000, 2000, 100, 100], in: fixture)
        let dry = run(["prune", fixture.path("b"), "--dry-run"] + options)
        #expect(try left(fixture).joined() == "01234")
        let outcome = run(["prune", fixture.path("b")] + options)
        #expect(outcome.status == 0 && outcome.error.isEmpty)
        #expect(try left(fixture).joined() == expected)
        // The dry run prints the same lines except the last. The oldest bundle comes first.
        #expect(
            dry.output.split(separator: "\n").dropLast()
                == outcome.output.split(separator: "\n").dropLast())
        let names = outcome.output.split(separator: "\n").dropLast().map {
            $0.split(separator: "/").last
        }
        #expect(
            names == "01234".filter { !expected.contains($0) }.reversed().map { Substring("\($0).zip") })
        // A second run removes nothing.
        #expect(
            run(["prune", fixture.path("b")] + options).output.hasPrefix(
                "Removed 0 of \(expected.count)"))
    }

    @Test func `What is done is said`() throws {
        let fixture = try Fixture()
        try bundle("old.zip", hours: 0, at: "2020-02-03T04:05:06.789Z", in: fixture)
        try bundle("new.zip", hours: 1, in: fixture)
        try bundle("newest.zip", hours: 0, in: fixture)
        let (old, new) = (try size("old", fixture), try size("new", fixture))
        let directory = fixture.path("b")
        let line = directory + "/old.zip\n"
        let dry = run("prune", directory, "--max-bundles", "2", "--dry-run")
        let rest = Counted.bytes(new + (try size("newest", fixture)))
        #expect(dry.output == line + "Would remove 1 of 3 bundles, \(old) B; kept 2, \(rest).\n")
        func object(_ outcome: Outcome) throws -> NSDictionary {
            #expect(outcome.status == 0)
            return try #require(
                try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? NSDictionary)
        }
        var expected: NSDictionary {
            [
                "removed": ["bundles": 1, "bytes": old],
                "kept": ["bundles": 2, "bytes": new + ((try? size("newest", fixture)) ?? 0)],
                "bundles": [
                    ["bundle": directory + "/old.zip", "bytes": old, "at": "2020-02-03T04:05:06.789Z"]
                ],
                "dryRun": true,
            ]
        }
        #expect(try object(run("prune", directory, "--max-age=1d", "--dry-run", "--json")) == expected)
        #expect(try left(fixture).count == 3)
        let done = try object(run("prune", directory, "--max-age=1d", "--json"))
        #expect(
            done["dryRun"] as? Bool == false
                && done["bundles"] as? NSArray == expected["bundles"] as? NSArray)
        #expect(
            run("prune", directory, "--max-bundles", "1").output
                .hasSuffix(
                    "Removed 1 of 2 bundles, \(new) B; kept 1, \(try size("newest", fixture)) B.\n"))
    }

    @Test func `Without a date of its own the file's time counts`() throws {
        let fixture = try Fixture()
        for (name, hours) in [("a", 5.0), ("b", 50), ("c", 500)] {
            // The file's time is 1000 hours minus this age.
            try bundle("\(name).zip", hours: hours, at: "soon", in: fixture)
        }
        try bundle("d.zip", hours: 700, in: fixture)
        #expect(run("prune", fixture.path("b"), "--max-bundles", "2").status == 0)
        #expect(try left(fixture) == ["c", "d"])
    }

    @Test func `Bundles in folders are counted with the others`() throws {
        let fixture = try Fixture()
        for (number, name) in ["shard 1/0.zip", "shard 2/deep/1.zip", "2.zip", "shard 1/3.zip"]
            .enumerated()
        {
            try bundle(name, hours: Double(number), in: fixture)
        }
        #expect(
            run("prune", fixture.path("b") + "/", "--max-bundles", "2").output.contains("Removed 2 of 4")
        )
        #expect(try left(fixture) == ["shard 1", "shard 2"])
        #expect(try FileSystem.contents(ofDirectory: fixture.path("b/shard 1")) == ["0.zip"])
    }

    @Test func `What is no bundle is left alone`() throws {
        let fixture = try Fixture()
        try bundles(in: fixture)
        let outside = try fixture.plain("outside/other.zip")
        let good = try FileSystem.contents(ofFile: outside)
        try fixture.write(Array(good.dropLast(30)), to: "b/corrupt.zip")
        try fixture.zip("b/outer.zip", [("inner.zip", good)])
        try fixture.zip("b/notes.zip", [("notes.txt", [1])])
        try fixture.zip(
            "b/newer.zip",
            [("metadata.json", Array(Metadata.plain(test: "t", message: "m", version: "\"9.0\"").utf8))])
        for name in ["notes.txt", ".hidden.zip", ".in-flight/x/1.zip", ".stores/note", "report.html"] {
            try fixture.write(good, to: "b/" + name)
        }
        try FileSystem.createDirectory(fixture.path("b/folder.zip"))
        #expect(symlink(outside, fixture.path("b/link.zip")) == 0)
        #expect(symlink(Path.directory(of: outside), fixture.path("b/linked")) == 0)
        let before = try everything(in: fixture.directory)
        let outcome = run("prune", fixture.path("b"), "--max-bundles", "0")
        #expect(outcome.status == 0)
        #expect(
            outcome.output.hasSuffix(
                "Removed 5 of 5 bundles, \(try #require(sizeText(outcome))); kept 0, 0 B.\n"))
        let after = try everything(in: fixture.directory)
        #expect(before.subtracting(after) == Set((0..<5).map { "b/\($0).zip" }))
        #expect(after.subtracting(before).isEmpty)
        for name in ["corrupt", "outer", "notes", "newer"] {
            #expect(
                outcome.error.split(separator: "\n").count {
                    $0.hasPrefix("warning: ") && $0.contains("/\(name).zip")
                        && $0.contains("left as it is")
                } == 1)
        }
        #expect(outcome.error.split(separator: "\n").count == 4)
    }

    private func sizeText(_ outcome: Outcome) -> Substring? {
        outcome.output.split(separator: "bundles, ").last?.split(separator: ";").first
    }

    /// Returns all paths in a directory.
    private func everything(in directory: String) throws -> Set<String> {
        Set(try FileManager.default.subpathsOfDirectory(atPath: directory))
    }

    @Test func `A directory of somebody else's gets no files of ours`() throws {
        let fixture = try Fixture()
        try bundles(in: fixture)
        #expect(run("prune", fixture.path("b"), "--max-bundles", "1").status == 0)
        #expect(try left(fixture) == ["0"])
        #expect(run("prune", fixture.path("b"), "--max-bundles", "0").status == 0)
        #expect(
            run("prune", fixture.path("b"), "--max-age", "1d")
                == Outcome(
                    status: 0, output: "Removed 0 of 0 bundles, 0 B; kept 0, 0 B.\n", error: ""))
    }

    // MARK: What is asked for

    @Test(arguments: [
        ([], "'prune' has to be told what to keep"), (["--dry-run"], "has to be told what to keep"),
        (["--max-bundles", "-1"], "'--max-bundles' needs a whole number of 0 or more, not '-1'."),
        (["--max-bundles", ""], "'--max-bundles' needs a value: --max-bundles N."),
        (["--max-bundles", "1e3"], "a whole number of 0 or more, not '1e3'."),
        (["--max-bundles", "+1"], "a whole number of 0 or more, not '+1'."),
        (
            ["--max-age", "30"],
            "'--max-age' needs an age with its unit, such as 90m, 12h or 30d, not '30'."
        ),
        (["--max-age", "d"], "not 'd'."), (["--max-age", "-1d"], "not '-1d'."),
        (["--max-age", "0d"], "not '0d'."), (["--max-age="], "'--max-age' needs a value"),
        (
            ["--max-total-bytes", "1XB"],
            "'--max-total-bytes' needs a size such as 500000, 64KB or 20MB, not '1XB'."
        ),
        (["--max-total-bytes", ""], "'--max-total-bytes' needs a value"),
        (["--max-total-bytes", "1.5"], "not '1.5'."), (["--max-total-bytes", "-5"], "not '-5'."),
        (["--max-total-bytes", "99999999TB"], "not '99999999TB'."),
    ])
    func `What makes no sense is refused`(options: [String], text: String) throws {
        let fixture = try Fixture()
        try bundles(in: fixture)
        let outcome = run(["prune", fixture.path("b")] + options)
        #expect(outcome.status == 64 && outcome.output.isEmpty && outcome.error.contains(text))
        #expect(try left(fixture).count == 5)
    }

    @Test func `A directory is needed`() throws {
        let fixture = try Fixture()
        let file = try fixture.plain("a.zip")
        let nowhere = fixture.path("nowhere")
        let next = " Give the directory that holds the bundles.\n"
        #expect(
            run("prune", nowhere, "--max-bundles", "0")
                == Outcome(
                    status: 66, output: "", error: "error: There is no directory '\(nowhere)'." + next))
        #expect(
            run("prune", file, "--max-bundles", "0")
                == Outcome(status: 66, output: "", error: "error: '\(file)' is not a directory." + next))
        #expect(FileSystem.regularFile(file) != nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("500000000", 500_000_000), ("64KB", 65_536), ("64 kb", 65_536),
            ("500MB", 524_288_000),
            ("2G", 2_147_483_648), ("2GiB", 2_147_483_648), ("1.5GB", 1_610_612_736), ("3TB", 3 << 40),
            ("7B", 7), ("18446744073709551615", UInt64.max), ("18446744073709551616", nil),
            ("16777216TB", nil),
            ("1.5B", nil), ("1.2.3K", nil), (".5K", nil), ("5.K", nil), ("K", nil), ("1KK", nil),
            ("٣", nil),
            ("16777216.5TB", nil), ("1  KB", nil), (" 1", nil),
        ] as [(String, UInt64?)])
    func `Sizes are read`(text: String, bytes: UInt64?) {
        #expect(SizeText.bytes(text) == bytes)
    }

    @Test(
        arguments: [
            ("90m", 5400), ("12h", 43_200), ("3d", 259_200), ("1.5d", 129_600), ("90s", 90),
            ("1h30m", 5400),
            ("90", nil), ("2026", nil), ("d", nil), ("1dd", nil), ("", nil),
        ] as [(String, Double?)])
    func `Ages are read`(text: String, seconds: Double?) {
        #expect(DurationText.age(text) == seconds)
    }
}
