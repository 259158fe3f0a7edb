internal import CFailureArtifactsShared
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The file of a process's flight recorder, as read by other processes.
///
/// The file is untrusted. The process may be alive and write to it; content that changes meanwhile is read again.
final class RecorderFile {
    private let file: File
    private var facts = failure_artifacts_recorder_facts()
    /// The lines of the journal.
    ///
    /// They are empty if the file is not a recorder of this version.
    private(set) var journal: [UInt8] = []

    private static let pageSize = Int(failure_artifacts_page)
    private static let chunkSize = Int(failure_artifacts_chunk_size)
    /// The number of unused chunks in a row that ends the search for used ones.
    ///
    /// A thread that has taken a chunk, and was suspended before its first write, leaves it unused. Other threads use the
    /// chunks behind it meanwhile.
    private static let maximumUnusedChunks = 64
    /// The number of times that changing content is read again.
    private static let attempts = 100

    /// Reads the header and the journal.
    init(at path: String) throws(SystemError) {
        file = try File(reading: path)
        guard try readFacts() else { return }
        for _ in 0..<Self.attempts {
            let generation = facts.tests_generation
            let lines = try file.bytes(Int(facts.tests_length), at: UInt64(Self.pageSize))
            guard try readFacts() else { return }
            // It is odd while the process replaces lines.
            if generation % 2 == 0, facts.tests_generation == generation {
                journal = lines
                return
            }
            sleep(microseconds: 100)
        }
    }

    var clock: RecorderClock {
        RecorderClock(
            first: (facts.first_clock.ticks, facts.first_clock.wall),
            last: (facts.last_clock.ticks, facts.last_clock.wall))
    }

    /// Reads the last statements of each connection.
    ///
    /// The tests are those that the journal lists.
    func statements(of tests: [BundleMetadata.NumberedTest]) throws(SystemError) -> RecordedStatements {
        var chunks: [UInt64: [RecordedChunk]] = [:]
        let start = Self.pageSize + Int(facts.tests_size)
        var unused = 0
        for number in 0..<Int(facts.chunk_count) where unused < Self.maximumUnusedChunks {
            guard let chunk = try chunk(at: UInt64(start + number * Self.chunkSize)) else {
                unused += 1
                continue
            }
            unused = 0
            if let parsed = chunk.withUnsafeBytes({ RecordedChunk($0) }), !parsed.statements.isEmpty {
                chunks[parsed.connection, default: []].append(parsed)
            }
        }
        return RecordedStatements(
            clock: clock,
            connections: chunks.values.map { chunks in
                chunks.sorted { $0.statements[0].record.order < $1.statements[0].record.order }
            },
            states: try recordedStates(), tests: tests)
    }

    /// Reads the recorded states of each store.
    private func recordedStates() throws(SystemError) -> [RecordedStates] {
        var states: [RecordedStates] = []
        let size = try file.size()
        for number in 0..<UInt64(failure_artifacts_slots) {
            let offset = facts.slots_offset + number * UInt64(failure_artifacts_slot_size)
            guard offset + UInt64(failure_artifacts_slot_size) <= size else { break }
            if let found = try recordedStates(at: offset) { states.append(found) }
        }
        return states
    }

    /// Reads a slot; nil if it is unused or invalid, or changes all the time.
    private func recordedStates(at offset: UInt64) throws(SystemError) -> RecordedStates? {
        let headerSize = Int(failure_artifacts_slot_header)
        for _ in 0..<Self.attempts {
            let header = try file.bytes(headerSize, at: offset)
            guard header.starts(with: FAILURE_ARTIFACTS_SLOT_MAGIC.utf8) else { return nil }
            let slot = try file.bytes(Int(failure_artifacts_slot_size), at: offset)
            if try file.bytes(headerSize, at: offset) == header {
                return slot.withUnsafeBytes { RecordedStates($0) }
            }
            sleep(microseconds: 100)
        }
        return nil
    }

    // MARK: Reading

    private func readFacts() throws(SystemError) -> Bool {
        let page = try file.bytes(Self.pageSize, at: 0)
        var facts = failure_artifacts_recorder_facts()
        guard page.count == Self.pageSize, failure_artifacts_recorder_read(page, &facts) else {
            return false
        }
        self.facts = facts
        return true
    }

    /// Reads a chunk; empty if it changes all the time, nil if it was never used.
    private func chunk(at offset: UInt64) throws(SystemError) -> [UInt8]? {
        for _ in 0..<Self.attempts {
            // Most of a chunk is unused.
            let header = try file.bytes(MemoryLayout<failure_artifacts_chunk>.size, at: offset)
            guard header.count == MemoryLayout<failure_artifacts_chunk>.size else { return nil }
            let generation = Self.generation(header)
            if generation == 0 { return nil }
            let used = header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16, as: UInt32.self) }
            let chunk = try file.bytes(min(Int(used), Self.chunkSize), at: offset)
            // It is odd while the process gives the chunk to another connection.
            if generation % 2 == 0, try Self.generation(file.bytes(8, at: offset)) == generation {
                return chunk
            }
        }
        return []
    }

    private static func generation(_ bytes: [UInt8]) -> UInt64 {
        guard bytes.count >= 8 else { return 0 }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}
