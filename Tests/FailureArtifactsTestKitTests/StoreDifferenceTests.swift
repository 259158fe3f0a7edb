import FailureArtifactsTestKit
import Foundation
import Testing

@Suite struct StoreDifferenceTests {
    private func difference(_ old: String, _ new: String) throws -> StoreDifference {
        try withTemporaryDirectory { directory in
            let files = ["old", "new"].map { directory.appending(path: "\($0).sqlite") }
            for (file, sql) in zip(files, [old, new]) {
                let store = try SQLiteTestStore(at: .file(file))
                try store.execute(sql)
                store.close()
            }
            return try StoreDifference(fromFile: files[0].path, to: files[1].path)
        }
    }

    @Test func equalStoresHaveNoDifference() throws {
        let sql = "CREATE TABLE t (a); INSERT INTO t VALUES (1), ('1'), (NULL)"
        let difference = try difference(sql, sql)
        #expect(difference == .none && difference.isEmpty)
        #expect("\(difference)" == "no difference")
    }

    @Test func rowsAreCounted() throws {
        let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, a); "
        let difference = try difference(
            table + "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
            table + "INSERT INTO t VALUES (2, '2'), (3, 3), (4, 4), (5, 5)")
        #expect(difference.rows == ["t": .init(inserted: 2, updated: 1, deleted: 1)])
        #expect(!difference.isEmpty)
        #expect("\(difference)" == "t: 2 rows inserted, 1 row updated, 1 row deleted")
        #expect("\(StoreDifference.Rows())" == "no row changed")
    }

    @Test func schemasAreCompared() throws {
        let difference = try difference(
            "CREATE TABLE a (x, y INT); CREATE TABLE gone (x); CREATE TABLE same (x)",
            """
            CREATE TABLE a (y TEXT, z); CREATE TABLE new (x); CREATE TABLE same (x);
            CREATE INDEX i ON same (x); PRAGMA user_version = 2
            """)
        #expect(difference.addedTables == ["new"])
        #expect(difference.removedTables == ["gone"])
        #expect(difference.columns == ["a": .init(added: ["z"], removed: ["x"], changed: ["y"])])
        #expect(Set(difference.otherSchemaChanges) == ["index i added", "user_version changed"])
        #expect(
            "\(difference)".hasPrefix(
                """
                table new added
                table gone removed
                column a.z added
                column a.x removed
                column a.y changed

                """))
    }

    @Test func tableThatCannotBeComparedIsListedWithTheReason() {
        var difference = StoreDifference.none
        difference.notCompared = ["t": "it is damaged"]
        #expect(difference.isEmpty)
        #expect("\(difference)" == "t was not compared: it is damaged")
    }

    @Test func fileThatIsNoDatabaseIsAnError() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "a.sqlite")
            try Data("no database, but a hundred bytes and more".utf8).write(to: file)
            #expect(throws: TestStoreError.self) {
                try StoreDifference(fromFile: file.path, to: file.path)
            }
        }
    }
}
