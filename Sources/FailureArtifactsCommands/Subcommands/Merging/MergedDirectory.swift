internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

/// The target directory of a merge.
///
/// Existing files are never overwritten.
struct MergedDirectory {
    /// The result of adding a bundle.
    enum Placement: Equatable {
        case added(name: String)
        /// The bundle's name was taken or unsafe, so the bundle has another name.
        case renamed(name: String)
        /// An identical bundle, byte for byte, was already there.
        case identical(name: String)

        var name: String {
            switch self {
            case .added(let name), .renamed(let name), .identical(let name): name
            }
        }
    }

    let path: String
    /// A hidden directory for bundles that don't have a final name yet.
    let workspace: String
    /// The names of the bundles in the directory.
    private var names: [BundleIdentity: [String]] = [:]

    /// Creates the directory if it is missing.
    ///
    /// A new directory contains a file that makes git ignore the bundles.
    init(path: String) throws {
        self.path = path
        if let status = try FileSystem.status(of: path) {
            guard status.kind == .directory else {
                throw CommandError(
                    .usage, "'\(path)' is a file, and the bundles need a directory: choose one with -o.")
            }
        } else {
            try WholeFile.checkDirectory(path)
            try ArtifactsDirectory(path: path).prepare()
        }
        workspace = try FileSystem.createUniqueDirectory(in: path, prefix: ".merging-")
    }

    /// Records a bundle that is already in the directory.
    mutating func note(_ name: String, _ identity: BundleIdentity) {
        names[identity, default: []].append(name)
    }

    /// Moves a bundle to its final name.
    ///
    /// - `file`: a copy of the bundle in ``workspace``. The method moves or removes it.
    mutating func place(
        _ file: String, named name: String, _ identity: BundleIdentity
    ) throws(SystemError) -> Placement {
        for known in names[identity] ?? []
        where try FileSystem.hasSameContent(
            File(reading: file), File(reading: Path.join(path, known)))
        {
            try FileSystem.remove(file)
            return .identical(name: known)
        }
        var candidate = Self.safeName(name)
        var number = identity.number
        let wanted = candidate
        while true {
            do {
                try FileSystem.renameExclusively(file, to: Path.join(path, candidate))
                break
            } catch  where error.isAlreadyExists {
                candidate = Self.name(wanted, with: number)
                number &+= 1
            }
        }
        names[identity, default: []].append(candidate)
        return candidate == name ? .added(name: candidate) : .renamed(name: candidate)
    }

    /// Removes the workspace.
    func close() {
        try? FileSystem.remove(workspace)
    }

    /// Returns a name that is valid on every file system.
    ///
    /// Names inside other zips may contain anything.
    private static func safeName(_ name: String) -> String {
        let stem = BundleLocator.isZipName(name) ? String(name.dropLast(4)) : name
        return SafeName.make(from: stem, maximumBytes: 196) + ".zip"
    }

    /// Returns `Suite.test-0000002a.zip` for `Suite.test-1a2b3c4d.zip` and 42.
    static func name(_ name: String, with number: UInt32) -> String {
        var stem = Path.stem(of: name)
        let random = stem.suffix(9)
        if random.first == "-", random.dropFirst().allSatisfy(\.isHexDigit) { stem.removeLast(9) }
        let digits = String(number, radix: 16)
        return SafeName.make(from: stem, maximumBytes: 187) + "-"
            + String(repeating: "0", count: 8 - digits.count) + digits + ".zip"
    }
}

/// A hash key that is the same for identical bundles and almost always differs between others.
///
/// It is made from the archive's list of entries, which includes sizes and checksums, so no content is read. If two
/// keys are the same, the bytes are compared.
struct BundleIdentity: Hashable, Sendable {
    /// The bundle's size in bytes.
    private let bytes: UInt64
    /// A hash of the entries' names, sizes and checksums: FNV-1a with 64 bits.
    private let entries: UInt64

    init(_ archive: ZipArchive, bytes: UInt64) {
        self.bytes = bytes
        var hash = FNV1a()
        for entry in archive.entries {
            hash.add(entry.name.utf8)
            hash.add([0])
            withUnsafeBytes(of: entry.size.littleEndian) { hash.add($0) }
            withUnsafeBytes(of: entry.crc32.littleEndian) { hash.add($0) }
        }
        entries = hash.value
    }

    /// The number that replaces the random part of a bundle's name if another bundle has that name.
    ///
    /// It is the same whenever the same bundles are merged.
    var number: UInt32 {
        UInt32(truncatingIfNeeded: entries ^ (entries >> 32) ^ bytes)
    }
}
