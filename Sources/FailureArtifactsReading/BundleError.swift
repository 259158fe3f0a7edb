package import FailureArtifactsBundle
package import FailureArtifactsSystem
package import FailureArtifactsZip

/// The error for a bundle that can't be found or read.
package struct BundleError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: Equatable, Sendable {
        case notFound
        /// The directory, or the archive of bundles, has bundles, but none whose name contains the text.
        case noMatch(String, in: String)
        /// The directory, or the archive of bundles, has no bundles.
        case noBundles
        /// Several bundles, with these paths, were found where one is needed.
        case ambiguous([String])
        case noMetadata
        /// `metadata.json` is invalid; the text is a clause that gives the reason.
        case badMetadata(String)
        case newerVersion(FormatVersion)
        case noStores
        /// There is no store with that name; the second value lists the existing names.
        case noSuchStore(String, [String])
        /// The store was described, not copied; the text is the reason, as a full sentence.
        case storeNotCaptured(String, String?)
        /// The store has no history; the second text is the reason, as a full sentence.
        case noHistory(String, String?)
        /// The history in an entry can't be used; the second text is a clause without its subject.
        case badHistory(String, String)
        /// The history in an entry has no such state; the last value is its number of transactions.
        case noSuchCommit(String, String, Int)
        case missingEntry(String)
        /// The entry is only in another bundle; an older version wrote it so.
        case sharedEntry(BundleMetadata.SharedEntry)
        case statements(String)
        case archive(ZipError)
        case system(SystemError)
    }

    /// The path of the bundle, the directory or the archive of bundles.
    package let path: String
    package let reason: Reason

    package init(_ path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    package var description: String {
        switch reason {
        case .notFound:
            "There is nothing at '\(path)'. Give the path of a bundle, of a directory of bundles, or of a "
                + "zip of bundles."
        case .noMatch(let part, let container):
            "There is nothing at '\(path)', and no bundle in '\(container)' has '\(part)' in its name"
                + (part.count < BundleLocator.leastPart
                    ? ", or the part is too short: give at least \(BundleLocator.leastPart) characters."
                    : ".")
                + " 'failure-artifacts list' shows the names."
        case .noBundles:
            "'\(path)' holds no bundles: there is no .zip file with a metadata.json in it. Give the directory "
                + "into which failing tests put them; by default it is failure-artifacts."
        case .ambiguous(let paths):
            "'\(path)' stands for \(paths.count) bundles, and this takes one: choose one of "
                + Self.enumeration(paths) + "."
        case .noMetadata:
            "'\(path)' is not a bundle: it is a zip, but has no metadata.json and no bundles in it. "
                + Self.zipHint
        case .badMetadata(let clause):
            "The metadata.json of '\(path)' cannot be read: \(clause)."
        case .newerVersion(let version):
            "'\(path)' has format version \(version), and this tool reads versions up to "
                + "\(FormatVersion.current.major).x: use a newer failure-artifacts."
        case .noStores:
            "'\(path)' holds no stores: the test had no SQLite database open when it failed."
        case .noSuchStore(let name, let names):
            names.isEmpty
                ? "'\(path)' holds no stores, so there is no store '\(name)'."
                : "'\(path)' has no store '\(name)': choose one of "
                    + Self.enumeration(names) + "."
        case .storeNotCaptured(let name, let reason):
            "'\(path)' describes the store '\(name)', but has no copy of it"
                + (reason.map { ": \($0)" } ?? ".")
        case .noHistory(let name, let reason):
            "'\(path)' has no history of the store '\(name)', so that only its last state can be looked at."
                + (reason.map { " \($0)" } ?? "")
        case .badHistory(let entry, let clause): "The history '\(entry)' of '\(path)' \(clause)."
        case .noSuchCommit(let entry, let commit, let count):
            "There is no state '\(commit)': the history '\(entry)' of '\(path)' has "
                + (count == 1 ? "one transaction" : "\(count) transactions")
                + ", which makes 0 to \(count), -1 to -\(count + 1) and 'last'."
        case .missingEntry(let entry):
            "'\(path)' is incomplete: its metadata names '\(entry)', and the zip has no such entry."
        case .sharedEntry(let shared):
            "'\(path)' has no '\(shared.entry)': an older version left it in another bundle. Read "
                + "'\(shared.bundleEntry)' of '\(shared.bundle)' instead."
        case .statements(let entry):
            "The statements '\(entry)' of '\(path)' cannot be read: a line is not a statement."
        case .archive(let error):
            error.sentence + (error.reason == .notAnArchive ? " " + Self.zipHint : "")
        case .system(let error):
            error.sentence
        }
    }

    /// True if there is nothing at the path, and no bundle has its last name.
    package var isNotFound: Bool {
        if case .noMatch = reason { true } else { reason == .notFound }
    }

    private static let zipHint = "Give a zip that a failing test has left."

    /// Lists names in quotes; shortens a long list.
    private static func enumeration(_ names: [String]) -> String {
        names.prefix(12).map { "'\($0)'" }.joined(separator: ", ")
            + (names.count > 12 ? " or one of \(names.count - 12) more" : "")
    }
}

extension BundleError {
    /// Creates an error from an archive's error, and tells missing files and system errors apart.
    package init(_ path: String, zip error: ZipError) {
        switch error.reason {
        case .system(let failure) where failure.isNotFound && error.entry == nil:
            self.init(path, .notFound)
        case .system(let failure): self.init(path, .system(failure))
        default: self.init(path, .archive(error))
        }
    }
}
