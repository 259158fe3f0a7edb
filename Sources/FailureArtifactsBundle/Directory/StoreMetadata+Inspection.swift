package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension BundleMetadata {
    /// Adds SQLite's information about the copies that were not inspected yet.
    ///
    /// Returns a warning for each copy that could not be inspected. The metadata has these warnings too.
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
    /// The time limit for `quick_check`, and again for counting rows, in seconds.
    private static let inspectionTimeLimit = 1.0

    fileprivate mutating func inspectCopy(in staging: StagingDirectory) -> CaptureWarning? {
        // Skip stores without a copy, and copies that were inspected before the process died.
        guard let entry, integrity == nil else { return nil }
        return inspectCopy(at: staging.file(ofEntry: entry))
    }

    private func inspection(ofCopyAt path: String) throws(SQLiteError) -> StoreInspection {
        try ForkGuard.withForksDelayed { () throws(SQLiteError) in
            try StoreInspection(
                ofFile: path, timeLimit: Self.inspectionTimeLimit, checksConstraints: redactions == nil)
        }
    }

    /// Adds SQLite's information about the copy; returns a warning if it could not be inspected.
    @discardableResult
    package mutating func inspectCopy(at path: String) -> CaptureWarning? {
        do throws(SQLiteError) {
            var inspection: StoreInspection
            do throws(SQLiteError) {
                inspection = try self.inspection(ofCopyAt: path)
            } catch  where error.isOfSystem {
                inspection = try self.inspection(ofCopyAt: path)
            }
            // SQLite may take a page that the system failed to read for damage. Real damage is found again.
            if !["ok", "notChecked"].contains(inspection.integrity) {
                inspection = try self.inspection(ofCopyAt: path)
            }
            pageSize = Int(inspection.pageSize)
            pageCount = inspection.pageCount
            freePageCount = inspection.freePageCount
            userVersion = inspection.userVersion
            applicationID = inspection.applicationID
            integrity = inspection.integrity
            tables = inspection.tables
            setSchema(inspection.schema)
            // Free pages need not be packed. In a damaged file, every byte may matter.
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
            // The file is not a database, or is too damaged to be read. SQLite's message becomes its integrity.
            integrity = error.message
            return nil
        }
    }

    /// Stores the schema of the copy.
    package mutating func setSchema(_ schema: StoreSchema) {
        self.schema = schema.objects
        schemaOmitted = schema.omitted > 0 ? schema.omitted : nil
    }
}
