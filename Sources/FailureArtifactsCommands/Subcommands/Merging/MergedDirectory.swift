internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// The directory that bundles of several places are put into: nothing in it is ever overwritten.
struct MergedDirectory {
    /// What became of a bundle.
    enum Placement: Equatable {
        case added(name: String)
        /// Another bundle had its name.
        case renamed(name: String)
        /// The same bundle, byte for byte, was there already.
        case identical(name: String)

        var name: String {
            switch self {
            case .added(let name), .renamed(let name), .identical(let name): name
            }
        }
    }

    let path: String
    /// A hidden directory for what has no name yet.
    let workspace: String
    /// The names of the bundles that are there.
    private var names: [BundleIdentity: [String]] = [:]

    /// Creates the directory where it is missing.
    ///
    /// One that is new has git ignore what is in it.
    init(path: String) throws {
        self.path = path
        if try FileSystem.status(of: path) == nil { try ArtifactsDirectory(path: path).prepare() }
        workspace = try FileSystem.createUniqueDirectory(in: path, prefix: ".merging-")
    }

    /// Tells of a bundle that is in the directory already.
    mutating func note(_ name: String, _ identity: BundleIdentity) {
        names[identity, default: []].append(name)
    }

    /// Gives a bundle its name.
    ///
    /// - Parameters:
    ///   - file: A copy of it in ``workspace``, which is gone afterwards.
    ///   - name: The file name that it has where it comes from.
    ///   - identity: What the bundle holds.
    /// - Returns: What became of it.
    /// - Throws: The failure of a system call.
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

    /// A name that every file system takes; what another zip says may be anything.
    private static func safeName(_ name: String) -> String {
        let stem = BundleLocator.isZipName(name) ? String(name.dropLast(4)) : name
        return SafeName.make(from: stem, maximumBytes: 196) + ".zip"
    }

    /// `Suite.test-0000002a.zip` for `Suite.test-1a2b3c4d.zip` and 42.
    static func name(_ name: String, with number: UInt32) -> String {
        var stem = Path.stem(of: name)
        let random = stem.suffix(9)
        if random.first == "-", random.dropFirst().allSatisfy(\.isHexDigit) { stem.removeLast(9) }
        let digits = String(number, radix: 16)
        return SafeName.make(from: stem, maximumBytes: 187) + "-"
            + String(repeating: "0", count: 8 - digits.count) + digits + ".zip"
    }
}

/// What bundles of the same bytes have in common, and other bundles hardly ever.
///
/// It comes from the archive's list of entries, which has sizes and checksums already: nothing has to be read
/// for it. Where it is the same, the bytes are compared.
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

    /// What the random part of a bundle's name is replaced with where another bundle has that name: the same
    /// whenever the bundles are merged.
    var number: UInt32 {
        UInt32(truncatingIfNeeded: entries ^ (entries >> 32) ^ bytes)
    }
}
