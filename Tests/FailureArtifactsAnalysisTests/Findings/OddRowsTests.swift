import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// Odd rows, references that lead nowhere, and emptied tables in stores with a history.
@Suite struct OddRowsTests {
    /// Returns the findings after transactions, each of which runs statements with their numbers of changed rows.
    private func findings(
        _ transactions: [[(sql: String, changes: Int)]], query: String = "SELECT count(*) FROM account",
        message: String = "XCTAssertEqual failed: (\"14\") is not equal to (\"25\")"
    ) throws -> [Finding] {
        let fixture = try Fixture()
        var log: [(sql: String, changes: Int?)] = []
        for transaction in transactions {
            log.append(("BEGIN", 0))
            log += transaction.map { ($0.sql, $0.changes) }
            log.append(("COMMIT", 0))
        }
        log.append((query, 0))
        let path = try fixture.walBundle(
            transactions.map { $0.map(\.sql).joined(separator: "; ") }, log: log, message: message)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip").findings
    }

    // MARK: - References

    private static func album(_ reference: String = "") -> [(sql: String, changes: Int)] {
        [
            ("CREATE TABLE album(id INTEGER PRIMARY KEY)", 0),
            ("INSERT INTO album VALUES (1), (2), (3)", 3),
            ("CREATE TABLE photo(id INTEGER PRIMARY KEY, albumID INTEGER\(reference))", 0),
            ("INSERT INTO photo VALUES (1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 3)", 6),
        ]
    }

    private static let insertion = "INSERT INTO photo (albumID) SELECT max(albumID) + 6 FROM photo"

    @Test func anOrphanIsLikelyIfTheQueryReadBothTables() throws {
        let query = "SELECT count(*) FROM photo JOIN album ON album.id = albumID"
        let transactions = [Self.album(), [(Self.insertion, 1)]]
        let read = try findings(transactions, query: query)
        #expect(read.map(\.code) == [.orphan] && read.map(\.confidence) == [.likely])
        // A query of one table has the row in its result.
        let one = try findings(transactions, query: "SELECT count(*) FROM photo")
        #expect(one.map(\.code) == [.orphan] && one.map(\.confidence) == [.possible])
    }

    @Test func anOrphanInATableThatWasNotReadIsPossible() throws {
        let deletion = [Self.album(), [("DELETE FROM album WHERE id = 2", 1)]]
        let other = try findings(deletion)
        #expect(other.first?.title == "2 rows of photo refer to an album that does not exist")
        #expect(other.map(\.confidence) == [.possible])
        let read = try findings(deletion, query: "SELECT * FROM photo")
        #expect(read.map(\.confidence) == [.likely])
    }

    @Test func titlesAgreeInNumber() throws {
        let albums = Self.album().map {
            (
                sql: $0.sql.replacing("album(", with: "albums(").replacing(
                    "INTO album ", with: "INTO albums "), changes: $0.changes
            )
        }
        func title(_ deletion: String) throws -> String? {
            try findings([albums, [(deletion, 1)]]).first?.title
        }
        #expect(
            try title("DELETE FROM albums WHERE id = 1")
                == "1 row of photo refers to a row of albums that does not exist")
        #expect(
            try title("DELETE FROM albums WHERE id = 2")
                == "2 rows of photo refer to rows of albums that do not exist")
    }

    @Test func aReferenceToZeroMayMeanNone() throws {
        let query = "SELECT count(*) FROM photo JOIN album ON album.id = albumID"
        let found = try findings(
            [Self.album(), [("INSERT INTO photo VALUES (7, 0)", 1)]], query: query)
        #expect(found.map(\.code) == [.orphan] && found.map(\.confidence) == [.possible])
    }

    @Test func theRowsOfOneStatementAreOneFinding() throws {
        let found = try findings(
            [Self.album(), [(Self.insertion, 1)], [(Self.insertion, 1)], [(Self.insertion, 1)]])
        #expect(found.count == 1)
        let finding = try #require(found.first)
        #expect(finding.title == "3 rows of photo refer to an album that does not exist")
        #expect(finding.transaction == 4 && finding.rows.first?.title == "photo id = 9")
        #expect(finding.explanation.contains("wrote photo.albumID = 21, and album has no such row."))
        #expect(finding.explanation.contains("The statement did so in 2 earlier transactions, too."))
        // Another statement is another cause.
        let others = try findings(
            [Self.album(), [(Self.insertion, 1)], [("INSERT INTO photo VALUES (99, 98)", 1)]])
        #expect(others.map(\.transaction) == [3, 2])
    }

    @Test func aViolatedForeignKeyIsCertainIfTheErrorNamesIt() throws {
        let transactions = [Self.album(" REFERENCES album"), [(Self.insertion, 1)]]
        let read = try findings(transactions, query: "SELECT count(*) FROM photo")
        #expect(read.map(\.code) == [.foreignKeyViolation] && read.map(\.confidence) == [.possible])
        let other = try findings(transactions)
        #expect(other.map(\.code) == [.foreignKeyViolation] && other.map(\.confidence) == [.possible])
        let named = try findings(transactions, message: "FOREIGN KEY constraint failed")
        #expect(named.first?.confidence == .certain)
    }

    // MARK: - Emptied tables

    private static let items: [(sql: String, changes: Int)] = [
        ("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)", 0),
        ("INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'c')", 3),
    ]
    private static let migration = ("CREATE TABLE product(id INTEGER PRIMARY KEY, title TEXT)", 0)

    @Test func aTableThatAMigrationEmptiedIsLikelyIfItWasRead() throws {
        let transactions = [Self.items, [Self.migration, ("DELETE FROM item", 3)]]
        func emptied(_ query: String) throws -> [Finding] {
            try findings(transactions, query: query).filter { $0.code == .emptiedTable }
        }
        let read = try emptied("SELECT * FROM item")
        #expect(read.map(\.confidence) == [.likely])
        #expect(read.first?.title == "Table item lost its 3 rows")
        let other = try emptied("SELECT * FROM account")
        #expect(other.map(\.confidence) == [.possible])
    }

    @Test func rowsThatWereMovedArePossible() throws {
        let found = try findings(
            [
                Self.items,
                [
                    Self.migration, ("INSERT INTO product SELECT id, name FROM item", 3),
                    ("DELETE FROM item", 3),
                ],
            ], query: "SELECT * FROM item")
        let finding = try #require(found.first { $0.code == .emptiedTable })
        #expect(finding.confidence == .possible)
        #expect(
            finding.explanation.hasSuffix(
                "removed the 3 rows that it had and inserted as many into product."))
    }

    @Test func onlyTheLastClearingOfATableIsAFinding() throws {
        let fill = ("INSERT INTO item VALUES (1, 'a')", 1)
        let clear = ("DELETE FROM item WHERE id > 0", 1)
        let found = try findings(
            [Self.items, [("DELETE FROM item WHERE id < 9", 3)], [fill], [clear], [fill], [clear]])
        #expect(found.filter { $0.code == .emptiedTable }.map(\.transaction) == [6])
        let refilled = try findings([Self.items, [("DELETE FROM item WHERE id < 9", 3)], [fill]])
        #expect(!refilled.contains { $0.code == .emptiedTable })
    }

    // MARK: - Odd values

    @Test func aRowWithSwappedValuesIsOneFinding() throws {
        let found = try findings(
            [
                [
                    ("CREATE TABLE address(id INTEGER PRIMARY KEY, zip TEXT, phone TEXT)", 0),
                    (
                        "INSERT INTO address VALUES (1, '10115', '+49 30 1'), (2, '20095', '+49 40 2'), "
                            + "(3, '50667', '+49 221 3'), (4, '80331', '+49 89 4'), (5, 'Bremen', 'x')",
                        5
                    ),
                ]
            ])
        #expect(found.map(\.title) == ["1 row of address has a zip that has another form"])
        #expect(found.first?.rows.first?.columns.map(\.column) == ["zip", "phone"])
        #expect(found.first?.explanation.contains("'x' is unlike the other 4 values of phone") == true)
    }

    @Test func valuesOfOneColumnAreOneFinding() throws {
        let values = (1...8).map { "(\($0), '2026-11-0\($0)')" } + ["(9, '2026-11-9')", "(10, 'soon')"]
        let found = try findings(
            [
                [
                    ("CREATE TABLE event(id INTEGER PRIMARY KEY, day TEXT)", 0),
                    ("INSERT INTO event VALUES \(values.joined(separator: ", "))", 10),
                ]
            ])
        #expect(found.map(\.title) == ["2 rows of event have a day that has another form"])
        #expect(
            found.first?.explanation
                == "'2026-11-9', 'soon' are unlike the other 8 values of day, such as '2026-11-01'.")
    }

    @Test func severalRowsWithoutAValueAreOptional() throws {
        func people(_ nulls: Int) throws -> [Finding] {
            let values = (1...12).map { "(\($0), \($0 > nulls ? "'p\($0)'" : "NULL"))" }
            return try findings(
                [
                    [
                        ("CREATE TABLE person(id INTEGER PRIMARY KEY, phone TEXT)", 0),
                        ("INSERT INTO person VALUES \(values.joined(separator: ", "))", 12),
                    ]
                ])
        }
        #expect(try people(3).isEmpty)
        let one = try people(1)
        #expect(one.map(\.title) == ["1 row of person has no phone"])
        #expect(one.map(\.explanation) == ["1 of 12 rows has NULL in phone."])
    }

    @Test func aNumberOfAnotherMagnitudeIsAFinding() throws {
        let values = (1...9).map { "(\($0), \(1_767_225_600 + $0 * 3_600))" } + ["(10, 1767229200000)"]
        let found = try findings(
            [
                [
                    ("CREATE TABLE message(id INTEGER PRIMARY KEY, receivedAt INTEGER)", 0),
                    ("INSERT INTO message VALUES \(values.joined(separator: ", "))", 10),
                ]
            ], query: "SELECT * FROM message")
        #expect(
            found.map(\.title) == ["In 1 row of message, receivedAt is far larger than in the others"])
        #expect(found.first?.rows.map(\.title) == ["message id = 10"])
        #expect(
            found.first?.explanation
                == "receivedAt is 1767229200000, and from 1767229200 to 1767258000 in the other 9 rows.")
        #expect(found.first?.confidence == .possible)
    }

    @Test func aTextAmongNumbersIsPossibleInAColumnThatWasNotRead() throws {
        let transactions = [
            [
                ("CREATE TABLE stock(id INTEGER PRIMARY KEY, amount INTEGER)", 0),
                ("INSERT INTO stock VALUES (1, 5), (2, 7), (3, 'many'), (4, 2)", 4),
            ]
        ]
        #expect(try findings(transactions).map(\.confidence) == [.possible])
        #expect(try findings(transactions, query: "SELECT * FROM stock").map(\.confidence) == [.likely])
        for (columns, confidence) in [("amount", Finding.Confidence.likely), ("id", .possible)] {
            #expect(
                try findings(transactions, query: "SELECT \(columns) FROM stock").map(\.confidence)
                    == [confidence])
        }
    }

    // MARK: - Order

    private func finding(
        _ code: Finding.Code, order: UInt64?, row: Int64, column: String? = nil,
        change: Finding.Row.Change = .updated, confidence: Finding.Confidence = .possible, relevance: Int
    ) -> Finding {
        Finding(
            code: code, title: "", confidence: confidence, store: "s",
            rows: [
                .init(
                    table: "t", key: [.init(column: "id", value: StoredValue(.integer(row)))],
                    change: change,
                    columns: column.map { [.init(column: $0, old: nil, new: StoredValue(.integer(1)))] }
                        ?? [])
            ],
            statement: order.map {
                StatementRecord(
                    at: "", changes: 1, connection: 1, order: $0, phase: .test,
                    sql: "UPDATE t SET a = 1",
                    thread: "")
            }, explanation: "", relevance: relevance)
    }

    @Test func furtherFindingsAboutAStatementComeAfterOtherCauses() {
        let ordered = Explanation.ordered([
            finding(.messageValues, order: 7, row: 1, column: "a", relevance: 50),
            finding(.messageValues, order: 7, row: 2, column: "a", relevance: 50),
            finding(.messageValues, order: 7, row: 3, column: "a", relevance: 50),
            finding(.patternOutlier, order: 5, row: 4, column: "b", relevance: 20),
            finding(.nullOutlier, order: nil, row: 5, column: "b", relevance: 10),
            finding(.orphan, order: 7, row: 6, confidence: .likely, relevance: 5),
        ])
        #expect(
            ordered.map { $0.rows[0].key[0].value }
                == [6, 4, 5, 1, 2, 3].map { StoredValue(.integer($0)) })
    }

    @Test func oddColumnsOfARowAreDifferentEvidence() {
        let ordered = Explanation.ordered([
            finding(.messageValues, order: 1, row: 1, column: "title", relevance: 50),
            finding(.patternOutlier, order: 1, row: 1, column: "day", relevance: 20),
            finding(.nullOutlier, order: 1, row: 1, column: "day", relevance: 10),
            finding(.duplicateRows, order: 1, row: 1, column: "day", relevance: 5),
        ])
        #expect(ordered.map(\.code) == [.messageValues, .patternOutlier])
    }

    @Test func aDeletionOfManyRowsIsOneFinding() throws {
        let rows = (1...15).map { "(\($0), 'x\($0)')" }.joined(separator: ", ")
        let found = try findings([
            [
                ("CREATE TABLE cache(id INTEGER PRIMARY KEY, value TEXT)", 0),
                ("INSERT INTO cache VALUES \(rows)", 15),
            ], [("INSERT INTO account VALUES (8, 'h', 1)", 1)], [("DELETE FROM cache", 15)],
        ])
        #expect(found.filter { $0.statement?.sql == "DELETE FROM cache" }.map(\.code) == [.broadWrite])
    }

    // MARK: - Equal rows

    /// Times aren't compared, so a change of one doesn't make rows equal.
    @Test func theLastChangeOfAComparedColumnMadeRowsEqual() throws {
        let rename = "UPDATE guest SET name = 'Ann' WHERE id = 2"
        let found = try findings([
            [("CREATE TABLE guest(id INTEGER PRIMARY KEY, name TEXT, room TEXT, seenAt TEXT)", 0)],
            [
                (
                    "INSERT INTO guest VALUES (1, 'Ann', 'a1', 'x'), (2, 'Bob', 'a1', 'x'), (3, 'Cy', 'a2', 'x'), (4, 'Di', 'a4', 'x')",
                    4
                )
            ], [(rename, 1)], [("UPDATE guest SET seenAt = 'y' WHERE id = 2", 1)],
        ])
        let equal = try #require(found.first { $0.code == .duplicateRows })
        #expect(equal.statement?.sql == rename && equal.transaction == 3)
        #expect(equal.rows.map(\.change) == [.present], "the test didn't insert it as it is")
    }
}
