import FailureArtifactsReading
import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// Bundles that are removed while others may be made.
@Suite struct RemovingTests {
    private let limits = DirectoryLimits(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 4)

    private func file(_ bundle: BundleReader) throws -> ArtifactsDirectory.BundleFile {
        let status = try #require(FileSystem.regularFile(bundle.location.path))
        return .init(name: bundle.location.name, identity: status.identity)
    }

    private func remove(
        _ bundles: BundleReader..., from place: borrowing Place, except needed: Set<String> = []
    ) throws -> [ArtifactsDirectory.Removal] {
        try place.directory.removeBundles(bundles.map { try file($0) }) { _ in needed }
    }

    @Test func thereIsRoomForAsManyAgain() throws {
        let place = try Place()
        let bundles = try (0..<4).map { _ in try place.publish(noise(1000), limits: limits) }
        #expect(throws: LimitReached.self) { try place.publish(noise(1000), limits: limits) }
        let sizes = try bundles.map { bundle throws(BundleError) in try bundle.location.size() }
        let removals = try remove(bundles[0], bundles[2], from: place)
        #expect(removals == [.removed(sizes[0]), .removed(sizes[2])])
        // The numbers are right without a look at the directory, and still those of when it was listed.
        let found = place.account
        let account = try #require(found)
        #expect(account.bundles == 2 && account.bundleBytes == sizes[1] + sizes[3])
        let changed = try FileSystem.status(of: place.root)?.modified
        #expect(account.listed == changed.map { UInt64($0) })
        for _ in 0..<2 { try place.publish(noise(1000), limits: limits) }
        #expect(throws: LimitReached.self) { try place.publish(noise(1000), limits: limits) }
        try place.check()
    }

    @Test func nobodysCaptureIsLost() throws {
        let place = try Place()
        let bundle = try place.publish(noise(1000), limits: limits)
        let room = try SpoolRoom(in: place.directory, within: limits)
        #expect(room.take(5000))
        _ = try remove(bundle, from: place)
        #expect(place.account?.bundles == 0 && place.account?.captures == 1)
        try place.check()
        place.directory.discard(room.spool)
    }

    @Test func whatWasNeverCountedIsNotTakenOff() throws {
        let place = try Place()
        try place.publish(noise(1000), limits: limits)
        let other = try place.publish(noise(1000), limits: limits)
        let path = Path.join(place.root, "A.ZIP")
        try FileSystem.rename(other.location.path, to: path)
        place.directory.recount()
        let moved = try BundleReader(BundleLocation(path: path), scratchDirectory: place.root)
        let size = try moved.location.size()
        #expect(try remove(moved, from: place) == [.removed(size)])
        #expect(place.account?.bundles == 1)
        try place.check()
    }

    @Test func whatIsNotTheSameOrIsNeededStays() throws {
        let place = try Place()
        let bundles = try (0..<3).map { _ in try place.publish(noise(1000), limits: limits) }
        let files = try bundles.map { try file($0) }
        // Another file in its place, and nothing.
        try FileSystem.copy(bundles[1].location.path, toNewFile: place.root + "/other")
        try FileSystem.rename(place.root + "/other", to: bundles[0].location.path)
        try FileSystem.remove(bundles[1].location.path)
        var seen: [String] = []
        let removals = try place.directory.removeBundles(files) { names in
            seen = names
            return [files[2].name]
        }
        #expect(removals == [.gone, .gone, .needed])
        #expect(try seen == place.bundles && seen.count == 2)
        // A directory has what it has.
        try FileSystem.remove(bundles[0].location.path)
        try FileSystem.createDirectory(bundles[0].location.path + "/inside")
        #expect(try remove(bundles[2], from: place).count == 1)
        #expect(try place.directory.removeBundles([files[0]]) { _ in [] } == [.gone])
        #expect(try FileSystem.status(of: bundles[0].location.path + "/inside") != nil)
    }

    /// Its process will take the capture off the account, unless it finds the bundle.
    @Test func aBundleWhoseMakerIsNotDoneWithItStays() throws {
        let place = try Place()
        let room = try SpoolRoom(in: place.directory, within: limits)
        let path = try place.directory.publish(
            place.metadata([]), from: room.spool, within: limits, sharing: false)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: place.root)
        #expect(try remove(bundle, from: place) == [.inUse])
        try place.check()
        place.directory.discard(room.spool)
        try place.check()
        let size = try bundle.location.size()
        #expect(try remove(bundle, from: place) == [.removed(size)])
    }

    @Test func notesOfWhatIsGoneGoToo() throws {
        let place = try Place()
        let first = try place.publish(noise(1000), limits: limits, sharing: true)
        let second = try place.publish(noise(1000, seed: 2), limits: limits, sharing: true)
        let notes = Path.join(place.root, ".stores")
        try #require(try FileSystem.contents(ofDirectory: notes).count == 2)
        _ = try remove(first, from: place)
        place.directory.removeStaleNotes()
        #expect(try FileSystem.contents(ofDirectory: notes).count == 1)
        let third = try place.publish(noise(1000, seed: 2), limits: limits, sharing: true)
        #expect(third.metadata.sharedEntries?.map(\.bundle) == [second.location.name])
    }

    /// A bundle was about to be packed, or is, when what it refers to went.
    @Test func whoseHolderGoesStandsAlone() throws {
        let place = try Place()
        let content = noise(10_000)
        let first = try place.publish(content, limits: limits, sharing: true)
        let room = try SpoolRoom(in: place.directory, within: limits)
        try FileSystem.write(content, toNewFile: room.spool.path(ofEntry: "stores/a.sqlite"))
        let shared = SharedStores(in: place.directory)
        let packed = try BundlePacker.pack(
            place.metadata(["stores/a.sqlite"]), from: room.spool, sharing: shared)
        #expect(shared.holders == [first.location.name])
        _ = try remove(first, from: place)
        #expect(throws: HolderGone.self) {
            try place.directory.publish(
                packed, of: room.spool, place.test, within: limits, referringTo: shared.holders)
        }
        #expect(try place.bundles == [])
        try place.check()
        place.directory.discard(room.spool)
    }

    /// The last capture removes the directory if no bundle is left in it.
    @Test func aDirectoryThatIsGoneHasNoBundles() throws {
        let place = try Place()
        let bundle = try place.publish(noise(1000), limits: limits)
        let file = try file(bundle)
        let room = try SpoolRoom(in: place.directory, within: limits)
        #expect(try remove(bundle, from: place).count == 1)
        place.directory.discard(room.spool)
        try #require(FileSystem.status(of: place.root) == nil)
        #expect(try place.directory.removeBundles([file]) { _ in [] } == [.gone])
        #expect(try FileSystem.status(of: place.root) == nil)
    }

    /// Threads make bundles of the same store while others remove the oldest: each that is left can be read.
    @Test func nobodyRefersToWhatIsRemoved() throws {
        let place = try Place()
        let (directory, root) = (place.directory, place.root)
        // Keeps the directory while it has no bundles: the threads list it.
        try FileSystem.write([], toNewFile: Path.join(root, "notes.txt"))
        let limits = DirectoryLimits(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 1000)
        let metadata = place.metadata(["stores/a.sqlite", "stores/b.sqlite"])
        let (content, other) = (noise(30_000), noise(300_000, seed: 2))
        let removed = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                for turn in 0..<40 {
                    let room = try SpoolRoom(in: directory, within: limits)
                    try FileSystem.write(
                        content, toNewFile: room.spool.path(ofEntry: "stores/a.sqlite"))
                    // It takes its time to pack one that nobody else has.
                    try FileSystem.write(
                        other + [UInt8(thread), UInt8(turn)],
                        toNewFile: room.spool.path(ofEntry: "stores/b.sqlite"))
                    _ = try directory.publish(
                        metadata, from: room.spool, within: limits, sharing: true)
                    directory.discard(room.spool)
                    // First those that nobody refers to, then what they referred to: unless others do by then, or
                    // are packing what will.
                    for _ in 0..<2 {
                        let names = try FileSystem.contents(ofDirectory: root)
                        let (all, holders) = try Self.references(names, in: root)
                        let files = all.filter { !holders.contains($0.name) }
                        let removals = try directory.removeBundles(files) { names in
                            (try? Self.references(names, in: root).holders) ?? Set(names)
                        }
                        let count = removals.count { if case .removed = $0 { true } else { false } }
                        removed.withLock { $0 += count }
                    }
                    let dangling = try Self.dangling(in: root)
                    #expect(dangling.isEmpty)
                }
            } catch {
                Issue.record(error)
            }
        }
        #expect(removed.withLock(\.self) > 0)
        try place.check()
    }

    private static func references(
        _ names: [String], in root: String
    ) throws -> (all: [ArtifactsDirectory.BundleFile], holders: Set<String>) {
        var all: [ArtifactsDirectory.BundleFile] = []
        var holders: Set<String> = []
        for name in names where name.hasSuffix(".zip") {
            let path = Path.join(root, name)
            // Somebody may remove it at any time.
            guard let status = FileSystem.regularFile(path),
                let bundle = try? BundleReader(BundleLocation(path: path), scratchDirectory: root)
            else { continue }
            all.append(.init(name: name, identity: status.identity))
            holders.formUnion((bundle.metadata.sharedEntries ?? []).map(\.bundle))
        }
        return (all, holders)
    }

    /// The bundles that refer to one that is not there, as nobody ever does.
    private static func dangling(in root: String) throws -> [String] {
        try FileSystem.contents(ofDirectory: root).filter { name in
            let path = Path.join(root, name)
            guard name.hasSuffix(".zip"),
                let bundle = try? BundleReader(BundleLocation(path: path), scratchDirectory: root)
            else { return false }
            return (bundle.metadata.sharedEntries ?? []).contains { shared in
                FileSystem.regularFile(Path.join(root, shared.bundle)) == nil
                    && FileSystem.regularFile(path) != nil
            }
        }
    }
}
