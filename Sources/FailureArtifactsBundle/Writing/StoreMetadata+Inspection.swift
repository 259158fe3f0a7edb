internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension BundleMetadata {
    /// Adds what SQLite says of the copies in a spool.
    mutating func inspectCopies(in spool: Spool) {
        for index in stores.indices { stores[index].inspectCopy(in: spool) }
        for index in snapshots?.indices ?? 0..<0 {
            for store in snapshots?[index].stores.indices ?? 0..<0 {
                snapshots?[index].stores[store].inspectCopy(in: spool)
            }
        }
    }
}

extension BundleMetadata.Store {
    /// Seconds for `quick_check`, and again for counting rows.
    private static let inspectionTimeLimit = 1.0

    fileprivate mutating func inspectCopy(in spool: Spool) {
        // One that the test's bundle describes only, or that was inspected before the process died.
        guard let entry, integrity == nil else { return }
        inspectCopy(at: spool.file(ofEntry: entry))
    }

    /// Adds what SQLite says of the copy.
    package mutating func inspectCopy(at path: String) {
        do throws(SQLiteError) {
            let inspection = try StoreInspection(
                ofFile: path, timeLimit: Self.inspectionTimeLimit,
                checksConstraints: redactions == nil)
            pageSize = Int(inspection.pageSize)
            pageCount = inspection.pageCount
            freePageCount = inspection.freePageCount
            userVersion = inspection.userVersion
            applicationID = inspection.applicationID
            integrity = inspection.integrity
            tables = inspection.tables.map {
                BundleMetadata.Store.Table(name: $0.name, rows: $0.rows, exact: $0.isExact)
            }
            setSchema(inspection.schema)
            // What nobody can read need not be packed. Of a damaged file each byte may count.
            if inspection.integrity == "ok" {
                _ = try? FreePages.clear(inCopyAt: path)
            }
        } catch {
            // A file that is no database, or too broken for one: what SQLite says of it is its integrity.
            integrity = error.message
        }
    }
}
