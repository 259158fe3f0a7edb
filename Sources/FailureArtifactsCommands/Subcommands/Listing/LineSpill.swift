internal import FailureArtifactsSystem

/// Lines that wait on disk for their turn: memory has to hold their places only.
struct LineSpill: ~Copyable {
    private let file: File
    private var places: [(offset: UInt64, count: Int)] = []
    private var end: UInt64 = 0
    private var buffer: [UInt8] = []

    /// - Parameter directory: A scratch directory.
    /// - Throws: The failure to create a file.
    init(in directory: String) throws(SystemError) {
        file = try File(creating: Path.join(directory, "lines"))
    }

    mutating func append(_ line: String) throws(SystemError) {
        let count = line.utf8.count
        places.append((end + UInt64(buffer.count), count))
        buffer += Array(line.utf8)
        if buffer.count >= 1 << 20 { try flush() }
    }

    private mutating func flush() throws(SystemError) {
        try buffer.withBytes { (bytes) throws(SystemError) in try file.write(bytes, at: end) }
        end += UInt64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }

    /// The lines by their numbers, in an order that is given.
    mutating func forEach(in order: [Int], _ body: (String) throws -> Void) throws {
        try flush()
        for index in order {
            let (offset, count) = places[index]
            var bytes = [UInt8](repeating: 0, count: count)
            _ = try bytes.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: offset)
            }
            try body(String(decoding: bytes, as: UTF8.self))
        }
    }
}
