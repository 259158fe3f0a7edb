package import FailureArtifactsSystem

/// An archive that cannot be written or read.
package struct ZipError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What went wrong.
    package enum Reason: Error, Equatable, Sendable {
        /// The file holds nothing that looks like ZIP.
        case notAnArchive
        /// The file, or an entry's compressed data, ends before it should.
        case truncated
        /// Two statements of the archive contradict each other; the text is a clause that names them.
        case inconsistent(String)
        /// The archive uses a part of the format that this module leaves out; the text is a noun.
        case unsupported(String)
        /// The entry's name could lead out of the directory it is extracted into.
        case unsafeName
        /// Two entries have the same name.
        case duplicateName
        /// The entry is a symbolic link.
        case symbolicLink
        /// There is no such entry, or it is a directory and so has no content.
        case noSuchEntry
        /// The content's CRC-32 is not the recorded one.
        case badChecksum
        /// The content's length is not the recorded one.
        case badSize
        /// A count or size is above what this module or the caller allows.
        case tooLarge(limit: UInt64)
        /// There is more content than the archive's ``ZipLimits`` allow; the text is a clause.
        case overLimit(String)
        /// A file became longer or shorter while it was being added.
        case inputChanged
        /// A system call failed.
        case system(SystemError)
    }

    /// The archive's path.
    ///
    /// For an archive inside another it is the outer one's path, a slash and the entry's
    /// name.
    package let archive: String
    /// The entry's name, where the error concerns one.
    package let entry: String?
    package let reason: Reason

    package init(archive: String, entry: String? = nil, reason: Reason) {
        self.archive = archive
        self.entry = entry
        self.reason = reason
    }

    package var description: String {
        let place = entry.map { "entry '\($0)' of '\(archive)'" } ?? "'\(archive)'"
        return switch reason {
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
            "\(place) is there twice: the names of entries have to differ."
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
}

extension ZipError {
    /// Runs `body` and adds to its failure which archive and entry it is about.
    static func naming<Result: ~Copyable>(
        _ archive: String, entry: String? = nil, _ body: () throws(Reason) -> Result
    ) throws(ZipError) -> Result {
        do {
            return try body()
        } catch {
            throw ZipError(archive: archive, entry: entry, reason: error)
        }
    }
}

extension SystemError {
    /// Runs `body` and passes its failure on as a reason.
    static func asReason<Result: ~Copyable>(
        _ body: () throws(SystemError) -> Result
    ) throws(ZipError.Reason) -> Result {
        do {
            return try body()
        } catch {
            throw .system(error)
        }
    }
}
