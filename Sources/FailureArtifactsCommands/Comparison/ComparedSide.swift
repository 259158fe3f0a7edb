internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// One of the two stores that are compared: a file that SQLite reads, and what it is called.
struct ComparedSide {
    let file: StoreComparison.Side
    /// The bundle, or the file itself.
    let path: String
    /// The store of the bundle; nil where ``path`` is a database.
    let store: String?
    /// Nil for what it was at the failure.
    let state: StoreFile.State?

    /// A line for people.
    var title: String {
        (store.map { "\(path), store \($0)" } ?? path) + (state.map { ", \($0)" } ?? "")
    }
}

extension ComparedSide {
    /// The two stores that the arguments name.
    ///
    /// - Parameters:
    ///   - paths: One or two bundles or databases.
    ///   - stores: Up to two names of stores.
    ///   - commits: Up to two states of stores that have a history.
    ///   - scratch: A directory for the stores of bundles.
    ///   - limits: How much content of bundles is read.
    /// - Returns: What there was, and what it became.
    /// - Throws: That there is no such file or store, or that the arguments make no pair.
    static func pair(
        _ paths: [String], stores: [String], commits: [CommitReference], scratch: String,
        _ limits: ZipLimits
    ) throws -> (a: ComparedSide, b: ComparedSide) {
        guard commits.count <= 2 else {
            throw DiffCommand.syntax.usageError(
                "'--at' was given \(commits.count) times, and there are two stores.")
        }
        guard stores.count <= 2 else {
            throw DiffCommand.syntax.usageError(
                "'--store' was given \(stores.count) times, and there are two.")
        }
        let first = try Source(path: paths[0], scratch: scratch, limits)
        guard paths.count > 1 else {
            return try pair(within: first, stores: stores, commits: commits, scratch: scratch)
        }
        let second = try Source(path: paths[1], scratch: scratch, limits)
        if stores.count > (first.isBundle ? 1 : 0) + (second.isBundle ? 1 : 0) {
            throw DiffCommand.syntax.usageError(
                "'--store' names a store of a bundle, and there are fewer bundles than names.")
        }
        if commits.count > (first.isBundle ? 1 : 0) + (second.isBundle ? 1 : 0) {
            throw DiffCommand.syntax.usageError(
                "'--at' names a state of a store of a bundle, and there are fewer bundles than states.")
        }
        let a = try first.side(
            stores.first, at: first.isBundle ? commits.first : nil, scratch: scratch)
        // Two bundles mostly have stores of the same names.
        let name = stores.last ?? a.store.flatMap { second.has($0) ? $0 : nil }
        let isSecond = commits.count == 2 || !first.isBundle
        return (a, try second.side(name, at: isSecond ? commits.last : nil, scratch: scratch))
    }

    /// Two stores of one bundle, or two states; by default what was committed and what the test saw, or what there
    /// was when the test began to use the store and at the failure.
    private static func pair(
        within source: Source, stores: [String], commits: [CommitReference], scratch: String
    ) throws -> (a: ComparedSide, b: ComparedSide) {
        guard case .bundle(let bundle) = source else {
            throw DiffCommand.syntax.usageError("'\(source.path)' is a database: B is missing.")
        }
        if let first = commits.first {
            return (
                try source.side(stores.first, at: first, scratch: scratch),
                try source.side(
                    stores.last, at: commits.count == 2 ? commits[1] : .last, scratch: scratch)
            )
        }
        if stores.count == 2 {
            return (
                try source.side(stores[0], at: nil, scratch: scratch),
                try source.side(stores[1], at: nil, scratch: scratch)
            )
        }
        let choices = bundle.metadata.storeChoices
        var seen: StoreChoice?
        if let name = stores.first {
            seen = try bundle.store(named: name)
        } else {
            seen =
                choices.first { $0.committed(among: choices) != nil }
                ?? choices.first { $0.start(among: choices) != nil }
        }
        guard let seen,
            let before = seen.committed(among: choices) ?? seen.start(among: choices)
        else {
            throw CommandError(
                .usage,
                "'\(source.path)' has nothing to compare: no transaction was open in "
                    + (stores.first.map { "the store '\($0)'" } ?? "any store")
                    + ", and what it held at the start was not kept. Name two stores with --store, or a second bundle."
            )
        }
        return (
            try source.side(before.name, at: nil, scratch: scratch),
            try source.side(seen.name, at: nil, scratch: scratch)
        )
    }

    /// What an argument stands for.
    private enum Source {
        case bundle(BundleReader)
        case database(StoreComparison.Side)

        init(path: String, scratch: String, _ limits: ZipLimits) throws {
            if let status = try FileSystem.status(of: path), status.kind == .regular,
                let side = try StoreComparison.Side(ofFile: path)
            {
                self = .database(side)
            } else {
                let location = try BundleLocator.single(at: path)
                self = .bundle(try BundleReader(location, scratchDirectory: scratch, limits: limits))
            }
        }

        var path: String {
            switch self {
            case .bundle(let bundle): bundle.location.description
            case .database(let side): side.path
            }
        }

        var isBundle: Bool {
            if case .bundle = self { return true }
            return false
        }

        func has(_ store: String) -> Bool {
            guard case .bundle(let bundle) = self else { return false }
            return bundle.metadata.storeChoices.contains { $0.name == store }
        }

        func side(
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
}

extension StoreChoice {
    /// What was committed, where this is what the test saw inside of a transaction.
    func committed(among choices: [StoreChoice]) -> StoreChoice? {
        guard !isCommitted, let entry = store.committedEntry else { return nil }
        return choices.first { $0.isCommitted && $0.entry == entry }
    }

    /// What there was when the test began to use the store, where this is what it saw at the failure.
    func start(among choices: [StoreChoice]) -> StoreChoice? {
        isCommitted ? nil : choices.first { $0.name == "start/\(name)" }
    }
}
