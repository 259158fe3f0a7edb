package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// One of the two compared stores: a file that SQLite reads, and its description.
package struct ComparedSide {
    package let file: StoreComparison.Side
    package let path: String
    /// The store of the bundle; nil if ``path`` is a database.
    package let store: String?
    /// The state of the store's history; nil for the state at the failure.
    package let state: StoreFile.State?

    package var title: String {
        (store.map { "\(path), store \($0)" } ?? path) + (state.map { ", \($0)" } ?? "")
    }
}

/// The source of a compared store: a bundle or a database.
package enum ComparedSource {
    case bundle(BundleReader)
    case database(StoreComparison.Side)

    package init?(databaseAt path: String) throws {
        guard let status = try FileSystem.status(of: path), status.kind == .regular,
            let side = try StoreComparison.Side(ofFile: path)
        else { return nil }
        self = .database(side)
    }

    package var path: String {
        switch self {
        case .bundle(let bundle): bundle.location.description
        case .database(let side): side.path
        }
    }

    package var isBundle: Bool {
        if case .bundle = self { true } else { false }
    }

    /// Returns the name of the store that corresponds to a store of another source; nil if no store does.
    package func counterpart(of store: String, in other: ComparedSource) -> String? {
        StoreCounterpart.name(of: store, among: other.storeNames, in: storeNames)
    }

    private var storeNames: [String] {
        guard case .bundle(let bundle) = self else { return [] }
        return bundle.metadata.storeChoices.map(\.name)
    }

    package func side(
        _ name: String?, at commit: CommitReference?, scratch: String
    ) throws -> ComparedSide {
        switch self {
        case .database(let side):
            return ComparedSide(file: side, path: side.path, store: nil, state: nil)
        case .bundle(let bundle):
            let choice = try bundle.store(named: name)
            let file = try bundle.extract(choice, at: commit, below: scratch)
            return ComparedSide(
                file: StoreComparison.Side(path: file.path, isPrivate: true), path: path,
                store: choice.name, state: file.state)
        }
    }
}

extension StoreChoice {
    /// Returns the committed store, if this is the store as the test saw it inside a transaction.
    package func committed(among choices: [StoreChoice]) -> StoreChoice? {
        guard !isCommitted, let entry = store.committedEntry else { return nil }
        return choices.first { $0.isCommitted && $0.entry == entry }
    }

    /// Returns the store at the last snapshot that the test asked for, if this is the store at the failure; nil if the
    /// test asked for none before it failed or ended.
    package func snapshot(
        in metadata: BundleMetadata
    ) -> (snapshot: BundleMetadata.Snapshot, choice: StoreChoice)? {
        guard !isCommitted, name == store.name else { return nil }
        let end = metadata.failures.first?.at
        let choices = metadata.storeChoices
        // Snapshots are in the order of their times, and those after a failure are the collector's own.
        for snapshot in (metadata.snapshots ?? []).reversed()
        where snapshot.at <= end ?? snapshot.at {
            let choice = choices.first { $0.name == "\(snapshot.label)/\(name)" }
            if let choice { return (snapshot, choice) }
        }
        return nil
    }
}

/// A scratch file that contains a store: a copy from the bundle or a rebuilt state.
package struct StoreFile {
    package struct State: Equatable, CustomStringConvertible {
        package let number: Int
        package let transactions: Int

        /// The position in the history, as a clause.
        package var description: String {
            let count = Int64(transactions)
            if number == 0 {
                return "before the first of \(Counted.items(count, "transaction"))"
            }
            return "after transaction \(number) of \(count)"
        }
    }

    package let path: String
    package let state: State?

    package init(path: String, state: State?) {
        self.path = path
        self.state = state
    }
}

extension BundleReader {
    /// Extracts a store, or a state of its history, from the bundle.
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

/// The pairing of the stores of two runs by their names.
package enum StoreCounterpart {
    /// Returns the name of the corresponding store of another run: the same, or the only one that differs only in UUIDs
    /// and numbers, such as the identifier of the process; nil without one.
    package static func name(of name: String, among own: [String], in others: [String]) -> String? {
        if others.contains(name) { return name }
        let digit = "[0-9A-Fa-f]"
        let uuid = "\(digit){8}-\(digit){4}-\(digit){4}-\(digit){4}-\(digit){12}"
        guard let varying = try? Regex("\(uuid)|[0-9]+") else { return nil }
        // A name has no control characters.
        func form(of name: String) -> String { name.replacing(varying, with: "\0") }
        let common = form(of: name)
        guard common != name, own.count(where: { form(of: $0) == common }) == 1 else { return nil }
        let found = others.filter { form(of: $0) == common }
        return found.count == 1 ? found[0] : nil
    }
}
