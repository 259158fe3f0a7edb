import FailureArtifactsTestKit
import Testing

@Suite struct RowRemovalTests {
    private func withLines(_ body: (SQLiteTestStore) throws -> Void) throws {
        let lines = StoreContent<SQLiteTestStore>.script(
            """
            CREATE TABLE line (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
            CREATE TABLE station (id INTEGER PRIMARY KEY, line REFERENCES line ON DELETE RESTRICT);
            INSERT INTO line (name) VALUES ('Yamanote'), ('Chuo');
            INSERT INTO station VALUES (1, 1), (2, 2);
            """)
        try withTestStore(SQLiteTestStore.self, lines, placement: .inMemory, body)
    }

    @Test func rowsAndSequencesAreDeleted() throws {
        try withLines { store in
            try store.deleteAllRows()
            #expect(try store.value("SELECT count(*) FROM line") == 0)
            #expect(try store.value("SELECT count(*) FROM station") == 0)
            try store.execute("INSERT INTO line (name) VALUES ('Ginza')")
            #expect(try store.value("SELECT id FROM line") == 1)
        }
    }

    @Test func keptTablesAreUnchanged() throws {
        try withLines { store in
            try store.deleteAllRows(keeping: ["LINE"])
            #expect(try store.value("SELECT count(*) FROM line") == 2)
            #expect(try store.value("SELECT count(*) FROM station") == 0)
            #expect(try store.value("SELECT seq FROM sqlite_sequence WHERE name = 'line'") == 2)
        }
    }

    @Test func keptRowsThatReferToDeletedOnesAreAnError() throws {
        try withLines { (store) throws in
            #expect(throws: TestStoreError.self) { try store.deleteAllRows(keeping: ["station"]) }
            #expect(try store.value("SELECT count(*) FROM line") == 2)
        }
    }

    @Test func deletionIsPartOfAnOpenTransaction() throws {
        try withLines { store in
            try store.execute("BEGIN")
            try store.deleteAllRows()
            try store.execute("ROLLBACK")
            #expect(try store.value("SELECT count(*) FROM line") == 2)
        }
    }

    @Test func tablesThatTriggersFillAreEmptiedToo() throws {
        try withLines { store in
            try store.execute(
                """
                CREATE TABLE log (text);
                CREATE TRIGGER deletion AFTER DELETE ON station BEGIN INSERT INTO log VALUES ('gone'); END;
                """)
            try store.deleteAllRows()
            #expect(try store.value("SELECT count(*) FROM log") == 0)
        }
    }

    @Test func tableThatTriggersFillAgainIsAnError() throws {
        try withLines { store in
            try store.execute(
                """
                CREATE TABLE log (text); INSERT INTO log VALUES ('once');
                CREATE TRIGGER forever AFTER DELETE ON log BEGIN INSERT INTO log VALUES ('again'); END;
                """)
            expectError(.notEmptied, "The table 'log' cannot be emptied") { try store.deleteAllRows() }
            #expect(try store.value("SELECT text FROM log") == "once")
            #expect(try store.value("SELECT count(*) FROM line") == 2)
        }
    }
}
