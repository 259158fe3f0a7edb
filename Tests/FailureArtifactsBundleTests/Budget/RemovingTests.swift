import FailureArtifactsReading
import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The removal of bundles while other processes may make new ones.
@Suite struct RemovingTests {
    private let limits = DirectoryLimits(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 4)

    private func file(_ bundle: BundleReader) throws -> ArtifactsDirectory.BundleFile {
        let status = try #require(FileSystem.regularFile(bundle.location.path))
        return .init(name: bundle.location.name, identity: status.identity)
    }

    private func size(of bundle: BundleReader) throws -> UInt64 {
        try #require(FileSystem.regularFile(bundle.location.path)).size
    }

    private func remove(
        _ bundles: BundleReader..., from place: borrowing Place
    ) throws -> [ArtifactsDirectory.Removal] {
        try place.directory.removeBundles(bundles.map { try file($0) })
    }

    @Test func thereIsRoomForAsManyAgain() throws {
        let place = try Place()
        let bundles = try (0..<4).map { _ in try place.publish(noise(1000), limits: limits) }
        #expect(throws: LimitReached.self) { try place.publish(noise(1000), limits: limits) }
        let sizes = try bundles.map { try size(of: $0) }
        let removals = try remove(bundles[0], bundles[2], from: place)
        #expect(removals == [.removed(sizes[0]), .removed(sizes[2])])
        for _ in 0..<2 { try place.publish(noise(1000), limits: limits) }
        #expect(throws: LimitReached.self) { try place.publish(noise(1000), limits: limits) }
    }

    @Test func nobodysCaptureIsLost() throws {
        let place = try Place()
        let bundle = try place.publish(noise(1000), limits: limits)
        var room = try StagingRoom(in: place.directory, within: limits)
        let hasRoom = room.take(5000)
        #expect(hasRoom)
        _ = try remove(bundle, from: place)
        #expect(try place.bundles.count == 0)
        #expect(room.staging.bundleName == nil && place.directory.stagingDirectories.count == 1)
        place.directory.discard(room.staging)
    }

    @Test func whatIsNotTheSameStays() throws {
        let place = try Place()
        let bundles = try (0..<3).map { _ in try place.publish(noise(1000), limits: limits) }
        let files = try bundles.map { try file($0) }
        // Replace one bundle with another file, and remove the next.
        try FileSystem.copy(bundles[1].location.path, toNewFile: place.root + "/other")
        try FileSystem.rename(place.root + "/other", to: bundles[0].location.path)
        try FileSystem.remove(bundles[1].location.path)
        let size = try size(of: bundles[2])
        #expect(try place.directory.removeBundles(files) == [.gone, .gone, .removed(size)])
        #expect(try place.bundles == [files[0].name])
        // A directory with a bundle's name is not removed.
        try FileSystem.remove(bundles[0].location.path)
        try FileSystem.createDirectory(bundles[0].location.path + "/inside")
        #expect(try place.directory.removeBundles([files[0]]) == [.gone])
        #expect(try FileSystem.status(of: bundles[0].location.path + "/inside") != nil)
    }

    /// If the process died now, crash recovery would make the bundle again.
    @Test func aBundleWhoseMakerIsNotDoneWithItStays() throws {
        let place = try Place()
        let room = try StagingRoom(in: place.directory, within: limits)
        let (path, _) = try place.directory.publish(
            place.metadata([]), from: room.staging, within: limits)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: place.root)
        #expect(try remove(bundle, from: place) == [.inUse])
        place.directory.discard(room.staging)
        let size = try size(of: bundle)
        #expect(try remove(bundle, from: place) == [.removed(size)])
    }

    /// The last capture removes the directory if it contains no bundles.
    @Test func aDirectoryThatIsGoneHasNoBundles() throws {
        let place = try Place()
        let bundle = try place.publish(noise(1000), limits: limits)
        let file = try file(bundle)
        let room = try StagingRoom(in: place.directory, within: limits)
        #expect(try remove(bundle, from: place).count == 1)
        place.directory.discard(room.staging)
        try #require(FileSystem.status(of: place.root) == nil)
        #expect(try place.directory.removeBundles([file]) == [.gone])
        #expect(try FileSystem.status(of: place.root) == nil)
    }

    @Test func bundlesAreRemovedWhileOthersAreMade() throws {
        let place = try Place()
        let (directory, root) = (place.directory, place.root)
        // This file keeps the directory from being removed while it has no bundles: the threads list it.
        try FileSystem.write([], toNewFile: Path.join(root, "notes.txt"))
        let limits = DirectoryLimits(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 1000)
        let metadata = place.metadata(["stores/a.sqlite"])
        let removed = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            do {
                for _ in 0..<40 {
                    let room = try StagingRoom(in: directory, within: limits)
                    try FileSystem.write(
                        noise(30_000), toNewFile: room.staging.path(ofEntry: "stores/a.sqlite"))
                    _ = try directory.publish(metadata, from: room.staging, within: limits)
                    directory.discard(room.staging)
                    let names = try FileSystem.contents(ofDirectory: root)
                    let files: [ArtifactsDirectory.BundleFile] = names.compactMap { name in
                        guard name.hasSuffix(".zip"),
                            let status = FileSystem.regularFile(Path.join(root, name))
                        else { return nil }
                        return .init(name: name, identity: status.identity)
                    }
                    let removals = try directory.removeBundles(files)
                    let count = removals.count { if case .removed = $0 { true } else { false } }
                    removed.withLock { $0 += count }
                }
            } catch {
                Issue.record(error)
            }
        }
        // Each bundle still exists, or was removed exactly once.
        #expect(try removed.withLock(\.self) + place.bundles.count == 160)
    }
}
