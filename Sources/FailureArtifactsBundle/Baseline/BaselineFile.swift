internal import CFailureArtifactsShared
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// The file with the last passing runs of one test.
///
/// It is untrusted: a cache of a CI service may have any file. Most tests do the same in each run, which ``notePass(at:if:)``
/// finds out without reading the whole file.
///
/// The layout: ``magic``, then each run, the newest one first: a header, see ``Header``, and its content, compressed
/// (zlib, RFC 1950): the description, and the chunks of the connections, as `failure_artifacts_baseline_take` returns them.
///
/// The description is text, see ``Description``.
struct BaselineFile {
    /// The numbers before a run, least significant byte first.
    struct Header: Equatable {
        /// The statements as a hash: runs with equal ones did the same.
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
    struct PassingRun {
        var header: Header
        /// The compressed content.
        var packed: [UInt8]

        /// The description and the statements; nil if they are invalid.
        var content: (description: Description, statements: ArraySlice<UInt8>)? {
            let (start, size) = (Int(header.descriptionSize), Int(header.identity.size))
            guard let content = ZlibData.decompress(packed, size: start + size),
                let description = Description(content[..<start])
            else { return nil }
            return (description, content[start...])
        }
    }

    private static let magic = Array("FABASE1\n".utf8)
    /// The maximum size of a run in the file, in bytes.
    private static let maximumPacked: UInt64 = 64 << 10
    /// The maximum size of a run's description, and of its statements, in bytes.
    private static let maximumPart: UInt64 = 4 << 20

    var runs: [PassingRun] = []

    init(runs: [PassingRun]) { self.runs = runs }

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
        return String(hash.value, radix: 16) + suffix
    }

    private static let suffix = ".baseline"

    /// Returns the path of the file with the failures of the test that has a file.
    static func failures(beside path: String) -> String { path.dropLast(suffix.count) + failuresSuffix }

    private static let failuresSuffix = ".failures"

    /// True for the name of a test's file.
    static func isName(_ name: String) -> Bool { isName(name, suffix) }

    /// True for the name of a file with a test's failures.
    static func isNameOfFailures(_ name: String) -> Bool { isName(name, failuresSuffix) }

    private static func isName(_ name: String, _ suffix: String) -> Bool {
        name.hasSuffix(suffix) && UInt64(name.dropLast(suffix.count), radix: 16) != nil
    }

    /// True for the name of a file that a process has begun to write.
    static func isPartialName(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, pid_t(parts[1]) != nil else { return false }
        return isName(String(parts[0])) || isNameOfFailures(String(parts[0]))
    }

    /// Reads a file; without runs if it is missing or invalid.
    init(at path: String) {
        let limit = Self.magic.count + Baseline.maximumVersions * (Int(Self.maximumPacked) + Header.size)
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: limit),
            bytes.starts(with: Self.magic)
        else { return }
        var rest = bytes[Self.magic.count...]
        while runs.count < Baseline.maximumVersions, let run = Self.run(takenFrom: &rest) {
            runs.append(run)
        }
    }

    private static func run(takenFrom bytes: inout ArraySlice<UInt8>) -> PassingRun? {
        guard let header = Header(bytes), header.packedSize <= bytes.count - Header.size,
            header.descriptionSize <= maximumPart, header.identity.size <= maximumPart
        else { return nil }
        bytes = bytes.dropFirst(Header.size)
        defer { bytes = bytes.dropFirst(Int(header.packedSize)) }
        return PassingRun(header: header, packed: Array(bytes.prefix(Int(header.packedSize))))
    }

    /// Notes that the test has passed again if a file's newest run is the expected one; returns false otherwise.
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

    /// Writes the file, with the runs that have room.
    ///
    /// Others read the old file or the new one, whatever happens.
    func write(to path: String) throws(SystemError) {
        var bytes = Self.magic
        for run in runs.prefix(Baseline.maximumVersions)
        where run.header.packedSize <= Self.maximumPacked {
            bytes += run.header.bytes + run.packed
        }
        try Self.replace(path, with: bytes)
    }

    /// Replaces a file as a whole.
    static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
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

extension BaselineFile {
    /// The facts about a passing run, as text: a line of fields that are separated by tabs, and a line for each stack of the
    /// statements, see ``LinesOfStacks``.
    struct Description {
        /// In nanoseconds since 1970.
        var at: Int64
        /// The commit that was checked out; empty if it isn't known.
        var commit: String
        /// The hash of what the images of the process were.
        var images: UInt64
        /// The program, and the time of its last change in nanoseconds since 1970.
        var program: String
        var modified: Int64
        /// The texts of the stacks, by their numbers in the statements.
        var stacks: [String]

        fileprivate var bytes: [UInt8] {
            let fields = ["\(at)", commit, String(images, radix: 16), program, "\(modified)"]
            var text = fields.joined(separator: "\t") + "\n"
            for stack in stacks { text += stack + "\n" }
            return Array(text.utf8)
        }
    }
}

extension BaselineFile.Description {
    /// Parses the text, which is untrusted.
    fileprivate init?(_ bytes: ArraySlice<UInt8>) {
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        let fields = lines[0].split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 5, let at = Int64(fields[0]), let images = UInt64(fields[2], radix: 16),
            let modified = Int64(fields[4])
        else { return nil }
        self.init(
            at: at, commit: fields[1], images: images, program: fields[3], modified: modified,
            stacks: lines.dropFirst().dropLast().map(String.init))
    }
}

extension BaselineFile.PassingRun {
    /// Compresses a run; nil without memory.
    ///
    /// - `hasLines`: true if the lines of the stacks were looked up.
    init?(_ description: BaselineFile.Description, _ statements: some Collection<UInt8>, hasLines: Bool)
    {
        let (bytes, statements) = (description.bytes, Array(statements))
        guard let packed = ZlibData.compress(bytes + statements) else { return nil }
        self.init(
            header: .init(
                packedSize: UInt64(packed.count), descriptionSize: UInt64(bytes.count),
                identity: .init(statements), images: hasLines ? description.images : 0),
            packed: packed)
    }
}

extension Baseline {
    /// Reads the statements of a run; nil if it is invalid.
    ///
    /// - `build`: the hash of what the images of the failing process were; nil if unknown.
    init?(_ run: BaselineFile.PassingRun, build: UInt64?) {
        guard let (description, statements) = run.content else { return nil }
        let at = Timestamp.description(ofNanoseconds: description.at)
        let stacks = description.stacks
        let logged = Self.chunks(in: statements).flatMap { [$0].statements(before: nil) }.merged()
        self.init(
            at: at, commit: description.commit.isEmpty ? nil : description.commit,
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
        isOfSameBuild = description.images == build
    }

    /// Parses the chunks of the connections, which are untrusted.
    static func chunks(in statements: ArraySlice<UInt8>) -> [LogChunk] {
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
