internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Where the bundles of a merged directory come from, beside them: a line of JSON each.
///
/// A report that is made later tells the shards apart by it.
enum MergeLog {
    static let name = "merged.jsonl"
    /// More of it is not read, in bytes.
    private static let limit = 64 << 20

    /// A bundle that was put into the directory, or was there already.
    struct Line: Codable, Sendable {
        /// The file name in the directory.
        var bundle: String
        /// The path that it had.
        var from: String
        /// What it was in: the name of a directory, or of a zip.
        var container: String
        /// Whether it was the same, byte for byte, as one that was there.
        var identical: Bool?
    }

    /// The containers of the bundles of a directory, by their names.
    static func containers(in directory: String) -> [String: String] {
        Dictionary(
            lines(in: directory).filter { $0.identical != true }.map { ($0.bundle, $0.container) },
            uniquingKeysWith: { first, _ in first })
    }

    private static func lines(in directory: String) -> [Line] {
        let path = Path.join(directory, name)
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: limit) else { return [] }
        let decoder = JSONDecoder()
        // What somebody else wrote there is of no interest.
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap {
            try? decoder.decode(Line.self, from: Data($0))
        }
    }
}

extension MergeLog {
    /// Writes at the end of a directory's log.
    struct Writer: ~Copyable {
        private let file: File
        private var offset: UInt64
        private var buffer: [UInt8] = []
        /// What is there, so that merging again adds nothing.
        private var known: Set<[String]>

        init(directory: String) throws(SystemError) {
            let path = Path.join(directory, MergeLog.name)
            let file = try Self.file(at: path)
            offset = try file.size()
            self.file = file
            known = Set(MergeLog.lines(in: directory).map { [$0.bundle, $0.from] })
            // Whoever wrote last may have been ended in the middle of a line.
            if offset > 0 { buffer = [UInt8(ascii: "\n")] }
        }

        private static func file(at path: String) throws(SystemError) -> File {
            if try FileSystem.status(of: path) == nil { return try File(creating: path) }
            return try File(updating: path)
        }

        mutating func append(_ line: Line) throws {
            guard known.insert([line.bundle, line.from]).inserted else { return }
            buffer += Array(try JSONText.line(line).utf8) + [UInt8(ascii: "\n")]
            if buffer.count > 64 << 10 { try flush() }
        }

        private mutating func flush() throws(SystemError) {
            try buffer.withBytes { (bytes) throws(SystemError) in try file.write(bytes, at: offset) }
            offset += UInt64(buffer.count)
            buffer.removeAll(keepingCapacity: true)
        }

        /// Writes what is held back.
        mutating func finish() throws(SystemError) {
            if buffer.count > 1 { try flush() }
        }
    }
}

/// The containers of bundles that were merged, by the logs of their directories, each of which is read once.
final class MergedContainers: Sendable {
    private let logs = Lock<[String: [String: String]]>([:])

    /// What the bundle came from; nil where no log says.
    func container(of location: BundleLocation) -> String? {
        guard location.inner == nil else { return nil }
        let directory = Path.directory(of: location.path)
        return logs.withLock { logs in
            if let log = logs[directory] { return log[location.name] }
            let log = MergeLog.containers(in: directory)
            logs[directory] = log
            return log[location.name]
        }
    }
}
