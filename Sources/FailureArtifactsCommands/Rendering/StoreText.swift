internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
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
    /// - `coreData`: the store's Core Data description; nil if it isn't a Core Data store.
    func lines(
        _ store: BundleMetadata.Store, coreData: CoreDataStore?, in metadata: BundleMetadata
    ) -> [String] {
        var lines = [output.styled("Store \(SafeText.line(store.name))", .heading)]
        let facts = StoreFacts(packageRoot: packageRoot).lines(of: store, in: metadata)
        lines += facts.flatMap {
            TextWrap.message(SafeText.line($0), indent: 2, for: output)
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
                lines += SafeText.lines(object.sql + ";").map { "    " + $0 }
            }
            if let omitted = store.schemaOmitted {
                lines.append("    and \(omitted) more: query 'SELECT sql FROM sqlite_master'")
            }
        }
        return lines
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
}

/// A Core Data model as readable text.
enum CoreDataText {
    /// The maximum number of relationships and attributes listed for an entity.
    private static let limit = 60

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
