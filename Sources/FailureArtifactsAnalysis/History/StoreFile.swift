package import FailureArtifactsBundle
internal import FailureArtifactsReading
package import FailureArtifactsSQLite

/// A scratch file with a store: a copy in the bundle, or a state that was rebuilt.
package struct StoreFile {
    /// A state of a store's history.
    package struct State: Equatable, CustomStringConvertible {
        package let number: Int
        package let transactions: Int

        /// Where it is in the history, as a clause.
        package var description: String {
            let count = Int64(transactions)
            if number == 0 {
                return "before the first of \(Counted.items(count, "transaction"))"
            }
            return "after transaction \(number) of \(count)"
        }
    }

    package let path: String
    /// Nil for a copy.
    package let state: State?

    package init(path: String, state: State?) {
        self.path = path
        self.state = state
    }
}

extension BundleReader {
    /// Takes a store out of the bundle, or a state of its history.
    ///
    /// - Parameters:
    ///   - choice: The copy.
    ///   - commit: The state; nil for the copy itself.
    ///   - directory: An existing directory, below which the file will be.
    /// - Returns: The file, which belongs to nobody else.
    /// - Throws: Why there is no such file.
    package func extract(
        _ choice: StoreChoice, at commit: CommitReference?, below directory: String
    ) throws(BundleError) -> StoreFile {
        guard let commit else {
            return StoreFile(path: try extract(choice, below: directory), state: nil)
        }
        let history = try extractHistory(of: choice, below: directory)
        let state = try history.state(of: commit)
        return StoreFile(
            path: try history.rebuild(state),
            state: StoreFile.State(number: state, transactions: history.reader.transactions.count))
    }
}
