import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsZip
import Foundation
import Testing

@Suite struct BundleLocatorTests {
    /// Calls a closure with a directory that contains bundles and other files.
    ///
    /// It has `one-11111111.zip`, `two-22222222.zip`, a hidden bundle, and `outer.zip` with the first two.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-locator-")
        defer { try? FileSystem.remove(folder) }
        for name in ["in/one-11111111.zip", "in/deep/two-22222222.zip", "in/.hidden/three-33333333.zip"]
        {
            let path = Path.join(folder, name)
            try FileSystem.createDirectory(Path.directory(of: path))
            try zip(path, ["metadata.json": Array("{}".utf8)])
        }
        try zip(
            Path.join(folder, "outer.zip"),
            [
                "shard/one-11111111.zip": try FileSystem.contents(
                    ofFile: folder + "/in/one-11111111.zip"),
                "two-22222222.zip": try FileSystem.contents(
                    ofFile: folder + "/in/deep/two-22222222.zip"),
                ".in-flight/x.zip": [1], "junit.xml": [1],
            ])
        try body(folder)
    }

    private func zip(_ path: String, _ entries: [String: [UInt8]]) throws {
        var writer = try ZipWriter(creating: path)
        for (name, bytes) in entries.sorted(by: { $0.key < $1.key }) {
            try writer.addEntry(named: name, bytes: bytes, modified: Timestamp(seconds: 1_700_000_000))
        }
        try writer.finish()
    }

    @Test func bundlesAreFoundInDirectoriesAndZips() throws {
        try withFolder { (folder) throws in
            #expect(
                try BundleLocator.findings(at: folder + "/in").map(\.location.description)
                    == [folder + "/in/deep/two-22222222.zip", folder + "/in/one-11111111.zip"])
            // A zip of bundles in a directory counts as the bundles inside it.
            #expect(try BundleLocator.findings(at: folder).count == 4)
            #expect(
                try BundleLocator.findings(at: folder + "/outer.zip").map(\.location.inner)
                    == ["shard/one-11111111.zip", "two-22222222.zip"])
            #expect(
                try BundleLocator.findings(at: folder + "/in/one-11111111.zip").map(\.location)
                    == [BundleLocation(path: folder + "/in/one-11111111.zip")])
        }
    }

    @Test(arguments: [
        ("/outer.zip/shard/one-11111111.zip", "/outer.zip/shard/one-11111111.zip"),
        ("/outer.zip/one-11111111.zip", "/outer.zip/shard/one-11111111.zip"),
        ("/outer.zip/2222", "/outer.zip/two-22222222.zip"),
        ("/in/1111", "/in/one-11111111.zip"), ("/in/one-1", "/in/one-11111111.zip"),
        ("/in/deep", "/in/deep/two-22222222.zip"),
    ])
    func partOfANameFindsOneBundle(_ path: String, _ expected: String) throws {
        try withFolder { (folder) throws in
            #expect(try BundleLocator.single(at: folder + path).description == folder + expected)
        }
    }

    @Test(arguments: [
        ("/in/nope", BundleError.Reason.notFound), ("/in/111", .notFound),
        ("/outer.zip/nope", .notFound),
        ("/in/one-11111111.zip/x.zip", .notFound), ("/no/no/no.zip", .notFound), ("/in/3333", .notFound),
    ])
    func pathWithoutABundleIsAnError(_ path: String, _ reason: BundleError.Reason) throws {
        try withFolder { (folder) throws in
            let error = #expect(throws: BundleError.self) { try BundleLocator.single(at: folder + path) }
            #expect(error?.reason == reason)
        }
    }

    @Test func severalBundlesAreAmbiguous() throws {
        try withFolder { (folder) throws in
            let error = #expect(throws: BundleError.self) {
                try BundleLocator.single(at: folder + "/outer.zip/.zip")
            }
            #expect(
                error?.reason
                    == .ambiguous([
                        folder + "/outer.zip/shard/one-11111111.zip",
                        folder + "/outer.zip/two-22222222.zip",
                    ]))
        }
    }

    @Test func directoriesThatContainThemselvesEnd() throws {
        try withFolder { (folder) throws in
            #expect(symlink(folder + "/in", folder + "/in/deep/again") == 0)
            #expect(try BundleLocator.findings(at: folder + "/in").count == 2)
        }
    }
}
