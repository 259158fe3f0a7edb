import FailureArtifactsTestKit
import XCTest

enum Stations {
    static let schema = StoreContent<SQLiteTestStore>.script(
        """
        CREATE TABLE line (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
        CREATE TABLE station (
            id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
            lineID INTEGER NOT NULL REFERENCES line ON DELETE RESTRICT,
            nextID INTEGER REFERENCES station ON DELETE RESTRICT
        );
        -- A circle: a line has a first station, and a station a line.
        CREATE TABLE terminus (lineID INTEGER PRIMARY KEY REFERENCES line, stationID INTEGER REFERENCES station);
        CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER REFERENCES b ON DELETE NO ACTION);
        CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a ON DELETE NO ACTION);
        """)

    static let shared = SharedStore(schema, named: "stations")
    static let leaking = SharedStore(schema, named: "leaking")

    static func fill(_ store: SQLiteTestStore) throws {
        try store.execute(
            """
            INSERT INTO line (name) VALUES ('山手線');
            INSERT INTO station (name, lineID) VALUES ('上野', 1), ('東京', 1);
            UPDATE station SET nextID = 3 - id;
            INSERT INTO terminus VALUES (1, 2);
            BEGIN; PRAGMA defer_foreign_keys = ON;
            INSERT INTO a VALUES (1, 2); INSERT INTO b VALUES (2, 1);
            COMMIT;
            """)
    }
}

/// One store for all tests, which leave it empty.
final class StationTests: SharedStoreTestCase<SQLiteTestStore> {
    override class var sharedStore: SharedStore<SQLiteTestStore> { Stations.shared }

    override func tearDownWithError() throws {
        try store.deleteAllRows()
    }

    func testA() throws {
        try Stations.fill(store)
        XCTAssertEqual(try store.value("SELECT count(*) FROM station"), 2)
    }

    func testB() throws {
        XCTAssertEqual(try store.value("SELECT count(*) FROM station"), 0)
        try Stations.fill(store)
        XCTAssertEqual(try store.value("SELECT max(id) FROM station"), 2, "the sequence starts anew")
        XCTAssertEqual(try store.value("PRAGMA foreign_keys"), 1)
    }

    func testRowsThatAreKept() throws {
        try store.execute(
            "INSERT INTO line (name) VALUES ('山手線'), ('中央線'); INSERT INTO a VALUES (1, NULL)")
        try store.deleteAllRows(keeping: ["LINE"])
        XCTAssertEqual(try store.value("SELECT count(*) FROM line"), 2)
        XCTAssertEqual(try store.value("SELECT count(*) FROM a"), 0)
        XCTAssertEqual(try store.value("SELECT seq FROM sqlite_sequence WHERE name = 'line'"), 2)
    }

    func testRowsThatOthersReferToAreNotKeptApart() throws {
        try store.execute(
            "INSERT INTO line (name) VALUES ('山手線'); INSERT INTO station (name, lineID) VALUES ('上野', 1)"
        )
        XCTAssertThrowsError(try store.deleteAllRows(keeping: ["station"]))
        XCTAssertEqual(try store.value("SELECT count(*) FROM line"), 1, "all or nothing")
        try store.deleteAllRows(keeping: ["a", "b"])
        XCTAssertEqual(try store.value("SELECT count(*) FROM line"), 0)
        try store.execute("BEGIN")
        try store.execute(
            """
            INSERT INTO line (name) VALUES ('山手線');
            INSERT INTO station (name, lineID) VALUES ('上野', 1), ('東京', 1);
            UPDATE station SET nextID = 3 - id;
            """)
        try store.deleteAllRows()
        try store.execute("COMMIT")
        XCTAssertEqual(try store.value("SELECT count(*) FROM station"), 0)
    }

    func testTablesThatFillThemselves() throws {
        try store.execute(
            """
            CREATE TABLE log (text TEXT);
            CREATE TRIGGER deletion AFTER DELETE ON line BEGIN INSERT INTO log VALUES (OLD.name); END;
            INSERT INTO line (name) VALUES ('山手線');
            """)
        try store.deleteAllRows()
        XCTAssertEqual(try store.value("SELECT count(*) FROM log"), 0)
        try store.execute(
            """
            CREATE TRIGGER forever AFTER DELETE ON log BEGIN INSERT INTO log VALUES ('again'); END;
            INSERT INTO log VALUES ('once');
            """)
        XCTAssertThrowsError(try store.deleteAllRows()) { error in
            XCTAssertEqual((error as? TestStoreError)?.reason, .notEmptied)
        }
        XCTAssertEqual(try store.value("SELECT text FROM log"), "once", "all or nothing")
        try store.execute("DROP TABLE log; DROP TRIGGER deletion")
    }
}
