import GRDB
import Testing

/// A statement whose bundle has the line that ran it.
@Suite struct SourceLineTests {
    /// `lines`: trait.
    @Test func line() throws {
        let queue = try DatabaseQueue(path: try freshPath("lines.sqlite"))
        try queue.plant()
        try queue.write { db in
            try db.execute(sql: "INSERT INTO fruit VALUES ('trait')")  // line: trait
        }
        Issue.record("lines")
    }
}
