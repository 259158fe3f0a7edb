import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsSQLite

/// Invalid files cause errors, but no trap, no endless loop and no unbounded memory use.
@Suite struct HistoryDamageTests {
    /// Damages bytes, mostly near the start, in a way that depends only on the generator.
    private func damaged(_ original: [UInt8], _ generator: inout SplitMix) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let isNearStart = Int.random(in: 0..<4, using: &generator) > 0
            let place = Int.random(
                in: 0..<(isNearStart ? min(160, bytes.count) : bytes.count), using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 2: bytes.removeLast(bytes.count - max(place, 1))
            case 3: bytes += bytes[place...].prefix(600)
            case 4:
                for index in place..<min(place + 4, bytes.count) { bytes[index] = 0xFF }
            default:
                for index in place..<min(place + 8, bytes.count) { bytes[index] = 0 }
            }
        }
        return bytes
    }

    /// Makes a small store in the directory, with pages that are added, removed and freed.
    private func makeStore(_ directory: String) throws -> String {
        let path = directory + "/shop.sqlite"
        let application = try ApplicationHandle(path)
        try application.run(
            """
            PRAGMA page_size = 512; PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
            PRAGMA secure_delete = 0; CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(9000));
            PRAGMA wal_checkpoint(TRUNCATE);
            CREATE TABLE u(a); INSERT INTO u VALUES (zeroblob(3000)); DELETE FROM t; VACUUM;
            INSERT INTO u VALUES (zeroblob(700)); DELETE FROM u;
            """)
        let copy = directory + "/store"
        for suffix in ["", "-wal", "-shm"] {
            try FileSystem.copy(path + suffix, toNewFile: copy + suffix)
        }
        try application.run("VACUUM INTO '\(directory)/ignored'; PRAGMA wal_checkpoint")
        try FileSystem.copy(path, toNewFile: directory + "/copy")
        return copy
    }

    private func overwrite(_ path: String, _ bytes: [UInt8]) throws {
        try FileSystem.remove(path)
        try FileSystem.write(bytes, toNewFile: path)
    }

    @Test func damagedHistoriesGiveErrors() throws {
        try withTemporaryDirectory { directory in
            let store = try makeStore(directory)
            let copy = directory + "/copy"
            let history = directory + "/history"
            let summary = try WALHistory(maximumBytes: .max).record(
                storeAt: store, committedPages: try pageCount(copy), to: history)
            #expect(summary.transactions == 6)
            let original = try FileSystem.contents(ofFile: history)
            var refused = 0
            for seed in 0..<3000 {
                var generator = SplitMix(seed: UInt64(seed))
                try overwrite(history, damaged(original, &generator))
                do {
                    let reader = try HistoryReader(path: history)
                    for state in 0...reader.transactions.count {
                        let rebuilt = directory + "/rebuilt"
                        defer { try? FileSystem.remove(rebuilt) }
                        try reader.rebuild(at: state, from: copy, to: rebuilt)
                        let size = try FileSystem.status(of: rebuilt)?.size ?? 0
                        #expect(size <= UInt64(original.count) + (1 << 20), "seed \(seed)")
                    }
                } catch is BundleError {
                    refused += 1
                }
                #expect(try FileSystem.status(of: directory + "/rebuilt") == nil, "seed \(seed)")
            }
            #expect(refused > 1500)
        }
    }

    @Test func damagedStoresGiveErrorsOrASoundHistory() throws {
        try withTemporaryDirectory { directory in
            let store = try makeStore(directory)
            let originals = try ["", "-wal", "-shm"].map { try FileSystem.contents(ofFile: store + $0) }
            let pages = try pageCount(directory + "/copy")
            let history = directory + "/history"
            for seed in 0..<1500 {
                var generator = SplitMix(seed: UInt64(seed))
                for (suffix, original) in zip(["", "-wal", "-shm"], originals) {
                    let isHit = Int.random(in: 0..<2, using: &generator) == 0
                    var bytes = isHit ? damaged(original, &generator) : original
                    if suffix == "-wal" { repairChecksums(of: &bytes) }
                    try overwrite(store + suffix, bytes)
                }
                let limit = UInt64.random(in: 0...60_000, using: &generator)
                let recorder = WALHistory(maximumBytes: limit)
                if let summary = try? recorder.record(
                    storeAt: store, committedPages: pages, to: history), summary.transactions > 0
                {
                    #expect(summary.bytes <= limit, "seed \(seed)")
                    let reader = try HistoryReader(path: history)
                    #expect(reader.transactions.count == summary.transactions, "seed \(seed)")
                }
                try FileSystem.remove(history)
            }
        }
    }

    /// Writes valid checksums to a damaged WAL, so that the damaged parts are read and not skipped.
    private func repairChecksums(of bytes: inout [UInt8]) {
        guard bytes.count > 32 else { return }
        bytes.withUnsafeMutableBytes { bytes in
            let pageSize = Int(UnsafeRawBufferPointer(bytes).bigEndianUInt32(at: 8))
            guard (512...65536).contains(pageSize), pageSize % 8 == 0 else { return }
            var checksum = WriteAheadLog.Checksum(isBigEndian: bytes[3] & 1 == 1)
            func store(_ checksum: WriteAheadLog.Checksum, at offset: Int) {
                bytes.storeBytes(of: checksum.first.bigEndian, toByteOffset: offset, as: UInt32.self)
                bytes.storeBytes(
                    of: checksum.second.bigEndian, toByteOffset: offset + 4, as: UInt32.self)
            }
            checksum.update(UnsafeRawBufferPointer(rebasing: bytes[..<24]))
            store(checksum, at: 24)
            var offset = 32
            while offset + 24 + pageSize <= bytes.count {
                checksum.update(UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + 8)]))
                checksum.update(
                    UnsafeRawBufferPointer(rebasing: bytes[(offset + 24)..<(offset + 24 + pageSize)]))
                store(checksum, at: offset + 16)
                offset += 24 + pageSize
            }
        }
    }

    @Test func aNewerFormatIsRefused() throws {
        try withTemporaryDirectory { directory in
            let store = try makeStore(directory)
            let history = directory + "/history"
            _ = try WALHistory(maximumBytes: .max).record(
                storeAt: store, committedPages: try pageCount(directory + "/copy"), to: history)
            var bytes = try FileSystem.contents(ofFile: history)
            bytes[8] = 2
            try overwrite(history, bytes)
            let error = #expect(throws: BundleError.self) { _ = try HistoryReader(path: history) }
            #expect(error?.description.contains("has format version 2, and this reads") == true)
        }
    }

    @Test func aHistoryIsNotUsedWithAnotherCopy() throws {
        try withTemporaryDirectory { directory in
            let store = try makeStore(directory)
            let history = directory + "/history"
            _ = try WALHistory(maximumBytes: .max).record(
                storeAt: store, committedPages: try pageCount(directory + "/copy"), to: history)
            let reader = try HistoryReader(path: history)
            let error = #expect(throws: BundleError.self) {
                try reader.rebuild(at: 0, from: store, to: directory + "/rebuilt")
            }
            guard case .badHistory = error?.reason else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(throws: BundleError(history, .noSuchCommit(history, "7", 6))) {
                try reader.rebuild(at: 7, from: directory + "/copy", to: directory + "/rebuilt")
            }
            #expect(try FileSystem.status(of: directory + "/rebuilt") == nil)
        }
    }
}
