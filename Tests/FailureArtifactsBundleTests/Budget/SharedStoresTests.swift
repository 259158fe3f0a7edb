import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsZip
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// Stores that several bundles have in common.
@Suite struct SharedStoresTests {
    private let limits = DirectoryLimits(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 1000)

    /// The store of a bundle, which is opened for it.
    private func content(_ bundle: BundleReader, _ place: borrowing Place) throws -> [UInt8] {
        let bundle = try BundleReader(bundle.location, scratchDirectory: place.root)
        let path = Path.join(place.root, "content-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileSystem.remove(path) }
        try bundle.extract(entryNamed: bundle.store(named: nil).entry, toNewFile: path)
        return try FileSystem.contents(ofFile: path)
    }

    @Test func aStoreIsStoredOnce() throws {
        let place = try Place()
        let bytes = noise(600_000)
        let first = try place.publish(bytes, limits: limits, sharing: true)
        let second = try place.publish(bytes, as: "stores/b.sqlite", limits: limits, sharing: true)
        let third = try place.publish(bytes, limits: limits, sharing: true)
        #expect(first.metadata.sharedEntries == nil)
        #expect(first.archive.entry(named: "stores/a.sqlite") != nil)
        for bundle in [second, third] {
            let shared = try #require(bundle.metadata.sharedEntries?.first)
            #expect(shared.bundle == first.location.name && shared.bundleEntry == "stores/a.sqlite")
            #expect(shared.bytes == 600_000 && bundle.archive.entry(named: shared.entry) == nil)
            #expect(try bundle.location.size() < 10_000)
            #expect(try content(bundle, place) == bytes)
            #expect(bundle.size(ofEntry: shared.entry) == 600_000)
        }
        try place.check()
    }

    @Test func withoutTheOptionEachBundleStandsAlone() throws {
        let place = try Place()
        for _ in 0..<2 {
            let bundle = try place.publish(noise(1000), limits: limits)
            #expect(bundle.metadata.sharedEntries == nil)
            #expect(bundle.archive.entry(named: "stores/a.sqlite") != nil)
        }
        let names = try FileSystem.contents(ofDirectory: place.root)
        #expect(!names.contains(".stores"))
    }

    @Test func ofManyAtOnceOneStoresIt() throws {
        let place = try Place()
        let (directory, root, limits) = (place.directory, place.root, limits)
        let metadata = place.metadata(["stores/a.sqlite", "stores/b.sqlite"])
        let references = Lock<[Int]>([])
        DispatchQueue.concurrentPerform(iterations: 12) { _ in
            do {
                let room = try SpoolRoom(in: directory, within: limits)
                for (seed, entry) in metadata.entries.enumerated() {
                    try FileSystem.write(
                        noise(100_000, seed: UInt64(seed)),
                        toNewFile: room.spool.path(ofEntry: entry))
                }
                let path = try directory.publish(
                    metadata, from: room.spool, within: limits, sharing: true)
                directory.discard(room.spool)
                let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: root)
                references.withLock { $0.append(bundle.metadata.sharedEntries?.count ?? 0) }
            } catch {
                Issue.record(error)
            }
        }
        #expect(references.withLock { $0.sorted() } == [0] + Array(repeating: 2, count: 11))
    }

    /// Whoever packs them may have died in a way that leaves its locks to a child.
    @Test func aBundleWaitsOnceAndNotForEachStore() throws {
        let place = try Place()
        let metadata = place.metadata((0..<40).map { "stores/\($0).sqlite" })
        let room = try SpoolRoom(in: place.directory, within: limits)
        for (seed, entry) in metadata.entries.enumerated() {
            try FileSystem.write(
                noise(1000, seed: UInt64(seed)), toNewFile: room.spool.path(ofEntry: entry))
        }
        var (first, second) = (metadata, metadata)
        let others = SharedStores(in: place.directory)
        others.share(&first, in: room.spool)

        let start = Instant.now
        SharedStores(in: place.directory, patience: 0.5).share(&second, in: room.spool)

        #expect((0.5..<10).contains(start.elapsed))
        #expect(second.sharedEntries == nil)
        withExtendedLifetime(others) {}
        place.directory.discard(room.spool)
    }

    /// Size and checksum find it; what counts is the bytes.
    @Test func whatOnlyLooksTheSameIsStored() throws {
        let place = try Place()
        let first = noise(5000)
        _ = try place.publish(first, limits: limits, sharing: true)
        // The same CRC-32: XOR with a multiple of its polynomial, here at byte 100 (bits in the order of zlib).
        var second = first
        for (index, byte) in Self.multipleOfPolynomial.enumerated() { second[100 + index] ^= byte }
        var (one, two) = (Checksum(), Checksum())
        first.withUnsafeBytes { one.update($0) }
        second.withUnsafeBytes { two.update($0) }
        try #require(one.value == two.value && first != second)
        let bundle = try place.publish(second, limits: limits, sharing: true)
        #expect(bundle.metadata.sharedEntries == nil)
        #expect(try content(bundle, place) == second)
    }

    /// 33 bits of which the CRC-32 is 0: x^32 + x^26 + … + 1, the highest power first in the lowest bit.
    private static var multipleOfPolynomial: [UInt8] {
        let polynomial: UInt64 = 0x1_04C1_1DB7
        var bytes = [UInt8](repeating: 0, count: 5)
        for power in 0...32 where polynomial >> UInt64(32 - power) & 1 == 1 {
            bytes[power / 8] |= 1 << UInt8(power % 8)
        }
        return bytes
    }

    @Test func aReferenceToWhatIsGoneIsAClearError() throws {
        let place = try Place()
        let bytes = noise(20_000)
        let first = try place.publish(bytes, limits: limits, sharing: true)
        let second = try place.publish(bytes, limits: limits, sharing: true)
        try FileSystem.remove(first.location.path)
        let error = #expect(throws: BundleError.self) { _ = try content(second, place) }
        #expect(error?.description.contains("'\(first.location.name)'") == true)
        #expect(error?.description.contains("no such file") == true)
        // Another one stores it again, and those after it refer to that.
        let third = try place.publish(bytes, limits: limits, sharing: true)
        #expect(third.metadata.sharedEntries == nil)
        let fourth = try place.publish(bytes, limits: limits, sharing: true)
        #expect(fourth.metadata.sharedEntries?.map(\.bundle) == [third.location.name])
        // One of the same name with something else in it.
        try FileSystem.copy(third.location.path, toNewFile: first.location.path)
        #expect(try content(second, place) == bytes)
        try FileSystem.remove(first.location.path)
        let other = try place.publish(noise(20_000, seed: 2), limits: limits)
        try FileSystem.rename(other.location.path, to: first.location.path)
        let second2 = #expect(throws: BundleError.self) { _ = try content(second, place) }
        #expect(second2?.description.contains("has no such 'stores/a.sqlite'") == true)
    }

    @Test func siblingsAreFoundInAZipOfBundles() throws {
        let place = try Place()
        let bytes = noise(20_000)
        let first = try place.publish(bytes, limits: limits, sharing: true)
        let second = try place.publish(bytes, limits: limits, sharing: true)
        for folder in ["", "shard 1/"] {
            let path = Path.join(place.root, "outer\(folder.count).zip")
            var zip = try ZipWriter(creating: path)
            for bundle in [first, second] {
                try zip.addEntry(
                    named: folder + bundle.location.name,
                    contentsOf: File(reading: bundle.location.path), modified: .now)
            }
            try zip.finish()
            let inner = BundleLocation(path: path, inner: folder + second.location.name)
            let bundle = try BundleReader(inner, scratchDirectory: place.root)
            #expect(try content(bundle, place) == bytes)
        }
    }

    @Test(arguments: ["../a.zip", "/etc/passwd", "", ".", "..", ".hidden.zip", "a/b.zip", "a\\b.zip"])
    func aReferenceLeadsNowhereElse(name: String) throws {
        let place = try Place()
        let good = try place.publish(noise(100), limits: limits)
        var metadata = good.metadata
        metadata.sharedEntries = [
            .init(entry: "stores/x.sqlite", bundle: name, bundleEntry: "a", bytes: 1, crc32: 0)
        ]
        metadata.stores[0].entry = "stores/x.sqlite"
        let path = Path.join(place.root, "bad.zip")
        var zip = try ZipWriter(creating: path)
        try zip.addEntry(named: "metadata.json", bytes: metadata.json(), modified: .now)
        try zip.finish()
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: place.root)
        let error = #expect(throws: BundleError.self) { _ = try content(bundle, place) }
        #expect(error?.description.contains("no name of a file") == true)
    }
}
