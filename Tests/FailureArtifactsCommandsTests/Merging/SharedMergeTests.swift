import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsZip
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// Bundles that refer to a store of another one.
@Suite struct SharedMergeTests {
    /// Two bundles of one store in a directory of the fixture; the second refers to the first.
    private func twins(
        in directory: String, of fixture: borrowing Fixture
    ) throws -> (holder: String, dependent: String) {
        let store = try fixture.store("CREATE TABLE t(a); INSERT INTO t VALUES (42)")
        let artifacts = ArtifactsDirectory(path: fixture.path(directory))
        try artifacts.prepare()
        let limits = DirectoryLimits(storeBytes: 1 << 20, totalBytes: 1 << 30, bundles: 10)
        let paths = try ["first", "second"].map { name in
            let room = try SpoolRoom(in: artifacts, within: limits)
            defer { artifacts.discard(room.spool) }
            let entry = "stores/\(name).sqlite"
            try FileSystem.write(store, toNewFile: room.spool.path(ofEntry: entry))
            let metadata = BundleMetadata(
                test: .init(framework: "XCTest", suite: "S", name: name), outcome: .failed,
                fingerprint: "0123456789abcdef",
                failures: [.init(message: "m", file: nil, line: nil, kind: .assertion, at: .now)],
                stores: [
                    .init(
                        name: name, entry: entry, storage: .file,
                        capture: .init(method: "fileCopy", consistent: true, duration: 0), bytes: .init()
                    )
                ],
                attachments: [], environment: RunEnvironment.describe(variables: [:]),
                capture: .init(at: .now, duration: 0, limitsHit: []), warnings: [])
            return try artifacts.publish(metadata, from: room.spool, within: limits, sharing: true)
        }
        return (paths[0], paths[1])
    }

    private func answer(_ bundle: String) -> String {
        run("query", bundle, "SELECT a FROM t").output
    }

    private func entries(_ bundle: String) throws -> [String] {
        try ZipArchive(path: bundle).entries.map(\.name)
    }

    @Test func theyAreReadTogether() throws {
        let fixture = try Fixture()
        let (holder, dependent) = try twins(in: "a", of: fixture)
        #expect(try entries(dependent) == ["metadata.json", "README.txt"])
        #expect(answer(dependent) == answer(holder) && answer(dependent).contains("42"))
        #expect(run("show", dependent).output.contains(Path.name(of: holder)))
        #expect(run("verify", fixture.path("a")).status == 0)
        // And the one in the other's zip.
        let outer = try fixture.zip(
            "outer.zip",
            [holder, dependent].map { (Path.name(of: $0), try FileSystem.contents(ofFile: $0)) })
        #expect(answer(outer + "/" + Path.name(of: dependent)).contains("42"))
        #expect(run("verify", outer).status == 0)

        try FileSystem.remove(holder)
        for words in [["verify", dependent], ["query", dependent, "SELECT 1"], ["open", dependent]] {
            let outcome = run(words)
            #expect(outcome.status != 0, "\(words)")
            #expect((outcome.output + outcome.error).contains(Path.name(of: holder)), "\(words)")
        }
    }

    /// Found by `Scripts/fuzz`: what no store has need of was not looked for, but missed after `merge`.
    @Test func whatNoStoreNamesIsLookedForToo() throws {
        let fixture = try Fixture()
        let (_, dependent) = try twins(in: "a", of: fixture)
        let location = BundleLocation(path: dependent)
        var metadata = try BundleReader(location, scratchDirectory: fixture.directory).metadata
        let shared = try #require(metadata.sharedEntries?.first)
        for (entry, isThere) in [(shared.bundleEntry, true), ("stores/none.sqlite", false)] {
            var unnamed = shared
            unnamed.entry = "stores/unnamed.sqlite"
            unnamed.bundleEntry = entry
            metadata.sharedEntries = [shared, unnamed]
            let changed = try fixture.zip(
                "a/changed-\(isThere).zip", [("metadata.json", metadata.json())])
            let outcome = run("verify", changed)
            #expect((outcome.status == 0) == isThere, "\(outcome)")
            #expect(outcome.output.contains("unnamed") != isThere, "\(outcome)")
        }
    }

    @Test func mergedTogetherTheyStayAsTheyAre() throws {
        let fixture = try Fixture()
        let (_, dependent) = try twins(in: "a", of: fixture)
        let output = fixture.path("merged")
        for _ in 0..<2 {
            #expect(run("merge", fixture.path("a"), "-o", output).status == 0)
            let merged = Path.join(output, Path.name(of: dependent))
            #expect(try FileSystem.hasSameContent(File(reading: merged), File(reading: dependent)))
            #expect(run("verify", output).status == 0)
        }
    }

    @Test func mergedAloneItGetsWhatItRefersTo() throws {
        let fixture = try Fixture()
        let (holder, dependent) = try twins(in: "a", of: fixture)
        let output = fixture.path("merged")
        #expect(run("merge", dependent, "-o", output).output.contains("1 added"))
        let merged = Path.join(output, Path.name(of: dependent))
        #expect(try entries(merged) == ["metadata.json", "stores/second.sqlite", "README.txt"])
        #expect(answer(merged).contains("42") && run("verify", output).status == 0)
        #expect(!run("show", merged).output.contains(Path.name(of: holder)))
        // Merging again finds it.
        #expect(run("merge", dependent, "-o", output).output.contains("0 added, 1 there already"))
        // What it refers to is gone: the rest is merged, and it is said.
        try FileSystem.remove(holder)
        let outcome = run("merge", dependent, "-o", fixture.path("other"))
        #expect(outcome.status == 0 && outcome.error.contains(Path.name(of: holder)))
    }

    /// The one it refers to has to get another name.
    @Test func whereANameIsTakenItGetsWhatItRefersTo() throws {
        let fixture = try Fixture()
        let (holder, dependent) = try twins(in: "a", of: fixture)
        try fixture.plain("b/" + Path.name(of: holder))
        let output = fixture.path("merged")
        #expect(run("merge", fixture.path("b"), fixture.path("a"), "-o", output).status == 0)
        let merged = Path.join(output, Path.name(of: dependent))
        #expect(answer(merged).contains("42"))
        #expect(try entries(merged).contains("stores/second.sqlite"))
        #expect(run("verify", output).status == 0)
    }

    @Test func redactedFilesStandAlone() throws {
        let fixture = try Fixture()
        let (_, dependent) = try twins(in: "a", of: fixture)
        let rules = try fixture.write(
            Array("{\"columns\": [{\"table\": \"t\", \"column\": \"a\", \"method\": \"hash\"}]}".utf8),
            to: "rules.json")
        let target = fixture.path("out")
        let outcome = run("extract", dependent, "-o", target, "--redactions", rules)
        guard outcome.status == 0 else {
            Issue.record("\(outcome.error)")
            return
        }
        #expect(FileSystem.regularFile(target + "/stores/second.sqlite") != nil)
        let json = try FileSystem.contents(ofFile: target + "/metadata.json")
        #expect(try BundleMetadata(json: json, of: target).sharedEntries == nil)
    }
}
