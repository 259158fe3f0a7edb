package import FailureArtifactsSystem

/// An error in writing or reading an archive.
package struct ZipError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of error.
    package enum Reason: Error, Equatable, Sendable {
        /// The path names a pipe or a device, whose content can be read only once.
        case notAFile
        /// The file doesn't look like a ZIP archive.
        case notAnArchive
        /// The file or an entry's compressed data ends too early.
        case truncated
        /// The archive contradicts itself. The text is a clause that describes the contradiction.
        case inconsistent(String)
        /// The archive uses a part of the format that this module doesn't support. The text is a noun.
        case unsupported(String)
        /// The entry's name could lead out of the extraction directory.
        case unsafeName
        /// Two entries have the same name.
        case duplicateName
        /// The entry is a symbolic link.
        case symbolicLink
        /// The entry doesn't exist, or it is a directory, which has no content.
        case noSuchEntry
        /// The content's CRC-32 differs from the recorded one.
        case badChecksum
        /// The content's size differs from the recorded one.
        case badSize
        /// A count or size is above the limit of this module or of the caller.
        case tooLarge(limit: UInt64)
        /// The content exceeds the archive's ``ZipLimits``. The text is a clause.
        case overLimit(String)
        /// A file became longer or shorter while it was being added.
        case inputChanged
        /// A system call failed.
        case system(SystemError)
    }

    /// The archive's path.
    ///
    /// For a nested archive, it is the outer archive's path, a slash and the entry's name.
    package let archive: String
    /// The name of the entry with the error; nil if the error concerns the whole archive.
    package let entry: String?
    package let reason: Reason

    package init(archive: String, entry: String? = nil, reason: Reason) {
        self.archive = archive
        self.entry = entry
        self.reason = reason
    }

    /// Creates an error from a reason or a failed system call.
    init(archive: String, entry: String? = nil, _ error: any Error) {
        let reason = error as? Reason ?? (error as? SystemError).map(Reason.system)
        self.init(archive: archive, entry: entry, reason: reason ?? .inconsistent("\(error)"))
    }

    package var description: String {
        let place = entry.map { "entry '\($0)' of '\(archive)'" } ?? "'\(archive)'"
        return switch reason {
        case .notAFile:
            "\(place) is \(FileStatus.Kind.other.noun). Write its content to a file, and give that."
        case .notAnArchive:
            "\(place) is not a ZIP archive."
        case .truncated:
            "\(place) ends too early: part of it is missing. Copy or download it again."
        case .inconsistent(let clause):
            "\(place) is damaged: \(clause)."
        case .unsupported(let noun):
            "\(place) uses \(noun), which is not supported."
        case .unsafeName:
            "\(place) has a name that is refused, because it is empty, absolute, not plain text, or could "
                + "lead out of the directory it is extracted into."
        case .duplicateName:
            "\(place) exists twice: entry names have to be unique."
        case .symbolicLink:
            "\(place) is a symbolic link: only files and directories are accepted."
        case .noSuchEntry:
            "\(place) does not exist or is a directory, so there is no content to read."
        case .badChecksum:
            "\(place) is damaged: its content does not have the recorded CRC-32."
        case .badSize:
            "\(place) is damaged: its content does not have the recorded size."
        case .tooLarge(let limit):
            "\(place) is too large: the limit is \(limit)."
        case .overLimit(let clause):
            "\(place) is not unpacked: \(clause)."
        case .inputChanged:
            "\(place) was not written: its file became longer or shorter while it was read."
        case .system(let error):
            "\(place) could not be processed: \(error)."
        }
    }

    /// The description as full sentences.
    package var sentence: String {
        // The file that was read or written is named by the failed call.
        if case .system(let error) = reason { return error.sentence }
        let text = description
        return text.prefix(1).uppercased() + text.dropFirst()
    }
}
