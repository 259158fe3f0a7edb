package import FailureArtifactsSystem
internal import FailureArtifactsZip

/// Finds the stores that an earlier bundle of the directory holds already, byte for byte.
///
/// A hidden folder has a small file for each store that is there, by its size and CRC-32, which says where it is.
/// Who is the first to pack a store has that file locked until its bundle is there; others wait for it. So of
/// several that pack the same store at once, one stores it.
package final class SharedStores {
    /// The variable that asks for it.
    package static let variable = "FAILURE_ARTIFACTS_SHARE_STORES"

    /// The value of the environment variable, or the default.
    package static func isWanted(_ reader: inout EnvironmentReader) -> Bool {
        reader.value(of: variable, default: false, or: "on or off", described: { $0 ? "on" : "off" }) {
            ["on": true, "off": false][$0]
        }
    }

    static let folder = ".stores"

    private final class Note {
        let file: File
        /// The entry of the new bundle that holds the store.
        let entry: String

        init(_ file: consuming File, _ entry: String) {
            self.file = file
            self.entry = entry
        }

        deinit { file.unlock() }
    }

    private let directory: ArtifactsDirectory
    private let patience: Double
    /// The stores that the new bundle will be the first to hold.
    private var notes: [Note] = []
    /// The bundles that the new one refers to, by their names.
    private(set) var holders: Set<String> = []

    /// Shares the stores of one bundle.
    ///
    /// - Parameters:
    ///   - directory: Where it goes.
    ///   - patience: Seconds for the bundles of others that are being packed, over all of its stores.
    init(in directory: ArtifactsDirectory, patience: Double = 5) {
        self.directory = directory
        self.patience = patience
    }

    /// Has a bundle that is about to be packed refer to what others hold.
    ///
    /// - Parameters:
    ///   - metadata: Gets the references.
    ///   - spool: Holds its entries.
    func share(_ metadata: inout BundleMetadata, in spool: Spool) {
        var contents: [(name: String, entry: String, size: UInt64, crc32: UInt32)] = []
        for entry in Set(metadata.storeChoices.map(\.entry)) {
            let path = spool.file(ofEntry: entry)
            guard let size = FileSystem.regularFile(path)?.size, size > 0,
                let crc32 = try? Checksum.value(ofFile: path)
            else { continue }
            let name = BundleMetadata.SharedEntry.text(crc32) + "-" + String(size)
            contents.append((name, entry, size, crc32))
        }
        // In an order that all have in common: nobody waits for somebody who waits for them.
        contents.sort { ($0.name, $0.entry) < ($1.name, $1.entry) }
        var shared: [BundleMetadata.SharedEntry] = []
        var previous = ""
        let deadline = Instant.now.advanced(bySeconds: patience)
        for content in contents {
            // Of two stores of one bundle, or what is taken for that, the second is stored.
            if content.name == previous { continue }
            if shared.count >= BundleMetadata.SharedEntry.maximumCount { break }
            previous = content.name
            guard let note = try? lockedNote(content.name, until: deadline) else { continue }
            if let holder = Self.reference(in: note),
                let found = confirmed(
                    holder, entry: content.entry, size: content.size, crc32: content.crc32,
                    as: spool.file(ofEntry: content.entry))
            {
                note.unlock()
                shared.append(found)
            } else {
                notes.append(Note(note, content.entry))
            }
        }
        holders = Set(shared.map(\.bundle))
        metadata.sharedEntries = shared.isEmpty ? nil : shared.sorted { $0.entry < $1.entry }
    }

    /// Has later bundles refer to what this one holds.
    func register(_ bundle: String) {
        for note in notes {
            let text = Array("\(bundle)\n\(note.entry)\n".utf8)
            do throws(SystemError) {
                try note.file.resize(to: 0)
                try text.withBytes { (buffer) throws(SystemError) in try note.file.write(buffer, at: 0) }
            } catch {
                // Nobody will find it.
            }
        }
        notes = []
    }

    private func lockedNote(_ name: String, until deadline: Instant) throws(SystemError) -> File? {
        let folder = Path.join(directory.path, Self.folder)
        try FileSystem.createDirectory(folder)
        let path = Path.join(folder, name)
        let file: File
        do {
            file = try File(creating: path)
        } catch  where error.isAlreadyExists {
            file = try File(updating: path)
        }
        while try !file.tryLock() {
            guard Instant.now < deadline else { return nil }
            sleep(microseconds: 1000)
        }
        return file
    }

    static func reference(in note: borrowing File) -> (bundle: String, entry: String)? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try? bytes.withMutableBytes { (buffer) throws(SystemError) in
            try note.read(into: buffer, at: 0)
        }
        // Who has died over it has left nothing, or the start of a line.
        let lines = String(decoding: bytes[..<(count ?? 0)], as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3, lines[2].isEmpty else { return nil }
        return (String(lines[0]), String(lines[1]))
    }

    /// A reference to what a bundle holds, if that is the same as a file, byte for byte.
    private func confirmed(
        _ holder: (bundle: String, entry: String), entry: String, size: UInt64, crc32: UInt32,
        as path: String
    ) -> BundleMetadata.SharedEntry? {
        let reference = BundleMetadata.SharedEntry(
            entry: entry, bundle: holder.bundle, bundleEntry: holder.entry, bytes: size, crc32: crc32)
        guard reference.namesAFile else { return nil }
        do {
            let archive = try ZipArchive(path: Path.join(directory.path, holder.bundle))
            guard let other = archive.entry(named: holder.entry), other.size == size,
                other.crc32 == crc32
            else { return nil }
            let file = try File(reading: path)
            var block = [UInt8](repeating: 0, count: 256 << 10)
            var offset: UInt64 = 0
            try archive.read(other) { (piece) throws(ZipArchive.ConsumerError) in
                let isSame = try block.withMutableBytes { (buffer) throws(SystemError) in
                    guard piece.count <= buffer.count else { return false }
                    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<piece.count])
                    guard try file.read(into: part, at: offset) == piece.count else { return false }
                    guard let one = part.baseAddress, let two = piece.baseAddress else { return true }
                    return memcmp(one, two, piece.count) == 0
                }
                guard isSame else { throw SystemError("compare", path, code: EILSEQ) }
                offset += UInt64(piece.count)
            }
            return offset == size ? reference : nil
        } catch {
            // Gone, or not the same.
            return nil
        }
    }
}
