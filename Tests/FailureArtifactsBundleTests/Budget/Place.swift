import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

/// A temporary artifacts directory, and helpers to make bundles in it.
struct Place: ~Copyable {
    let root: String
    let directory: ArtifactsDirectory
    let test = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")

    init(lockPatience: Double = 5) throws {
        root = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "budget-")
        directory = ArtifactsDirectory(path: root, lockPatience: lockPatience)
    }

    deinit { try? FileSystem.remove(root) }

    /// The path of the lock's file.
    var lockFile: String { Path.join(root, DirectoryLock.fileName) }

    /// The metadata of a bundle with these entries as its stores.
    func metadata(_ entries: [String]) -> BundleMetadata {
        BundleMetadata(
            test: test, outcome: .failed, fingerprint: "0",
            failures: [.init(message: "m", file: nil, line: nil, kind: .assertion, at: .now)],
            stores: entries.map { entry in
                .init(
                    name: Path.stem(of: Path.name(of: entry)), entry: entry, storage: .file,
                    capture: .init(method: "fileCopy", consistent: true, duration: 0), bytes: .init())
            },
            attachments: [], environment: RunEnvironment.describe(variables: [:]),
            capture: .init(at: .now, duration: 0, limitsHit: []), warnings: [])
    }

    /// Makes a bundle of one store.
    @discardableResult
    func publish(
        _ content: [UInt8], as entry: String = "stores/a.sqlite", limits: DirectoryLimits
    ) throws -> BundleReader {
        var room = try StagingRoom(in: directory, within: limits)
        defer { directory.discard(room.staging) }
        guard room.take(UInt64(content.count)) else { throw NoRoom(limit: room.limit) }
        try FileSystem.write(content, toNewFile: room.staging.path(ofEntry: entry))
        let (path, _) = try directory.publish(metadata([entry]), from: room.staging, within: limits)
        return try BundleReader(BundleLocation(path: path), scratchDirectory: root)
    }

    var bundles: [String] {
        get throws { try FileSystem.contents(ofDirectory: root).filter { $0.hasSuffix(".zip") } }
    }
}

struct NoRoom: Error {
    let limit: DirectoryLimits.Limit
}

/// Makes bytes that deflate can't compress.
func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
    }
}
