@testable internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

extension FuzzTarget {
    /// Reads the flight recorder of a process that has died.
    static let recorder = FuzzTarget("recorder", seeds: { RecorderImage.seeds }) { bytes, scratch in
        let path = scratch.path("recorder")
        try RecorderImage.write(bytes, to: path)
        let file = try RecorderFile(at: path)
        let records = InFlightRecord.records(in: file.inFlight)
        // A path ends at a zero byte.
        require(
            file.inFlight.contains(0)
                || InFlightRecord.records(in: records.flatMap { Array($0.line.utf8) }) == records,
            "The journal differs after writing and reading it again.")
        let tests = InFlightTest.all(in: file.inFlight, of: .current)
        let log = try file.statements(of: [])
        let start = tests.first?.order ?? 0
        let paths = Set(log.connections.compactMap { $0.last?.path })
        let stores =
            paths.map { log.log(of: $0, testStartedAfter: start) }
            + log.storesInMemory(testStartedAfter: start).map(\.log)
        for statements in stores.map(\.records) {
            require(
                StatementRecord.records(in: StatementRecord.lines(of: statements)) == statements,
                "The statements differ after writing and reading them again.")
            require(
                statements.allSatisfy { ($0.stack?.count ?? 0) <= 4096 },
                "A stack is larger than its chunk.")
        }
    }
}

/// The file of a flight recorder without its empty parts.
///
/// It has the fields of the header, the journal, a byte that is part of no text, and a kilobyte for each chunk; see
/// `recorder.h`.
private enum RecorderImage {
    private static let (header, page, chunk, image): (Int, Int, Int, Int) = (
        88, 4 << 10, 32 << 10, 1 << 10
    )
    private static let separator: UInt8 = 0xFF

    /// Writes a file that is as sparse as the process's own.
    static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try File(creating: path)
        let rest = bytes.dropFirst(header)
        let journal = rest.prefix { $0 != separator }
        try write(bytes.prefix(header), to: file, at: 0, length: page)
        try write(journal, to: file, at: page, length: page)
        guard bytes.count >= header else { return }
        let size = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 12, as: UInt32.self) }
        var chunks = rest.dropFirst(journal.count + 1)
        var offset = page + Int(size % (1 << 20))
        while !chunks.isEmpty {
            try write(chunks.prefix(image), to: file, at: offset, length: chunk)
            chunks = chunks.dropFirst(image)
            offset += chunk
        }
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>, to file: borrowing File, at offset: Int, length: Int
    ) throws {
        let padded = bytes + [UInt8](repeating: 0, count: max(0, length - bytes.count))
        try padded.withUnsafeBytes { bytes in try file.write(bytes, at: UInt64(offset)) }
    }

    /// A process in the middle of a test, with a store that fills two chunks, one in memory, and a free chunk.
    static var seeds: [[UInt8]] {
        let test = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t", arguments: ["1"])
        let records: [InFlightRecord] = [
            .images("[]"), .opened(path: "/tmp/shared", by: 0),
            .began(1, test, at: Timestamp(seconds: 1_700_000_000), after: 2),
            .opened(path: "/tmp/a", by: 1),
            .used(path: nil, by: 1, openedBy: .init(suite: "S", name: "u")),
        ]
        let journal = records.flatMap { Array($0.line.utf8) }
        var bytes = Array("FARECORD".utf8)
        for number: UInt32 in [2, UInt32(page), 4, 1] { bytes.append(number) }
        for ticks: UInt64 in [1000, 2000, 3000] {
            bytes.append(ticks)
            bytes.append(1_700_000_000_000_000_000 + ticks)
        }
        bytes.append(UInt64(journal.count))
        bytes.append(UInt64(2))
        bytes += journal + [separator]
        bytes += chunk(of: 1, path: "/tmp/a", from: 1) + chunk(of: 2, path: "", from: 3)
        bytes += chunk(of: 1, path: "/tmp/a", from: 5) + chunk(of: 0, path: "", from: 7)
        return [bytes]
    }

    /// A chunk with two statements, an error and an end.
    private static func chunk(of connection: UInt64, path: String, from order: UInt64) -> [UInt8] {
        var records: [UInt8] = []
        func add(_ kind: UInt8, _ content: [UInt8]) -> UInt32 {
            let offset = records.count + 32
            records.append(UInt32(8 + content.count))
            records += [kind, 0, 0, 0] + content
            records += [UInt8](repeating: 0, count: -content.count & 7)
            return UInt32(offset)
        }
        func content(_ numbers: any FixedWidthInteger..., text: String = "") -> [UInt8] {
            var bytes: [UInt8] = []
            for number in numbers { bytes.append(number) }
            return bytes + Array(text.utf8)
        }
        _ = add(1, content(UInt32(100), UInt32(0), text: path))
        let text = add(2, Array("INSERT INTO t VALUES (1)".utf8))
        let stack = add(3, content(UInt64(0x5555_0000_1000), UInt64(0x5555_0000_2000)))
        for (order, stack) in [(order, stack), (order + 1, 0)] {
            _ = add(
                4,
                content(
                    order, 1500 + order, UInt64(7), UInt32(order), UInt32(1), text, stack, UInt32(order),
                    UInt32(0),
                    UInt32(order),
                    UInt32(0)))
        }
        _ = add(5, content(order + 1, Int32(19), stack, text: "UNIQUE constraint failed: t.a"))
        _ = add(
            6, content(order + 1, 1600 + order, Int64(-1), UInt32(2000), UInt32(1), UInt32(0), UInt32(0))
        )
        var bytes: [UInt8] = []
        bytes.append(UInt64(2))
        bytes.append(connection)
        bytes.append(UInt32(32 + records.count))
        bytes.append(UInt32(chunk))
        bytes.append(UInt64(0))
        bytes += records
        return bytes + [UInt8](repeating: 0, count: image - bytes.count)
    }
}

extension [UInt8] {
    /// Appends a number in the byte order of the machine.
    fileprivate mutating func append(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number) { append(contentsOf: $0) }
    }
}
