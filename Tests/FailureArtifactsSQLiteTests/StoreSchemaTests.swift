import FailureArtifactsSQLite
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@Suite struct StoreSchemaTests {
    @Test func whatSomebodyCreatedInItsOrder() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            let statements = [
                "CREATE TABLE b(x PRIMARY KEY, y UNIQUE)", "CREATE INDEX i ON b(y, x)",
                "CREATE VIEW a AS SELECT 'りんご'",
                "CREATE TRIGGER t AFTER INSERT ON b BEGIN SELECT 1; END",
            ]
            #expect(try sqlite3Program(path, statements.joined(separator: ";")) == "")
            let schema = try StoreSchema(of: Connection.untrusted(path), maximumBytes: .max)
            #expect(schema.objects.map(\.sql) == statements)
            #expect(schema.objects.map(\.type) == ["table", "index", "view", "trigger"])
            #expect(schema.objects.map(\.table) == ["b", "b", "a", "b"])
            #expect(schema.omitted == 0)
            #expect(try StoreInspection(ofFile: path, timeLimit: 1).schema == schema)
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
            let schema = try StoreInspection(ofFile: path, timeLimit: 1).schema
            #expect(schema.objects.count == 26)
            #expect(schema.omitted == 14)
        }
    }
}
