internal import FailureArtifactsSystem

/// A store's history, extracted from its bundle together with the matching copy.
package struct ExtractedHistory: ~Copyable, Sendable {
    package let entry: String
    package let reader: HistoryReader
    package let copy: String
    private let directory: String

    init(
        entry: String, reader: consuming HistoryReader, copy: String, directory: String
    ) {
        self.entry = entry
        self.reader = reader
        self.copy = copy
        self.directory = directory
    }

    /// Rebuilds a state.
    package func rebuild(_ state: Int, to path: String? = nil) throws(BundleError) -> String {
        let path = path ?? Path.join(directory, "\(name(of: state)).sqlite")
        try reader.rebuild(at: state, from: copy, to: path)
        return path
    }

    /// Changes a rebuilt file to the next state.
    package func advance(_ path: String, from state: Int) throws(BundleError) {
        try reader.advance(path, from: state)
    }

    package func state(of commit: CommitReference) throws(BundleError) -> Int {
        try reader.state(of: commit)
    }

    /// Returns the stem of the file name for a state: `ledger.at-2`.
    package func name(of state: Int) -> String { "\(Path.stem(of: Path.name(of: entry))).at-\(state)" }
}
