package import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension BundleReader {
    /// Returns the metadata with SQLite's information about each copy, which only bundles before format 1.2 have; a
    /// copy that can't be extracted has none.
    package func inspectedMetadata(
        below directory: String, maximumBytes: UInt64 = .max
    ) -> BundleMetadata {
        func inspected(_ store: BundleMetadata.Store) -> BundleMetadata.Store {
            guard let entry = store.entry, store.tables == nil || store.schema == nil,
                size(ofEntry: entry) ?? 0 <= maximumBytes
            else {
                return store
            }
            let file = Path.join(directory, "inspected.sqlite")
            defer { try? FileSystem.remove(file) }
            guard (try? extract(entryNamed: entry, toNewFile: file)) != nil else { return store }
            var result = store
            do {
                try result.inspect(copyAt: file)
                result.integrity = store.integrity ?? result.integrity
                result.tables = store.tables ?? result.tables
            } catch {
                // The file is not a database, or is too damaged to be read.
                result.integrity = store.integrity ?? error.message
            }
            return result
        }
        var result = metadata
        result.stores = result.stores.map(inspected)
        result.snapshots = result.snapshots?.map { snapshot in
            var snapshot = snapshot
            snapshot.stores = snapshot.stores.map(inspected)
            return snapshot
        }
        return result
    }
}

extension BundleMetadata.Store {
    /// The maximum size of the schema that is read, in bytes; `sqlite_master` has the rest.
    private static let maximumSchemaBytes = 256 << 10
    /// The time limit for `quick_check`, and again for counting rows, in seconds.
    private static let inspectionTimeLimit = 5.0

    /// Returns the description of a store with SQLite's information about a file; nil if SQLite can't read it.
    package func inspected(copyAt path: String) -> Self? {
        var result = self
        return (try? result.inspect(copyAt: path)) == nil ? nil : result
    }

    /// Adds SQLite's information about a stand-alone copy that is not in use.
    mutating func inspect(copyAt path: String) throws(SQLiteError) {
        let connection = try Connection.untrusted(path, limits: .none)
        // In a redacted store, a row that violates a CHECK is no damage.
        if redactions != nil { try connection.execute("PRAGMA ignore_check_constraints = 1") }
        pageSize = Int(try connection.integer(of: "PRAGMA page_size"))
        pageCount = try connection.integer(of: "PRAGMA page_count")
        freePageCount = try connection.integer(of: "PRAGMA freelist_count")
        userVersion = try connection.integer(of: "PRAGMA user_version")
        applicationID = try connection.integer(of: "PRAGMA application_id")
        let (objects, _) = try DatabaseSchema.objects(of: "main", in: connection)
        var size = 0
        let kept = objects.prefix { object in
            size += [object.type, object.name, object.table, object.sql].reduce(0) { $0 + $1.utf8.count }
            return size <= Self.maximumSchemaBytes
        }
        schema = Array(kept)
        schemaOmitted = kept.count < objects.count ? objects.count - kept.count : nil
        connection.setDeadline(Instant.now.advanced(bySeconds: Self.inspectionTimeLimit))
        do throws(SQLiteError) {
            integrity = try connection.text(of: "PRAGMA quick_check(1)")
        } catch {
            integrity = error.isInterrupted ? "notChecked" : error.message
        }
        let deadline = Instant.now.advanced(bySeconds: Self.inspectionTimeLimit)
        connection.setDeadline(deadline)
        tables = objects.filter { $0.type == "table" && !folded($0.name).hasPrefix("sqlite_") }
            .map(\.name).sorted()
            .map { Self.countRows(of: $0, in: connection, until: deadline) }
    }

    /// Returns a table with its number of rows, or with a lower bound.
    private static func countRows(
        of name: String, in connection: borrowing Connection, until deadline: Instant
    ) -> Table {
        let table = quotedIdentifier(name)
        if Instant.now < deadline,
            let rows = try? connection.integer(of: "SELECT count(*) FROM \(table)")
        {
            return Table(name: name, rows: rows, exact: true)
        }
        // Some rows are counted even after the time limit, because the progress handler would otherwise stop at 0.
        connection.setDeadline(Instant.now.advanced(bySeconds: 0.05))
        defer { connection.setDeadline(deadline) }
        let rows = try? connection.integer(
            of: "SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT 1000)")
        return Table(name: name, rows: rows ?? 0, exact: false)
    }
}
