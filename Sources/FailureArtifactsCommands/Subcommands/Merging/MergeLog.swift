internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A file beside merged bundles that lists their origins, with one line of JSON for each bundle.
///
/// Later reports use it to tell the shards apart.
enum MergeLog {
    static let name = "merged.jsonl"
    /// The maximum number of bytes that are read.
    private static let limit = 64 << 20

    /// A bundle that was added to the directory or was already there.
    struct Line: Codable, Sendable {
        /// The file name in the directory.
        var bundle: String
        /// The original path.
        var from: String
        /// The name of the directory or zip that contained the bundle.
        var container: String
        /// True if an identical bundle, byte for byte, was already in the directory.
        var identical: Bool?
    }

    /// Returns the containers of the bundles in a directory, by bundle name.
    static func containers(in directory: String) -> [String: String] {
        Dictionary(
            lines(in: directory).filter { $0.identical != true }.map { ($0.bundle, $0.container) },
            uniquingKeysWith: { first, _ in first })
    }

    private static func lines(in directory: String) -> [Line] {
        let path = Path.join(directory, name)
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: limit) else { return [] }
        let decoder = JSONDecoder()
        // Lines that can't be decoded are ignored.
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap {
            try? decoder.decode(Line.self, from: Data($0))
        }
    }
}

extension MergeLog {
    /// Appends lines to a directory's log.
    struct Writer: ~Copyable {
        private let file: File
        private var offset: UInt64
        private var buffer: [UInt8] = []
        /// The logged bundles.
        ///
        /// Merging the same bundles again adds no lines.
        private var known: Set<[String]>

        init(directory: String) throws(SystemError) {
            let path = Path.join(directory, MergeLog.name)
            let file = try File.updatingOwn(path)
            offset = try file.size()
            self.file = file
            known = Set(MergeLog.lines(in: directory).map { [$0.bundle, $0.from] })
            // The last writer may have been ended in the middle of a line.
            if offset > 0 { buffer = [UInt8(ascii: "\n")] }
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

        /// Writes the buffered lines.
        mutating func finish() throws(SystemError) {
            if buffer.count > 1 { try flush() }
        }
    }
}

/// The containers of merged bundles.
///
/// Each directory's log is read once.
final class MergedContainers: Sendable {
    private let logs = Lock<[String: [String: String]]>([:])

    /// Returns the container that a bundle was merged from; nil if no log names it.
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
