import Foundation
import GRDB

/// The kind of store that the tests open.
///
/// `score` runs all tests once with each kind.
package enum StoreKind: String, Decodable, Sendable {
    case memory
    case rollback
    case wal

    /// The kind of this run: the value of the environment variable `CULPRITS_STORE`, or WAL without one.
    package static let current: StoreKind = {
        guard let name = ProcessInfo.processInfo.environment["CULPRITS_STORE"] else { return .wal }
        guard let kind = StoreKind(rawValue: name) else {
            fatalError("CULPRITS_STORE is '\(name)'. Set it to memory, rollback or wal.")
        }
        return kind
    }()

    /// The journal mode, as SQLite names it.
    ///
    /// Stores in memory ignore it.
    package var journalMode: String { self == .wal ? "wal" : "delete" }

    /// Returns the path with which to open a store that would be in a file.
    package func path(_ file: String) -> String { self == .memory ? ":memory:" : file }

    package static func freshDirectory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("culprits-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }

    /// Opens a store with GRDB: a pool for WAL, and otherwise a queue.
    package func writer(
        _ file: String, configuration: Configuration = Configuration()
    ) throws -> any DatabaseWriter {
        switch self {
        case .memory: try DatabaseQueue(configuration: configuration)
        case .rollback: try DatabaseQueue(path: file, configuration: configuration)
        case .wal: try DatabasePool(path: file, configuration: configuration)
        }
    }

    // MARK: Tests of certain kinds

    private struct Limit: Decodable {
        let kinds: [StoreKind]
        let reason: String
        let tests: [String]
    }

    /// The content of `kinds.json`, which `score` reads too.
    private static let limits = Result {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = try Data(contentsOf: package.appendingPathComponent("kinds.json"))
        return try JSONDecoder().decode([Limit].self, from: file)
    }

    /// Returns the reason to skip a test with stores of this kind; nil if it runs.
    ///
    /// The name is as XCTest or Swift Testing writes it, such as `LedgerTests.testFees` or `oldBooksAreListed()`.
    package func reasonToSkip(_ test: String) throws -> String? {
        let words = test.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        let limit = try Self.limits.get().first { !words.filter($0.tests.contains).isEmpty }
        guard let limit, !limit.kinds.contains(self) else { return nil }
        return limit.reason
    }
}
