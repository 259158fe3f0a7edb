import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsSQLite

/// Records histories of random workloads and compares them with the real states.
@Suite struct RandomHistoryTests {
    /// The features that `workload.py` must cover for any seeds; otherwise the test would check nothing.
    private static let features: Set<String> = [
        "without_rowid", "overflow", "delete", "drop", "savepoint", "spilled_abort", "tail", "vacuum",
        "incremental_vacuum", "auto_vacuum 0", "auto_vacuum 1", "auto_vacuum 2", "little-endian",
        "big-endian", "generation", "restarted", "backfilled", "backfilled in part", "no shm",
        "copy image",
        "copy backup", "copy fold", "copy zeroed", "zeroed leaf", "page_size 512", "page_size 1024",
        "page_size 2048", "page_size 4096", "page_size 8192", "page_size 16384", "page_size 32768",
        "page_size 65536",
    ]

    @Test func everyStateIsRebuiltExactly() throws {
        var occurred: Set<String> = []
        let seeds = rounds(8, of: 32)
        for seed in 0..<seeds {
            occurred.formUnion(try withTemporaryDirectory { try check(seed: seed, in: $0) })
        }
        if seeds == 32 { #expect(Self.features.subtracting(occurred).isEmpty) }
    }

    /// Records and rebuilds the history of one random workload.
    ///
    /// - Returns: The features that occurred.
    private func check(seed: Int, in directory: String) throws -> Set<String> {
        let occurred = Set(try python("workload.py", String(seed), directory))
        let copy = directory + "/copy.sqlite"
        if occurred.contains("broken") {
            let summary = try WALHistory(maximumBytes: .max).record(
                storeAt: directory + "/store.sqlite", committedPages: try pageCount(copy),
                to: directory + "/none")
            #expect(summary.transactions == 0 && summary.reason != nil, "seed \(seed)")
            return []
        }
        let states = try FileSystem.contents(ofDirectory: directory + "/states").count
        let committedPages = try pageCount(copy)

        var limit = UInt64.max
        // First the whole history, then one with half its size as the limit.
        for round in 0..<2 {
            let history = "\(directory)/\(round).wal-history"
            let summary = try WALHistory(maximumBytes: limit).record(
                storeAt: directory + "/store.sqlite", committedPages: committedPages, to: history)
            #expect(summary.transactions + summary.omittedTransactions == states - 1, "seed \(seed)")
            #expect((summary.reason == nil) == (summary.omittedTransactions == 0), "seed \(seed)")
            #expect(summary.bytes <= limit, "seed \(seed)")
            let size = try FileSystem.status(of: history)?.size
            #expect(size == (summary.transactions == 0 ? nil : summary.bytes), "seed \(seed)")
            guard summary.transactions > 0 else { break }
            let rebuilt = "\(directory)/rebuilt-\(round)"
            try rebuildAll(history, from: copy, into: rebuilt)
            let result = try python("compare.py", directory, history, rebuilt)
            #expect(result.dropFirst(2).isEmpty, "seed \(seed), round \(round): \(result)")
            if round == 0 {
                #expect(Int(result[0]) == summary.omittedTransactions, "seed \(seed)")
                // Of a WAL that was written into the database in part, only the rest is kept.
                if occurred.isDisjoint(with: ["no shm", "backfilled", "backfilled in part"]) {
                    #expect(result[0] == result[1], "seed \(seed) leaves out more than is lost")
                }
            }
            limit = summary.bytes / 2
        }
        return occurred
    }
}
