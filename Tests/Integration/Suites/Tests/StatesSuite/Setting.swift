/// The kind of store: a file with its journal mode, or a store without a file.
enum Setting: String, CaseIterable {
    case wal, delete, truncate, persist, memory, off
    case walWithoutMutex, deleteWithoutMutex
    case inMemory, inMemoryWithoutMutex, temporary

    static let files = allCases.filter(\.isFile)
    static let logs: [Setting] = [.wal, .walWithoutMutex]
    /// All settings with a journal; without one, SQLite can't roll back.
    static let withRollback = allCases.filter { $0 != .off }
    /// The settings whose journal mode is recorded in the file.
    static let recorded: [Setting] = [.wal, .delete, .walWithoutMutex, .deleteWithoutMutex]

    var isFile: Bool {
        switch self {
        case .inMemory, .inMemoryWithoutMutex, .temporary: false
        default: true
        }
    }

    var hasMutex: Bool {
        switch self {
        case .walWithoutMutex, .deleteWithoutMutex, .inMemoryWithoutMutex: false
        default: true
        }
    }

    /// The journal mode; nil for SQLite's default.
    var journal: String? {
        switch self {
        case .wal, .walWithoutMutex: "wal"
        case .delete, .deleteWithoutMutex: "delete"
        case .truncate, .persist, .memory, .off: rawValue
        case .inMemory, .inMemoryWithoutMutex, .temporary: nil
        }
    }

    /// True if the files can't undo a partly written transaction.
    var lacksJournalFile: Bool { self == .memory || self == .off }
}
