import FailureArtifactsReading
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

extension FuzzTarget {
    /// Reads an archive: its directory and the content of all entries.
    static let zip = FuzzTarget("zip", seeds: Seeds.archives) { bytes, scratch in
        let archive = try ZipArchive(path: try scratch.write(bytes, to: "a.zip"))
        for entry in archive.entries {
            require(isInside(entry.name), "'\(entry.name)' leads out of the directory.")
            var size: UInt64 = 0
            do {
                try archive.read(entry) { (piece) throws(SystemError) in
                    size += UInt64(piece.count)
                    require(size <= entry.size, "There is more content than the entry has.")
                }
                require(size == entry.size, "There is less content than the entry has.")
            } catch {
                // This entry's content is invalid. Others may be valid.
            }
            if entry.name.hasSuffix(".zip") {
                _ = try? archive.nested(entry, scratchDirectory: scratch.directory)
            }
        }
    }

    private static func isInside(_ name: String) -> Bool {
        !name.hasPrefix("/") && !name.contains("\\") && !name.utf8.contains(0)
            && !name.split(separator: "/").contains("..")
    }
}
