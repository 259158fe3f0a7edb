internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// Reads the list of entries and checks everything that can be checked without their content.
enum CentralDirectory {
    static func read(
        from source: ArchiveSource, path: String
    ) throws(ZipError) -> (entries: [ZipEntry], indices: [String: Int]) {
        let location: DirectoryLocation
        var headers: [CentralDirectoryHeader] = []
        do throws(ZipError.Reason) {
            location = try DirectoryLocation.find(in: source)
            var reader = LittleEndianReader(try source.bytes(location.size, at: location.offset))
            headers.reserveCapacity(location.entries)
            while headers.count < location.entries {
                headers.append(try CentralDirectoryHeader(&reader))
            }
            guard reader.remaining == 0 else {
                throw .inconsistent("the central directory is longer than the end record says")
            }
        } catch {
            throw ZipError(archive: path, reason: error)
        }

        let limits = try limits(of: headers, directoryOffset: location.offset, path: path)
        var entries: [ZipEntry] = []
        var indices: [String: Int] = [:]
        entries.reserveCapacity(headers.count)
        indices.reserveCapacity(headers.count)
        for (index, header) in headers.enumerated() {
            let name: String
            do throws(ZipError.Reason) {
                name = try EntryName.decode(header)
            } catch {
                let text = String(decoding: header.unicodeName ?? header.name, as: UTF8.self)
                throw ZipError(archive: path, entry: text, reason: error)
            }
            let entry = ZipEntry(header, name: name, limit: limits[index])
            if let reason = problem(with: header, entry) {
                throw ZipError(archive: path, entry: name, reason: reason)
            }
            guard indices.updateValue(index, forKey: name) == nil else {
                throw ZipError(archive: path, entry: name, reason: .duplicateName)
            }
            entries.append(entry)
        }
        return (entries, indices)
    }

    /// Returns the reason to refuse an entry; nil if it is acceptable.
    private static func problem(
        with header: CentralDirectoryHeader, _ entry: ZipEntry
    ) -> ZipError.Reason? {
        if header.disk != 0 { return .unsupported("several parts (a multi-disk archive)") }
        if header.flags & (ZipFormat.Flag.isEncrypted | ZipFormat.Flag.isMasked) != 0 {
            return .unsupported("encryption")
        }
        if header.isLink { return .symbolicLink }
        if entry.isDirectory, entry.size != 0 {
            return .inconsistent("it is a directory but has content")
        }
        if entry.method == .stored, entry.size != entry.compressedSize {
            return .inconsistent("it is not compressed but has two different sizes")
        }
        return nil
    }

    /// Returns for each entry the offset at which the next entry or the directory starts.
    private static func limits(
        of headers: [CentralDirectoryHeader], directoryOffset: UInt64, path: String
    ) throws(ZipError) -> [UInt64] {
        var limits = [UInt64](repeating: 0, count: headers.count)
        let order = headers.indices.sorted {
            headers[$0].localHeaderOffset > headers[$1].localHeaderOffset
        }
        var limit = directoryOffset
        for index in order {
            let header = headers[index]
            let headerLength = UInt64(ZipFormat.Length.localHeader + header.name.count)
            let start = header.localHeaderOffset
            guard start <= limit, headerLength <= limit - start,
                header.compressedSize <= limit - start - headerLength
            else {
                let name = String(decoding: header.name, as: UTF8.self)
                let reason = ZipError.Reason.inconsistent(
                    "it overlaps another entry or the central directory")
                throw ZipError(archive: path, entry: name, reason: reason)
            }
            limits[index] = limit
            limit = start
        }
        return limits
    }
}
