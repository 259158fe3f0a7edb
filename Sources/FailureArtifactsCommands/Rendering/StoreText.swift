internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A store's description as readable text.
struct StoreText {
    /// The maximum number of lines for tables, and for a Core Data model.
    private static let (maximumTables, maximumModelLines) = (10, 14)

    let parts: BundleText.Parts
    let output: TextOutput
    let packageRoot: PackageRoot

    /// Returns the lines of `show`: state, tables with their row counts, schema.
    ///
    /// - `uncommitted`: the changes of its open transaction; nil if they aren't known.
    /// - `coreData`: the store's Core Data description; nil if it isn't a Core Data store.
    /// - `sqlite`: the version of the SQLite that last wrote the store; nil if it isn't known.
    func lines(
        _ store: BundleMetadata.Store, uncommitted: UncommittedChanges?, coreData: CoreDataStore?,
        sqlite: String?, in metadata: BundleMetadata
    ) -> [String] {
        var lines = [output.styled("Store \(SafeText.line(store.name))", .heading)]
        lines += state(of: store, sqlite, in: metadata).flatMap {
            TextWrap.message(SafeText.line($0), indent: 2, for: output)
        }
        if let uncommitted {
            let title = store.isBeforeRollback ? "Rolled back" : "Not committed"
            let text = uncommitted.text(after: title) { coreData?.title(ofTable: $0) ?? $0 }
            lines += TextWrap.message(text, indent: 2, for: output)
        }
        if let coreData {
            let model = CoreDataText.lines(coreData, hasAttributes: parts.hasSchema, output: output)
            lines +=
                [""]
                + (parts.hasSchema ? model : parts.first(Self.maximumModelLines, of: model, indent: 4))
            if !parts.hasSchema { lines.append("  Attributes and relationships: see --schema") }
        }
        if let tables = store.tables, !tables.isEmpty {
            lines += ["", "  " + output.styled("Tables", .bold)]
            let rows = Self.rows(of: tables).map { "    " + $0 }
            lines += parts.first(Self.maximumTables, of: rows, "table", indent: 4)
        }
        if let schema = store.schema, !schema.isEmpty, !parts.hasSchema {
            let count = schema.count + (store.schemaOmitted ?? 0)
            lines += ["", "  Schema: \(Counted.items(Int64(count), "object")) (all with --schema)"]
        } else if let schema = store.schema, !schema.isEmpty {
            lines += ["", "  " + output.styled("Schema", .bold)]
            for object in schema {
                var sql = SafeText.lines(object.sql)
                sql[sql.count - 1] += ";"
                lines += sql.flatMap { TextWrap.code($0, indent: 4, for: output) }
            }
            if let omitted = store.schemaOmitted {
                lines.append("    and \(omitted) more: query 'SELECT sql FROM sqlite_master'")
            }
        }
        return lines
    }

    /// Returns the state, about one sentence per line.
    private func state(
        of store: BundleMetadata.Store, _ sqlite: String?, in metadata: BundleMetadata
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
            lines.append("\(entry)\(Self.size(store.bytes.copy)), \(view)\(place(entry))")
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
            let path = store.originalPath.map(packageRoot.relativePath) ?? "a file"
            lines.append("was \(path)\(Self.size(store.bytes.original))")
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
        } else if let writer = Self.otherWriter(of: store, in: metadata) {
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

    /// Returns lines such as `account  3 rows`, with aligned numbers.
    private static func rows(of tables: [BundleMetadata.Store.Table]) -> [String] {
        let names = tables.map { TextWidth.shortened(SafeText.line($0.name), to: 48) }
        let counts = tables.map { ($0.exact ? "" : "≥ ") + String($0.rows) }
        let nameWidth = names.map { TextWidth.columns(of: $0) }.max() ?? 0
        let countWidth = counts.map { TextWidth.columns(of: $0) }.max() ?? 0
        return tables.indices.map { index in
            TextWidth.padded(names[index], to: nameWidth) + "  "
                + TextWidth.padded(counts[index], to: countWidth, right: true)
                + (tables[index].rows == 1 ? " row" : " rows")
        }
    }

    private static func size(_ bytes: UInt64?) -> String {
        bytes.map { " (\(Counted.bytes($0)))" } ?? ""
    }
}

/// A Core Data model as readable text.
enum CoreDataText {
    /// The maximum number of relationships and attributes listed for an entity.
    private static let limit = 60

    /// Returns the lines of `show`.
    static func lines(
        _ store: CoreDataStore, hasAttributes: Bool, output: TextOutput
    ) -> [String] {
        var title = "Core Data"
        if let uuid = store.uuid { title += " " + uuid }
        var lines = ["  " + output.styled(SafeText.line(title), .bold)]
        for entity in store.entities where entity.superentity == nil {
            lines += self.lines(entity, of: store, hasAttributes: hasAttributes, indent: 4)
        }
        return lines
    }

    private static func lines(
        _ entity: CoreDataStore.Entity, of store: CoreDataStore, hasAttributes: Bool, indent: Int
    ) -> [String] {
        let heirs = store.entities.filter { $0.superentity == entity.name }
        var heading = entity.name
        if let rows = entity.rows { heading += "  " + Counted.items(rows, "object") }
        if !heirs.isEmpty, entity.rows != nil { heading += " of its own" }
        if let table = entity.table, entity.superentity == nil { heading += "  (\(table))" }
        if entity.table == nil { heading += "  (no table)" }
        let margin = String(repeating: " ", count: indent)
        var lines = [margin + SafeText.line(heading)]
        // A table's root entity lists the attributes and to-one relationships of its subentities, too.
        var parts = entity.attributes.map { "\($0.name) \($0.type)" }
        parts += entity.toOne.map {
            "\($0.name) → \($0.entity ?? "an object, or an indexed number")"
        }
        parts += store.links.filter { $0.source.entity == entity.name }
            .map { "\($0.target.name) →→ \($0.target.entity)" }
        if parts.count > limit { parts = parts.prefix(limit) + ["\(parts.count - limit) more"] }
        if hasAttributes { lines += parts.map { margin + "  " + SafeText.line($0) } }
        // The depth is limited. Entities that inherit from each other in a circle have no root and aren't listed.
        if indent < 40 {
            for heir in heirs {
                lines += self.lines(heir, of: store, hasAttributes: hasAttributes, indent: indent + 4)
            }
        }
        return lines
    }
}
