package struct RowCounts: Equatable, Sendable {
    package var inserted: Int64 = 0
    package var updated: Int64 = 0
    package var deleted: Int64 = 0

    package init(inserted: Int64 = 0, updated: Int64 = 0, deleted: Int64 = 0) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
    }

    package var total: Int64 { inserted + updated + deleted }
}
