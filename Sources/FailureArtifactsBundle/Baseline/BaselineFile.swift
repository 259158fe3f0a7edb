internal import CFailureArtifactsShared
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The file with the last passing runs of one test.
///
/// It is untrusted: a cache of a CI service may have any file.
///
/// The layout: ``magic``, then each version, the newest one first: three numbers of 4 bytes, least significant first (the
/// sizes of the compressed part, of the description, and of the statements), and the compressed part (zlib, RFC 1950): the
/// description as JSON, and the statements.
struct BaselineFile {
    /// A passing run.
    struct Version {
        var description: Description
        /// The chunks of the connections, as `failure_artifacts_baseline_take` returns them.
        var statements: [UInt8]
    }

    struct Description: Codable {
        /// The time of the run, in nanoseconds since 1970.
        var at: Int64
        /// The commit that was checked out; absent if unknown.
        var commit: String?
        /// The hash of the paths and the times of change of the process's images.
        var images: UInt64
        /// The stacks of the statements, by their numbers in the statements.
        var stacks: [Stack]
    }

    struct Stack: Codable {
        /// The hash of the addresses, relative to their images.
        var hash: UInt64
        /// The lines of the package's own sources, the innermost first; nil if they were not looked up.
        var lines: [StatementRecord.Source]?
    }

    private static let magic = Array("FABASE1\n".utf8)
    private static let extensionName = ".baseline"
    /// The maximum size of a version in the file, in bytes.
    private static let maximumPacked = 64 << 10
    /// The maximum size of a version's description, and of its statements, in bytes.
    private static let maximumPart = 4 << 20

    var versions: [Version] = []

    init(versions: [Version]) { self.versions = versions }

    /// Returns the name of a test's file.
    static func name(of test: BundleMetadata.Test) -> String {
        var hash = FNV1a()
        for part in [test.suite, test.name] + (test.arguments ?? []) {
            hash.add(part.utf8)
            hash.add([0])
        }
        return String(hash.value, radix: 16) + extensionName
    }

    /// Reads a file; without versions if it is missing or invalid.
    init(at path: String) {
        let limit = Self.magic.count + Baseline.maximumVersions * (Self.maximumPacked + 12)
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: limit),
            bytes.starts(with: Self.magic)
        else { return }
        var rest = bytes[Self.magic.count...]
        while versions.count < Baseline.maximumVersions, let version = Version(takenFrom: &rest) {
            versions.append(version)
        }
    }

    /// Writes the file, with the versions that have room.
    ///
    /// Others read the old file or the new one, whatever happens.
    func write(to path: String) throws(SystemError) {
        var bytes = Self.magic
        for version in versions.prefix(Baseline.maximumVersions) {
            if let packed = version.packed, packed.count <= Self.maximumPacked { bytes += packed }
        }
        let partial = path + "-\(getpid())"
        try? FileSystem.remove(partial)
        do throws(SystemError) {
            try FileSystem.write(bytes, toNewFile: partial)
            try FileSystem.rename(partial, to: path)
        } catch {
            try? FileSystem.remove(partial)
            throw error
        }
    }

    /// The versions with their statements.
    var baselines: [Baseline] { versions.map(Baseline.init) }

    fileprivate static func isSize(_ size: Int) -> Bool { (0...maximumPart).contains(size) }
}

extension BaselineFile.Version {
    /// Takes the next version from a file's bytes; nil at the end, and for an invalid one.
    fileprivate init?(takenFrom bytes: inout ArraySlice<UInt8>) {
        guard bytes.count >= 12 else { return nil }
        let sizes = (0..<3).map { number in
            (0..<4).reduce(0) { $0 | Int(bytes[bytes.startIndex + number * 4 + $1]) << ($1 * 8) }
        }
        let (packed, start, size) = (sizes[0], bytes.startIndex + 12, sizes[1] + sizes[2])
        guard packed <= bytes.endIndex - start, BaselineFile.isSize(sizes[1]),
            BaselineFile.isSize(sizes[2])
        else { return nil }
        let source = Array(bytes[start..<start + packed])
        bytes = bytes[(start + packed)...]
        guard let content = ZlibData.decompress(source, size: size),
            let description = try? JSONDecoder().decode(
                BaselineFile.Description.self, from: Data(content[..<sizes[1]]))
        else { return nil }
        self.init(description: description, statements: Array(content[sizes[1]...]))
    }

    /// The version's bytes in the file; nil if they are too many.
    fileprivate var packed: [UInt8]? {
        guard let json = try? JSONEncoder().encode(description) else { return nil }
        guard BaselineFile.isSize(json.count), BaselineFile.isSize(statements.count),
            let packed = ZlibData.compress(Array(json) + statements)
        else { return nil }
        let sizes = [packed.count, json.count, statements.count]
        return sizes.flatMap { size in (0..<4).map { UInt8(truncatingIfNeeded: size >> ($0 * 8)) } }
            + packed
    }

    /// The chunks of the connections.
    fileprivate var chunks: [LogChunk] {
        var chunks: [LogChunk] = []
        statements.withUnsafeBytes { bytes in
            var offset = 0
            let header = MemoryLayout<failure_artifacts_chunk>.size
            while bytes.count - offset >= header {
                let used = Int(bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt32.self))
                guard used >= header, used <= bytes.count - offset else { return }
                let chunk = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + used])
                if let chunk = LogChunk(chunk) { chunks.append(chunk) }
                offset += used
            }
        }
        return chunks
    }
}

extension Baseline {
    /// Reads the statements of a version.
    fileprivate init(_ version: BaselineFile.Version) {
        let at = Timestamp.description(ofNanoseconds: version.description.at)
        let stacks = version.description.stacks
        let logged = version.chunks.flatMap { [$0].statements(before: nil) }.merged()
        self.init(
            at: at, commit: version.description.commit,
            statements: logged.map { statement in
                var record = statement.record
                (record.at, record.thread) = (at, "")
                let number = record.stack?.first.flatMap { Int(exactly: $0) } ?? 0
                if stacks.indices.contains(number - 1) {
                    let lines = (stacks[number - 1].lines ?? []).prefix(
                        StatementRecord.maximumCallers + 1)
                    record.source = lines.first
                    record.callers = lines.count > 1 ? Array(lines.dropFirst()) : nil
                }
                record.stack = nil
                return record
            })
    }
}
