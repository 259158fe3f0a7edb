import Foundation
import GRDB

/// The path of a store in a fresh directory.
func freshPath(_ name: String) throws -> String {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("suite-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    return directory.appendingPathComponent(name).path
}

struct Fruit: Codable, FetchableRecord, PersistableRecord, Sendable {
    var name: String
}

extension DatabaseWriter {
    /// Creates the table of ``Fruit``, with one row for each of `names`.
    func plant(_ names: String...) throws {
        try write { db in
            try db.create(table: "fruit") { $0.column("name", .text).notNull() }
            for name in names { try Fruit(name: name).insert(db) }
        }
    }
}
