import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@Suite struct StoreInspectionTests {
    @Test func whatSQLiteSays() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try create(path)
            let size = try #require(FileSystem.regularFile(path)).size

            let inspection = try StoreInspection(ofFile: path, timeLimit: 60)

            #expect(inspection.integrity == "ok")
            #expect(inspection.tables.map(\.name) == ["a \"b\" c", "blobs", "keys"])
            #expect(inspection.tables.map(\.rows) == [50, 100, 3])
            #expect(inspection.tables.allSatisfy { $0.exact })
            #expect(inspection.pageSize * inspection.pageCount == Int64(size))
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

            let inspection = try StoreInspection(ofFile: path, timeLimit: 60)

            #expect(inspection.integrity.contains("age \(root)"), "\(inspection.integrity)")
            #expect(inspection.tables.map(\.rows) == [50, 100, 0])
            #expect(inspection.tables.map(\.exact) == [true, true, false])
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
