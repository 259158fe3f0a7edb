internal import FailureArtifactsAnalysis
package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The state of a store at the failure in words, for a terminal and for the page.
package enum StoreFacts {
    /// Returns the state, about one sentence per line.
    package static func lines(
        of store: BundleMetadata.Store, sqlite: String?, in metadata: BundleMetadata
    ) -> [String] {
        var lines: [String] = []
        func place(_ entry: String) -> String {
            metadata.sharedEntry(named: entry).map {
                "; an older version left it in \($0.bundle), as \($0.bundleEntry)"
            } ?? ""
        }
        if let entry = store.entry {
            // A copy of the files made after the process died lacks what a transaction had not committed.
            let isCommitted = store.transactionOpen == nil && store.capture.method == "fileCopy"
            let view =
                isCommitted
                ? "what was committed"
                : "what \(store.connection) saw" + (store.isBeforeRollback ? " before the rollback" : "")
            lines.append("\(entry)\(size(store.bytes.copy)), \(view)\(place(entry))")
        } else {
            lines.append("Described only. \(store.capture.reason ?? "")")
        }
        if let entry = store.committedEntry {
            lines.append("\(entry), what everyone else saw\(place(entry))")
        }
        if let opener = store.openedBy {
            lines.append("opened by \(opener)")
        } else if store.shared == true {
            lines.append("shared with other tests")
        }
        switch store.storage {
        case .file:
            let path = store.originalPath.map(PackageRoot(metadata).relativePath) ?? "a file"
            lines.append("was \(path)\(size(store.bytes.original))")
        case .memory: lines.append("was in memory")
        case .temporary: lines.append("was a temporary database")
        }
        var facts: [String] = []
        if let mode = store.journalMode { facts.append("journal mode \(mode)") }
        if let wal = store.bytes.wal { facts.append("\(Counted.bytes(wal)) in the WAL") }
        if store.isBeforeRollback {
            facts.append("a transaction was rolled back")
        } else if store.transactionOpen == true {
            facts.append("a transaction was open")
        } else if let writer = otherWriter(of: store, in: metadata) {
            facts.append("a transaction of \(writer) was open")
        } else if store.transactionOpen == false {
            facts.append("no transaction open")
        }
        if let version = store.userVersion, version != 0 { facts.append("user_version \(version)") }
        if let identifier = store.applicationID, identifier != 0 {
            facts.append("application_id \(identifier)")
        }
        if let sqlite, sqlite != metadata.environment.sqlite {
            facts.append("last written by SQLite \(sqlite)")
        }
        if !facts.isEmpty { lines.append(facts.joined(separator: ", ")) }
        if let history = store.history {
            if history.entry != nil {
                lines.append("history of " + Counted.items(Int64(history.transactions), "transaction"))
            }
            if let reason = history.reason { lines.append("history: " + reason) }
        }
        if store.entry != nil, store.history?.reason == nil, let reason = store.missingHistory {
            lines.append("no history: " + reason)
        }
        if let redactions = store.redactions, !redactions.isEmpty {
            lines.append("redacted: " + redactions.joined(separator: ", "))
        }
        if store.entry != nil, !store.capture.consistent {
            lines.append("The copy may mix several states: it could not be made at one moment.")
        }
        if let integrity = store.integrity, integrity != "ok" {
            lines.append(
                integrity == "notChecked" ? "integrity not checked" : "integrity: \(integrity)")
        }
        return lines
    }

    /// Returns words for the connection or process that was writing to the store, if a warning says so.
    private static func otherWriter(
        of store: BundleMetadata.Store, in metadata: BundleMetadata
    ) -> String? {
        let warning = metadata.warnings.first {
            $0.code == CaptureWarning.Code.otherWriter.rawValue && store.originalPath != nil
                && $0.parameters["path"] == store.originalPath.map { .text($0) }
        }
        return warning.map { warning in
            switch warning.parameters["process"] {
            case nil: "another connection"
            case .number(Int64(metadata.environment.processID)): "the test's process"
            default: "another process"
            }
        }
    }

    private static func size(_ bytes: UInt64?) -> String {
        bytes.map { " (\(Counted.bytes($0)))" } ?? ""
    }
}
