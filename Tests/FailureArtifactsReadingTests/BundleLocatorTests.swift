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

    /// A CI's client unpacks each artifact into a directory of its own.
    @Test(arguments: ["two-", "22222222", "two-22222222.zip"])
    func aPartOfANameIsFoundInDirectoriesBelow(_ part: String) throws {
        try withFolder { (folder) throws in
            #expect(
                try BundleLocator.single(at: "\(folder)/in/\(part)").path == folder
                    + "/in/deep/two-22222222.zip")
            #expect(throws: BundleError.self) { try BundleLocator.single(at: folder + "/in/33333333") }
        }
    }

    @Test func bundlesAreFoundInDirectoriesAndZips() throws {
        try withFolder { (folder) throws in
            #expect(
                try BundleLocator.found(at: folder + "/in").map(\.location.description)
                    == [folder + "/in/deep/two-22222222.zip", folder + "/in/one-11111111.zip"])
            // A zip of bundles in a directory counts as the bundles inside it.
            #expect(try BundleLocator.found(at: folder).count == 4)
            #expect(
                try BundleLocator.found(at: folder + "/outer.zip").map(\.location.inner)
                    == ["shard/one-11111111.zip", "two-22222222.zip"])
            #expect(
                try BundleLocator.found(at: folder + "/in/one-11111111.zip").map(\.location)
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
        ("/in", "nope"), ("/in", "111"), ("/in", "3333"), ("/outer.zip", "nope"),
    ])
    func partThatNoNameHasIsAnError(_ container: String, _ part: String) throws {
        try withFolder { (folder) throws in
            let error = #expect(throws: BundleError.self) {
                try BundleLocator.single(at: folder + container + "/" + part)
            }
            #expect(error?.reason == .noMatch(part, in: folder + container))
        }
    }

    @Test(arguments: ["/in/one-11111111.zip/x.zip", "/no/nope", "/in/nope.zip", "/outer.zip/nope.zip"])
    func pathWithoutABundleIsAnError(_ path: String) throws {
        try withFolder { (folder) throws in
            let error = #expect(throws: BundleError.self) { try BundleLocator.single(at: folder + path) }
            #expect(error?.reason == .notFound)
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

    /// Calls a closure with a directory and a zip that contain one failure and two passing runs.
    private func withPassingRuns(_ body: (String) throws -> Void) throws {
        let folder = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-locator-")
        defer { try? FileSystem.remove(folder) }
        try FileSystem.createDirectory(folder + "/in")
        let names = [
            "Todo.archive-c8ab5151.zip", "Todo.archive-passed-1bdea9cf.zip",
            "Todo.list-passed-2bdea9cf.zip",
        ]
        for name in names {
            try zip(folder + "/in/" + name, ["metadata.json": Array("{}".utf8)])
        }
        try zip(
            folder + "/outer.zip",
            Dictionary(
                uniqueKeysWithValues: try names.map {
                    ($0, try FileSystem.contents(ofFile: folder + "/in/" + $0))
                }))
        try body(folder)
    }

    @Test(arguments: [
        ("/archive", "Todo.archive-c8ab5151.zip"), ("/Todo", "Todo.archive-c8ab5151.zip"),
        ("", "Todo.archive-c8ab5151.zip"), ("/archive-passed", "Todo.archive-passed-1bdea9cf.zip"),
        ("/1bdea9cf", "Todo.archive-passed-1bdea9cf.zip"),
    ])
    func theOnlyFailureIsMeant(_ part: String, _ expected: String) throws {
        try withPassingRuns { (folder) throws in
            for container in ["/in", "/outer.zip"] {
                let path = folder + container
                let bundle = try BundleLocator.single(at: path + part)
                #expect(bundle.description == path + "/" + expected)
            }
        }
    }

    @Test func severalPassingRunsAreAmbiguous() throws {
        try withPassingRuns { (folder) throws in
            let error = #expect(throws: BundleError.self) {
                try BundleLocator.single(at: folder + "/in/-passed-")
            }
            guard case .ambiguous = error?.reason else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test(arguments: [
        ("/in", 3), ("/outer.zip", 3), ("/in/archive", 2), ("/outer.zip/archive", 2), ("/in/c8ab", 1),
    ])
    func allBundlesWithAPartOfTheNameAreFound(_ path: String, _ count: Int) throws {
        try withPassingRuns { (folder) throws in
            #expect(try BundleLocator.bundles(at: folder + path).count == count)
        }
    }

    @Test func directoriesThatContainThemselvesEnd() throws {
        try withFolder { (folder) throws in
            #expect(symlink(folder + "/in", folder + "/in/deep/again") == 0)
            #expect(try BundleLocator.found(at: folder + "/in").count == 2)
        }
    }
}
