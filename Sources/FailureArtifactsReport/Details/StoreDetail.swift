internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

struct StoreDetail: Sendable {
    let store: BundleMetadata.Store
    var tables: [TableDetail] = []
    var omittedTables = 0
    /// The transactions, oldest first, and the changes that were not committed.
    var steps: [StepDetail] = []
    var transactionCount = 0
    /// The statements on the store's connections, oldest first.
    var statements: [StatementRecord] = []
    var notes: [String] = []
    /// Nil if the store was not created by Core Data.
    var coreData: CoreDataStore?
    /// The version of the SQLite that last wrote the store; nil if it isn't known.
    var sqlite: String?

    init(_ store: BundleMetadata.Store) {
        self.store = store
    }

    func statements(of step: StepDetail) -> [StatementRecord] { step.statements.map { statements[$0] } }
}

extension StoreDetail {
    /// Reads the steps and the tables of a store.
    mutating func read(_ store: Timeline, _ budget: ReadingBudget) {
        do {
            // SQLite stores a database without tables as an empty file.
            let isEmpty = FileSystem.regularFile(store.path)?.size == 0
            if !isEmpty { coreData = try CoreDataStore.read(try Connection.untrusted(store.path)) }
            addSteps(of: store)
            if !isEmpty { try readTables(of: store.path, budget) }
        } catch {
            notes.append("The tables cannot be read. \(CommandError(error).description)")
        }
    }
}
