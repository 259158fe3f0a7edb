internal import FailureArtifactsAnalysis

/// What is known of a Core Data model, for people.
enum CoreDataText {
    /// How many relationships and attributes of an entity are named.
    private static let limit = 60

    /// The lines of `show`.
    static func lines(_ store: CoreDataStore, output: TextOutput) -> [String] {
        var title = "Core Data"
        if let uuid = store.uuid { title += " " + uuid }
        if !store.modelIdentifiers.isEmpty {
            title += ", model " + store.modelIdentifiers.joined(separator: ", ")
        }
        var lines = ["  " + output.styled(SafeText.line(title), .bold)]
        for entity in store.entities where entity.superentity == nil {
            lines += self.lines(entity, of: store, indent: 4)
        }
        if !store.modelHashes.isEmpty {
            lines += ["", "  " + output.styled("Model hashes", .bold)]
            lines += store.modelHashes.sorted { $0.key < $1.key }.map { name, hash in
                "    " + SafeText.line("\(name) \(hash)")
            }
        }
        return lines
    }

    private static func lines(
        _ entity: CoreDataStore.Entity, of store: CoreDataStore, indent: Int
    ) -> [String] {
        let heirs = store.entities.filter { $0.superentity == entity.name }
        var heading = entity.name
        if let rows = entity.rows { heading += "  " + Counted.items(rows, "object") }
        if !heirs.isEmpty, entity.rows != nil { heading += " of its own" }
        if let table = entity.table, entity.superentity == nil { heading += "  (\(table))" }
        if entity.table == nil { heading += "  (no table)" }
        let margin = String(repeating: " ", count: indent)
        var lines = [margin + SafeText.line(heading)]
        var parts = entity.attributes.map { "\($0.name) \($0.type)" }
        parts += entity.toOne.map { "\($0.name) → \($0.entity ?? "an object, or an indexed number")" }
        parts += entity.toMany.map { "\($0.name) →→ \($0.entity)" }
        if parts.count > limit { parts = parts.prefix(limit) + ["\(parts.count - limit) more"] }
        if !parts.isEmpty { lines += parts.map { margin + "  " + SafeText.line($0) } }
        // Entities that inherit from each other in a circle have no first one, so that this comes to an end.
        if indent < 40 {
            for heir in heirs { lines += self.lines(heir, of: store, indent: indent + 4) }
        }
        return lines
    }
}
