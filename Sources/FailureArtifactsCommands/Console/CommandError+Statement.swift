internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension CommandError {
    /// Creates the error for a user's statement that fails. Usually the statement is wrong; sometimes the store is
    /// damaged.
    ///
    /// - `isLast`: true if the file has the last state of the store.
    init(
        _ error: SQLiteError, sql: String, store: StoreChoice, path: String, isLast: Bool,
        bundle: BundleLocation
    ) {
        guard !error.isDatabaseDamaged else {
            self.init(
                .badData, "The store '\(store.name)' of '\(bundle)' is damaged: \(error.message).")
            return
        }
        guard !error.isOverLimit else {
            let reason =
                error.isInterrupted
                ? "it takes longer than the time limit. '--time-limit SECONDS' sets another one."
                : error.message + "."
            self.init(
                .inputOutput,
                "'\(sql)' was stopped on the store '\(store.name)': \(reason) \(CommandError.limitsHint)"
            )
            return
        }
        var sentence = "'\(sql)' cannot be run on the store '\(store.name)': \(error.message)."
        let hint = Spelling.hint(for: error, in: sql, ofStore: path)
        sentence += hint
        if hint.isEmpty, isLast, error.message.hasPrefix("no such table"),
            let tables = store.store.tables ?? store.store.inspected(copyAt: path)?.tables,
            !tables.isEmpty
        {
            sentence += " Its tables are " + tables.prefix(20).map(\.name).joined(separator: ", ")
            sentence += tables.count > 20 ? " and \(tables.count - 20) more." : "."
        }
        // Some versions of SQLite also reject harmless functions, such as json_group_array().
        if error.message.hasPrefix("unsafe use of") {
            sentence +=
                " A view of the store must not call it; a statement of yours may, and so may any "
                + "program on the store that 'failure-artifacts extract' writes."
        }
        self.init(.usage, sentence)
    }
}
