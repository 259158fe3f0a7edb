/// The kind of store that a connection has: a file with its journal mode, or none.
enum Setting: String, CaseIterable {
    case wal, delete, truncate, persist, memory, off
    case walWithoutMutex, deleteWithoutMutex
    case inMemory, inMemoryWithoutMutex, temporary

    static let files = allCases.filter(\.isFile)
    static let withoutFile = allCases.filter { !$0.isFile }
    static let logs: [Setting] = [.wal, .walWithoutMutex]
    /// All but those without a journal, where SQLite can't roll back.
    static let withRollback = allCases.filter { $0 != .off }
    /// The modes that the file itself records.
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

    /// True if the files lack the means to undo a transaction that is half written.
    var lacksJournalFile: Bool { self == .memory || self == .off }
}
