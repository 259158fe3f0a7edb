internal import CFailureArtifactsShared
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// The file with the last passing runs of one test.
///
/// It is untrusted: a cache of a CI service may have any file. Most tests do the same in each run, which ``notePass(at:if:)``
/// finds out without reading the whole file.
///
/// The layout: ``magic``, then each version, the newest one first: a header, see ``Header``, and its content, compressed
/// (zlib, RFC 1950): the description, and the chunks of the connections, as `failure_artifacts_baseline_take` returns them.
///
/// The description is text: a line with the time in nanoseconds since 1970 and the commit, if it is known, and a line for
/// each stack of the statements, see ``LinesOfStacks``.
struct BaselineFile {
    /// The numbers before a version, least significant byte first.
    struct Header: Equatable {
        /// What tells two versions apart.
        struct Identity: Equatable {
            /// The size of the statements, in bytes.
            var size: UInt64
            var checksum: UInt64
        }

        static let size = 40

        var packedSize: UInt64
        var descriptionSize: UInt64
        var identity: Identity
        /// The hash of what the images of the process were; 0 if the lines were not looked up.
        var images: UInt64
    }

    /// A passing run.
    struct Version {
        var header: Header
        /// The compressed content.
        var packed: [UInt8]

        /// The description and the statements; nil if they are invalid.
        var content: (description: ArraySlice<UInt8>, statements: ArraySlice<UInt8>)? {
            let size = Int(header.descriptionSize + header.identity.size)
            guard let content = ZlibData.decompress(packed, size: size) else { return nil }
            let start = Int(header.descriptionSize)
            return (content[..<start], content[start...])
        }
    }

    private static let magic = Array("FABASE1\n".utf8)
    /// The maximum size of a version in the file, in bytes.
    private static let maximumPacked: UInt64 = 64 << 10
    /// The maximum size of a version's description, and of its statements, in bytes.
    private static let maximumPart: UInt64 = 4 << 20

    var versions: [Version] = []

    init(versions: [Version]) { self.versions = versions }

    /// Returns the name of a test's file.
    static func name(of test: BundleMetadata.Test) -> String {
        var hash = FNV1a()
        hash.add(test.suite.utf8)
        hash.add([0])
        hash.add(test.name.utf8)
        for argument in test.arguments ?? [] {
            hash.add([0])
            hash.add(argument.utf8)
        }
        return String(hash.value, radix: 16) + ".baseline"
    }

    /// Reads a file; without versions if it is missing or invalid.
    init(at path: String) {
        let limit = Self.magic.count + Baseline.maximumVersions * (Int(Self.maximumPacked) + Header.size)
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: limit),
            bytes.starts(with: Self.magic)
        else { return }
        var rest = bytes[Self.magic.count...]
        while versions.count < Baseline.maximumVersions, let version = Self.version(takenFrom: &rest) {
            versions.append(version)
        }
    }

    private static func version(takenFrom bytes: inout ArraySlice<UInt8>) -> Version? {
        guard let header = Header(bytes), header.packedSize <= bytes.count - Header.size,
            header.descriptionSize <= maximumPart, header.identity.size <= maximumPart
        else { return nil }
        bytes = bytes.dropFirst(Header.size)
        defer { bytes = bytes.dropFirst(Int(header.packedSize)) }
        return Version(header: header, packed: Array(bytes.prefix(Int(header.packedSize))))
    }

    /// Notes that the test has passed again if a file's newest version is the expected one; returns false otherwise.
    ///
    /// It reads the header only.
    static func notePass(at path: String, if isExpected: (Header) -> Bool) -> Bool {
        let start = magic.count
        guard let file = try? File(reading: path),
            let bytes = try? file.bytes(start + Header.size, at: 0), bytes.starts(with: magic),
            let header = Header(bytes[start...]), isExpected(header)
        else { return false }
        file.touch()
        return true
    }

    /// Writes the file, with the versions that have room.
    ///
    /// Others read the old file or the new one, whatever happens.
    func write(to path: String) throws(SystemError) {
        var bytes = Self.magic
        for version in versions.prefix(Baseline.maximumVersions)
        where version.header.packedSize <= Self.maximumPacked {
            bytes += version.header.bytes + version.packed
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
}

extension BaselineFile.Header.Identity {
    init(_ statements: [UInt8]) {
        self.init(size: UInt64(statements.count), checksum: ZlibData.checksum(of: statements))
    }
}

extension BaselineFile.Header {
    fileprivate init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= Self.size else { return nil }
        func number(_ index: Int) -> UInt64 {
            bytes.withUnsafeBytes {
                UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
            }
        }
        self.init(
            packedSize: number(0), descriptionSize: number(1),
            identity: Identity(size: number(2), checksum: number(3)), images: number(4))
    }

    fileprivate var bytes: [UInt8] {
        [packedSize, descriptionSize, identity.size, identity.checksum, images].flatMap { number in
            withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
    }
}

extension BaselineFile.Version {
    /// Compresses a version; nil without memory.
    ///
    /// - `lines`: the texts of the stacks, by their numbers in the statements.
    init?(
        at time: Timestamp, commit: String?, statements: [UInt8], lines: [String], images: UInt64
    ) {
        var description = "\(time.nanoseconds) \(commit ?? "")\n"
        for line in lines { description += line + "\n" }
        let bytes = Array(description.utf8)
        guard let packed = ZlibData.compress(bytes + statements) else { return nil }
        self.init(
            header: .init(
                packedSize: UInt64(packed.count), descriptionSize: UInt64(bytes.count),
                identity: .init(statements), images: images),
            packed: packed)
    }

    /// The time of the run and the commit, and the texts of the stacks.
    func described(by bytes: ArraySlice<UInt8>) -> (at: Int64, commit: String?, lines: [Substring]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        let first = (lines.first ?? "").split(separator: " ")
        return (
            first.first.flatMap { Int64($0) } ?? 0, first.dropFirst().first.map(String.init),
            Array(lines.dropFirst().dropLast())
        )
    }
}

extension Baseline {
    /// Reads the statements of a version; nil if it is invalid.
    init?(_ version: BaselineFile.Version) {
        guard let (text, statements) = version.content else { return nil }
        let (time, commit, stacks) = version.described(by: text)
        let at = Timestamp.description(ofNanoseconds: time)
        let logged = Self.chunks(in: statements).flatMap { [$0].statements(before: nil) }.merged()
        self.init(
            at: at, commit: commit,
            statements: logged.map { statement in
                var record = statement.record
                (record.at, record.thread) = (at, "")
                let number = record.stack?.first.flatMap { Int(exactly: $0) } ?? 0
                if stacks.indices.contains(number - 1) {
                    let lines = LinesOfStacks.lines(in: stacks[number - 1])
                    record.source = lines.first
                    record.callers = lines.count > 1 ? Array(lines.dropFirst()) : nil
                }
                record.stack = nil
                return record
            })
    }

    private static func chunks(in statements: ArraySlice<UInt8>) -> [LogChunk] {
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
