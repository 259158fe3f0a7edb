package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension BundleMetadata {
    /// Adds what SQLite says of the copies in a staging directory that were not looked at yet.
    ///
    /// - Returns: A warning for each copy that it could not look at; they are in the metadata, too.
    @discardableResult
    package mutating func inspectCopies(in staging: StagingDirectory) -> [CaptureWarning] {
        var problems: [CaptureWarning?] = []
        for index in stores.indices { problems.append(stores[index].inspectCopy(in: staging)) }
        for index in snapshots?.indices ?? 0..<0 {
            for store in snapshots?[index].stores.indices ?? 0..<0 {
                problems.append(snapshots?[index].stores[store].inspectCopy(in: staging))
            }
        }
        warnings += problems.compactMap(\.self)
        return problems.compactMap(\.self)
    }
}

extension BundleMetadata.Store {
    /// Seconds for `quick_check`, and again for counting rows.
    private static let inspectionTimeLimit = 1.0

    fileprivate mutating func inspectCopy(in staging: StagingDirectory) -> CaptureWarning? {
        // One that the test's bundle describes only, or that was inspected before the process died.
        guard let entry, integrity == nil else { return nil }
        return inspectCopy(at: staging.file(ofEntry: entry))
    }

    private func inspection(ofCopyAt path: String) throws(SQLiteError) -> StoreInspection {
        try ForkGuard.withForksDelayed { () throws(SQLiteError) in
            try StoreInspection(
                ofFile: path, timeLimit: Self.inspectionTimeLimit, checksConstraints: redactions == nil)
        }
    }

    /// Adds what SQLite says of the copy.
    ///
    /// - Returns: A warning if it could not look at it.
    @discardableResult
    package mutating func inspectCopy(at path: String) -> CaptureWarning? {
        do throws(SQLiteError) {
            var inspection: StoreInspection
            do throws(SQLiteError) {
                inspection = try self.inspection(ofCopyAt: path)
            } catch  where error.isOfSystem {
                inspection = try self.inspection(ofCopyAt: path)
            }
            // A page that the system did not give is damage to SQLite: what is in the file is found again.
            if !["ok", "notChecked"].contains(inspection.integrity) {
                inspection = try self.inspection(ofCopyAt: path)
            }
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
            // Free pages need not be packed. In a damaged file each byte may count.
            if inspection.integrity == "ok" {
                _ = try? FreePages.clear(inCopyAt: path)
            }
            return nil
        } catch  where error.isOfSystem {
            integrity = "notChecked"
            return CaptureWarning(
                .copyNotChecked,
                "The copy of the store '\(name)' could not be checked: \(error.message).",
                ["store": .text(name)])
        } catch {
            // A file that is no database, or too broken for one: what SQLite says of it is its integrity.
            integrity = error.message
            return nil
        }
    }

    /// Takes over what was read of the copy's schema.
    package mutating func setSchema(_ schema: StoreSchema) {
        self.schema = schema.objects.map {
            SchemaObject(type: $0.type, name: $0.name, table: $0.table, sql: $0.sql)
        }
        schemaOmitted = schema.omitted > 0 ? schema.omitted : nil
    }
}
