import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

/// SQLite's information about a copy.
@Suite struct StoreInspectionTests {
    private func inspected(_ path: String) throws -> BundleMetadata.Store {
        let json = """
            {"name":"a","storage":"file","bytes":{},
            "capture":{"method":"fileCopy","consistent":true,"duration":0,"checkpoint":"none"}}
            """
        let store = try JSONDecoder().decode(BundleMetadata.Store.self, from: Data(json.utf8))
        return try #require(store.inspected(copyAt: path))
    }

    @Test func whatSQLiteSays() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try create(path)
            let size = try #require(FileSystem.regularFile(path)).size
            let store = try inspected(path)
            #expect(store.integrity == "ok")
            #expect(store.tables?.map(\.name) == ["a \"b\" c", "blobs", "keys"])
            #expect(store.tables?.map(\.rows) == [50, 100, 3])
            #expect(store.tables?.allSatisfy { $0.exact } == true)
            #expect(Int64(store.pageSize ?? 0) * (store.pageCount ?? 0) == Int64(size))
        }
    }

    @Test func damageIsFoundAndRowsOfOtherTablesAreCounted() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try create(path)
            let root = try #require(
                Int(try sqlite3Program(path, "SELECT rootpage FROM sqlite_master WHERE name = 'keys'")))
            let file = try #require(FileHandle(forWritingAtPath: path))
            try file.seek(toOffset: UInt64(root - 1) * 4096)
            try file.write(contentsOf: Data(repeating: 0xaa, count: 4096))
            try file.close()
            let store = try inspected(path)
            #expect(store.integrity?.contains("age \(root)") == true, "\(store.integrity ?? "")")
            #expect(store.tables?.map(\.rows) == [50, 100, 0])
            #expect(store.tables?.map(\.exact) == [true, true, false])
        }
    }

    @Test func theSchemaInItsOrder() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            let statements = [
                "CREATE TABLE b(x PRIMARY KEY, y UNIQUE)", "CREATE INDEX i ON b(y, x)",
                "CREATE VIEW a AS SELECT 'りんご'",
                "CREATE TRIGGER t AFTER INSERT ON b BEGIN SELECT 1; END",
            ]
            #expect(try sqlite3Program(path, statements.joined(separator: ";")) == "")
            let store = try inspected(path)
            #expect(store.schema?.map(\.sql) == statements)
            #expect(store.schema?.map(\.type) == ["table", "index", "view", "trigger"])
            #expect(store.schema?.map(\.table) == ["b", "b", "a", "b"])
            #expect(store.schemaOmitted == nil)
        }
    }

    @Test func aLongSchemaIsCut() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            let application = try ApplicationHandle(path)
            for index in 0..<40 {
                let comment = String(repeating: "x", count: 10_000)
                try application.run("CREATE TABLE t\(index)(a /* \(comment) */)")
            }
            application.close()
            let store = try inspected(path)
            #expect(store.schema?.count == 26 && store.schemaOmitted == 14)
        }
    }

    private func create(_ path: String) throws {
        _ = try sqlite3Program(
            path,
            """
            PRAGMA page_size = 4096; CREATE TABLE blobs(id INTEGER PRIMARY KEY, b);
            CREATE TABLE "a ""b"" c"(a); CREATE TABLE keys(k PRIMARY KEY, v) WITHOUT ROWID;
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)
            INSERT INTO blobs SELECT n, randomblob(4000) FROM c;
            INSERT INTO "a ""b"" c" SELECT id FROM blobs WHERE id % 2 = 0;
            INSERT INTO keys VALUES ('a', 1), ('b', 2), ('c', 3);
            """)
    }
}
