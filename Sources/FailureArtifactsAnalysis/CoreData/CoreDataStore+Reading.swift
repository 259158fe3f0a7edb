internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension CoreDataStore {
    /// The limits on content that is read.
    enum Limit {
        static let entities = 500
        static let tables = 5000
        /// The characters of a trigger's name.
        static let triggerName = 1000
        /// The underscores in a trigger's name.
        static let underscores = 24
        /// The largest number of an entity of the application's model.
        ///
        /// Core Data's own entities have larger numbers, and their tables start with another letter. For example, 16001
        /// is `CHANGE` of the persistent history, in the table `ACHANGE`.
        static let modelEntity: Int64 = 16000
    }

    /// Reads the description of a Core Data store.
    ///
    /// - Parameters:
    ///   - connection: A connection that has the store as `main` and doesn't trust its schema.
    ///   - counts: True to count objects, which takes as long as reading the entities' tables.
    /// - Returns: The description; nil if Core Data didn't create the store.
    /// - Throws: An error if the store can't be read.
    package static func read(
        _ connection: borrowing Connection, counts: Bool = false
    ) throws(SQLiteError) -> CoreDataStore? {
        let tables = Set(
            try rows(
                "SELECT name FROM main.sqlite_master WHERE type = 'table' LIMIT \(Limit.tables)",
                connection
            ).compactMap { $0[0].text })
        guard tables.isSuperset(of: ["Z_METADATA", "Z_PRIMARYKEY"]),
            Set(try columns(of: "Z_METADATA", connection).map(\.name))
                .isSuperset(of: ["Z_UUID", "Z_PLIST"]),
            Set(try columns(of: "Z_PRIMARYKEY", connection).map(\.name))
                .isSuperset(of: ["Z_ENT", "Z_NAME", "Z_SUPER"])
        else { return nil }
        var store = CoreDataStore()
        store.objectNames = try rows(
            "SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') LIMIT \(2 * Limit.tables)",
            connection
        ).compactMap { $0[0].text }
        try store.readMetadata(connection)
        try store.readEntities(connection, tables)
        let indices = Set(
            try rows(
                "SELECT name FROM main.sqlite_master WHERE type = 'index' LIMIT \(4 * Limit.tables)",
                connection
            ).compactMap { $0[0].text })
        let model = tables.contains("Z_MODELCACHE") ? try store.readModel(connection) : nil
        for index in store.entities.indices where store.entities[index].superentity == nil {
            try store.readColumns(ofEntityAt: index, connection, indices, model)
        }
        try store.readDerivation(connection)
        for table in tables.sorted() { try store.readLink(table, connection, model) }
        store.addInverses(model)
        if counts { try store.countObjects(connection) }
        return store
    }

    /// Reads the description of the Core Data store in a file.
    static func read(
        _ side: StoreComparison.Side, limits: UntrustedLimits = .standard
    ) throws(SQLiteError) -> CoreDataStore? {
        let connection = try Connection.untrusted(
            side.path, isPrivate: side.isPrivate, limits: limits)
        connection.setDeadline(Instant.now.advanced(bySeconds: 2))
        return try read(connection)
    }

    private mutating func readMetadata(_ connection: borrowing Connection) throws(SQLiteError) {
        let rows = try Self.rows(
            """
            SELECT substr(Z_UUID, 1, 200),
            CASE WHEN length(Z_PLIST) <= \(PropertyList.maximumBytes) THEN Z_PLIST END
            FROM main.Z_METADATA LIMIT 1
            """, connection)
        guard let row = rows.first else { return }
        uuid = row[0].text
        guard case .blob(let bytes) = row[1], let list = PropertyList(bytes) else { return }
        if case .dictionary(let hashes)? = list["NSStoreModelVersionHashes"] {
            modelHashes = hashes.compactMapValues { hash in
                if case .data(let bytes) = hash { return hexadecimalText(bytes) }
                return nil
            }
        }
        if case .array(let names)? = list["NSStoreModelVersionIdentifiers"] {
            modelIdentifiers = names.compactMap { name in
                if case .string(let text) = name, !text.isEmpty { return text }
                return nil
            }
        }
    }

    private func readModel(
        _ connection: borrowing Connection
    ) throws(SQLiteError) -> CoreDataModel? {
        guard
            try Self.columns(of: "Z_MODELCACHE", connection).contains(where: { $0.name == "Z_CONTENT" })
        else { return nil }
        let rows = try Self.rows(
            "SELECT Z_CONTENT FROM main.Z_MODELCACHE WHERE length(Z_CONTENT) <= \(CoreDataModel.maximumBytes) "
                + "AND typeof(Z_CONTENT) = 'blob' LIMIT 1", connection)
        guard case .blob(let bytes)? = rows.first?.first else { return nil }
        return CoreDataModel(bytes, entities: Set(entities.map(\.name)))
    }

    private mutating func readEntities(
        _ connection: borrowing Connection, _ tables: Set<String>
    ) throws(SQLiteError) {
        let rows = try Self.rows(
            """
            SELECT Z_ENT, Z_NAME, Z_SUPER FROM main.Z_PRIMARYKEY
            WHERE typeof(Z_ENT) = 'integer' AND length(Z_NAME) BETWEEN 1 AND 500 ORDER BY Z_ENT
            LIMIT \(Limit.entities)
            """, connection)
        var supers: [Int64: Int64] = [:]
        var names: [Int64: String] = [:]
        var seen: Set<String> = []
        for row in rows {
            guard case .integer(let number) = row[0], let name = row[1].text, names[number] == nil,
                seen.insert(name).inserted
            else { continue }
            names[number] = name
            if case .integer(let other) = row[2], other != 0 { supers[number] = other }
        }
        let capitals = Dictionary(
            tables.map { ($0.uppercased(), $0) }, uniquingKeysWith: { min($0, $1) })
        for (number, name) in names.sorted(by: { $0.key < $1.key }) {
            var (root, steps) = (number, 0)
            while let next = supers[root], names[next] != nil, steps < names.count {
                (root, steps) = (next, steps + 1)
            }
            // Entities that inherit from each other in a circle have no table.
            let isRooted = steps < names.count
            let prefix = root > Limit.modelEntity ? "A" : "Z"
            let table = isRooted ? names[root].flatMap { capitals[prefix + $0.uppercased()] } : nil
            entities.append(
                Entity(
                    name: name, number: number, superentity: supers[number].flatMap { names[$0] },
                    table: table))
        }
    }

    private mutating func countObjects(_ connection: borrowing Connection) throws(SQLiteError) {
        for table in Set(entities.compactMap(\.table)) {
            var counts: [Int64: Int64] = [:]
            let sql =
                "SELECT Z_ENT, count(*) FROM main.\(quotedIdentifier(table)) GROUP BY 1 LIMIT \(Limit.entities)"
            guard let rows = try? Self.rows(sql, connection) else { continue }
            for row in rows {
                if case .integer(let number) = row[0], case .integer(let count) = row[1] {
                    counts[number] = count
                }
            }
            for index in entities.indices where entities[index].table == table {
                entities[index].rows = counts[entities[index].number] ?? 0
            }
        }
    }

    // MARK: - Names

    /// Returns the number and the rest of a name such as `Z_26ASSETS`.
    static func numbered(_ name: String, prefix: String) -> (number: Int64, rest: String)? {
        guard name.hasPrefix(prefix) else { return nil }
        let rest = name.dropFirst(prefix.count)
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        // Names that Core Data generates have an underscore after the number: `Z26_OWNER`, but `Z_26ASSETS`.
        var name = rest.dropFirst(digits.count)
        if prefix == "Z" {
            guard name.hasPrefix("_") else { return nil }
            name = name.dropFirst()
        }
        guard let number = Int64(digits), !name.isEmpty else { return nil }
        return (number, String(name))
    }

    // MARK: - Rows

    static func columns(
        of table: String, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [(name: String, type: String)] {
        let statement = try connection.prepare(
            "SELECT name, type FROM pragma_table_info(?, 'main')")
        try statement.bind([.text(table)])
        var result: [(name: String, type: String)] = []
        while try statement.step() {
            if let name = statement.value(at: 0).text {
                result.append((name, statement.value(at: 1).text ?? ""))
            }
        }
        return result
    }

    static func rows(
        _ sql: String, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [[Value]] {
        let statement = try connection.prepare(sql)
        let count = statement.columnNames.count
        var result: [[Value]] = []
        while try statement.step() { result.append((0..<count).map { statement.value(at: $0) }) }
        return result
    }
}

extension Value {
    var text: String? {
        if case .text(let text) = self { return text }
        return nil
    }
}
