import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The limits of a directory, also with concurrent captures.
@Suite struct DirectoryLimitTests {
    private func limits(
        total: UInt64 = 1 << 30, bundle: UInt64 = 1 << 30, bundles: Int = 1000, free: UInt64 = 0,
        removesOldest: Bool = false
    ) -> DirectoryLimits {
        DirectoryLimits(
            storeBytes: 1 << 30, bundleBytes: bundle, totalBytes: total, bundles: bundles,
            freeBytes: free, removesOldest: removesOldest)
    }

    /// A bundle that had space when its capture began may be refused when it is published, but not for the number of
    /// bundles.
    @Test(arguments: [(bundles: 40, total: 1 << 30), (bundles: 1000, total: 400_000)])
    func capturesAtTheSameTimeKeepTheLimits(bundles: Int, total: UInt64) throws {
        let place = try Place()
        let limits = limits(total: total, bundles: bundles)
        let directory = place.directory
        let metadata = place.metadata(["stores/a.sqlite"])
        let refused = Lock<[DirectoryLimits.Limit]>([])
        let begun = DispatchGroup()
        let group = DispatchGroup()
        for number in 0..<48 {
            begun.enter()
            group.enter()
            // Use separate threads: a queue would run only one per core.
            Thread.detachNewThread {
                defer { group.leave() }
                func begin() throws -> StagingRoom {
                    defer { begun.leave() }
                    var room = try StagingRoom(in: directory, within: limits)
                    let hasRoom = room.take(10_000)
                    try #require(hasRoom)
                    return room
                }
                do {
                    let room = try begin()
                    begun.wait()
                    defer { directory.discard(room.staging) }
                    try FileSystem.write(
                        noise(10_000, seed: UInt64(number)),
                        toNewFile: room.staging.path(ofEntry: "stores/a.sqlite"))
                    _ = try directory.publish(metadata, from: room.staging, within: limits)
                } catch let error as LimitReached {
                    refused.withLock { $0.append(error.limit) }
                } catch {
                    Issue.record(error)
                }
            }
        }
        group.wait()
        let usage = try DirectoryUsage(of: directory.path)
        #expect(usage.bundles <= limits.bundles && usage.bytes <= limits.totalContentBytes)
        #expect(Int(usage.bundles) + refused.withLock(\.count) == 48)
        let limit: DirectoryLimits.Limit = bundles < 48 ? .bundles : .totalBytes
        #expect(refused.withLock { $0.allSatisfy { $0 == limit } && $0.count >= 8 })
        // All available space is used.
        #expect(usage.bundles == bundles || usage.bytes > limits.totalContentBytes - 20_000)
    }

    @Test func whoComesFirstGetsIt() throws {
        let place = try Place()
        let limits = limits(total: 1 << 20)
        let content = noise(200_000)
        for _ in 0..<4 {
            guard (try? place.publish(content, limits: limits)) != nil else { break }
        }
        var room = try StagingRoom(in: place.directory, within: limits)
        let hasRoom = room.take(200_000)
        #expect(!hasRoom && room.limit == .totalBytes)
        // A description without copies always has space.
        _ = try place.directory.publish(place.metadata([]), from: room.staging, within: limits)
        place.directory.discard(room.staging)
        #expect(try place.bundles.count == 4)
    }

    @Test func theNumberOfBundlesIsKept() throws {
        let place = try Place()
        let limits = limits(bundles: 2)
        let late = try StagingRoom(in: place.directory, within: limits)
        for _ in 0..<2 { try place.publish([1], limits: self.limits(bundles: 4)) }
        let error = #expect(throws: LimitReached.self) {
            _ = try StagingRoom(in: place.directory, within: limits)
        }
        #expect(error?.limit == .bundles)
        // This capture began before the limit was reached.
        #expect(throws: LimitReached.self) {
            try place.directory.publish(place.metadata([]), from: late.staging, within: limits)
        }
        place.directory.discard(late.staging)
        #expect(try place.bundles.count == 2)
        // The user removes a bundle.
        try FileSystem.remove(Path.join(place.root, try #require(try place.bundles.first)))
        try place.publish([1], limits: limits)
    }

    /// Otherwise, a test would announce a bundle that never exists.
    @Test func aCaptureThatHasBegunKeepsItsPlace() throws {
        let place = try Place()
        let limits = limits(bundles: 2)
        let first = try StagingRoom(in: place.directory, within: limits)
        try place.publish([1], limits: limits)
        let error = #expect(throws: LimitReached.self) {
            _ = try StagingRoom(in: place.directory, within: limits)
        }
        #expect(error?.limit == .bundles)
        _ = try place.directory.publish(place.metadata([]), from: first.staging, within: limits)
        place.directory.discard(first.staging)
        #expect(try place.bundles.count == 2)
    }

    /// The staging directory is removed after the bundle has its name.
    @Test func aCaptureWhoseBundleExistsIsCountedOnce() throws {
        let place = try Place()
        let limits = limits(bundles: 2)
        let first = try StagingRoom(in: place.directory, within: limits)
        _ = try place.directory.publish(place.metadata([]), from: first.staging, within: limits)
        let second = try StagingRoom(in: place.directory, within: limits)
        place.directory.discard(first.staging)
        _ = try place.directory.publish(place.metadata([]), from: second.staging, within: limits)
        #expect(try place.bundles.count == 2)
    }

    /// Sets the time of a file's last change, in seconds since 1970.
    private func date(_ name: String, _ seconds: Int, in place: borrowing Place) {
        var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, Path.join(place.root, name), &times, 0) == 0)
    }

    @Test func theOldestBundlesMakeRoomIfTheyMay() throws {
        let place = try Place()
        let limits = limits(bundles: 5, removesOldest: true)
        for _ in 0..<3 { try place.publish([1], limits: limits) }
        let bundles = try place.bundles
        for (name, seconds) in zip(bundles, [200, 100, 300]) { date(name, seconds, in: place) }
        // The name of a bundle doesn't make it one, and other names are never removed.
        for name in ["photos-0123abcd.zip", "photos.zip"] {
            try FileSystem.write([1], toNewFile: Path.join(place.root, name))
            date(name, 1, in: place)
        }
        for _ in 0..<2 { try place.publish([1], limits: limits) }
        let left = try place.bundles
        #expect(left.count == 5 && left.contains("photos-0123abcd.zip") && left.contains("photos.zip"))
        #expect(left.contains(bundles[2]) && !left.contains(bundles[0]) && !left.contains(bundles[1]))
    }

    @Test func theOldestBundlesMakeRoomForTheBytesOfACopy() throws {
        let place = try Place()
        let limits = limits(total: 1 << 20, removesOldest: true)
        for _ in 0..<6 { try place.publish(noise(200_000), limits: limits) }
        let bundles = try place.bundles
        #expect(bundles.count == 3)
        for (index, name) in bundles.enumerated() { date(name, index, in: place) }
        // Nothing is removed for what can't have room at all.
        var room = try StagingRoom(in: place.directory, within: limits)
        let hasTooMuch = room.take(2 << 20)
        #expect(!hasTooMuch)
        #expect(try place.bundles == bundles)
        room = StagingRoom(of: room.staging, in: place.directory, within: limits)
        let hasRoom = room.take(500_000)
        #expect(hasRoom)
        #expect(try place.bundles == Array(bundles.suffix(1)))
        place.directory.discard(room.staging)
    }

    @Test(arguments: ["CI", "GITHUB_ACTIONS", "TF_BUILD"]) func nothingIsRemovedOnCI(_ name: String) {
        var warnings: [String] = []
        #expect(DirectoryLimits([name: ""], &warnings).removesOldest)
        #expect(!DirectoryLimits([name: "true"], &warnings).removesOldest)
    }

    @Test func aBundleIsNoLargerThanItMayBe() throws {
        let place = try Place()
        let limits = limits(bundle: 400_000)
        var room = try StagingRoom(in: place.directory, within: limits)
        let hasRoom = [room.take(200_000), room.take(150_000)]
        #expect(hasRoom == [true, false] && room.limit == .bundleBytes)
        // Files that were staged without being counted are noticed when they are packed.
        try FileSystem.write(noise(500_000), toNewFile: room.staging.path(ofEntry: "stores/a.sqlite"))
        let error = #expect(throws: LimitReached.self) {
            _ = try place.directory.publish(
                place.metadata(["stores/a.sqlite"]), from: room.staging, within: limits)
        }
        #expect(error?.limit == .bundleBytes)
        #expect(try place.bundles == [])
        place.directory.discard(room.staging)
    }

    @Test func theFilesOfAStoreAreCountedTogetherOrRemoved() throws {
        let place = try Place()
        // A quarter is for descriptions.
        let limits = DirectoryLimits(storeBytes: 1 << 30, totalBytes: 8000, bundles: 4)
        var room = try StagingRoom(in: place.directory, within: limits)
        defer { place.directory.discard(room.staging) }
        var stores = place.metadata(["stores/a.sqlite", "stores/b.sqlite"]).stores
        stores[0].rawEntries = ["raw/a.sqlite-wal"]
        for (entry, count) in [
            ("stores/a.sqlite", 2000), ("raw/a.sqlite-wal", 3000), ("stores/b.sqlite", 1001),
        ] {
            try FileSystem.write(noise(count), toNewFile: room.staging.path(ofEntry: entry))
        }
        #expect(room.takeFiles(of: &stores[0]) == nil)
        #expect(room.takeFiles(of: &stores[1]) == "It has 1001 bytes, for which no room was left.")
        // A history makes room for its store.
        try FileSystem.write(noise(900), toNewFile: room.staging.path(ofEntry: "stores/b.sqlite"))
        try FileSystem.write(noise(200), toNewFile: room.staging.path(ofEntry: "history/b.wal-history"))
        stores[1].history = .init(entry: "history/b.wal-history", transactions: 3, bytes: 200)
        #expect(room.takeFiles(of: &stores[1]) == nil)
        #expect(stores[1].history?.entry == nil && stores[1].history?.reason != nil)
        #expect(FileSystem.regularFile(room.staging.file(ofEntry: "history/b.wal-history")) == nil)
        #expect(room.used == 5900 && room.limit == .totalBytes)
        let isThere = ["stores/a.sqlite", "raw/a.sqlite-wal", "stores/b.sqlite"].map {
            FileSystem.regularFile(room.staging.file(ofEntry: $0)) != nil
        }
        #expect(isThere == [true, true, true])
    }

    @Test func whatIsToBeLeftFreeIsLeftFree() throws {
        let place = try Place()
        let free = try #require(FileSystem.freeBytes(ofVolumeAt: place.root))
        var room = try StagingRoom(in: place.directory, within: limits(free: free &+ 1 << 30))
        var hasRoom = room.take(1)
        #expect(!hasRoom && room.limit == .freeBytes)
        place.directory.discard(room.staging)
        var other = try StagingRoom(in: place.directory, within: limits(free: 1))
        hasRoom = other.take(1)
        #expect(hasRoom)
        place.directory.discard(other.staging)
    }
}
