import CFailureArtifactsCapture
import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsSQLite
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCapture

// The stacks and the values of statements, whatever ran before them.
extension StatementLogTests {
    /// A way to insert many rows.
    enum Fixture: CaseIterable {
        /// One prepared statement.
        case prepared
        /// One text that is prepared each time.
        case text
        /// Texts that differ in their values.
        case texts
    }

    private static let insert = "INSERT INTO item(name, number) VALUES (?, ?)"

    private func insert(_ number: Int, _ handle: ApplicationHandle) throws {
        let statement = try Prepared(handle, Self.insert)
        statement.bind(["item \(number)", number])
        statement.run()
    }

    private func insertMany(_ fixture: Fixture, _ handle: ApplicationHandle) throws {
        let prepared = try Prepared(handle, Self.insert)
        for number in 0..<5000 {
            switch fixture {
            case .prepared:
                prepared.bind(["item \(number)", number])
                prepared.run()
            case .text: try insert(number, handle)
            case .texts:
                try handle.run("INSERT INTO item(name, number) VALUES ('item \(number)', \(number))")
            }
        }
    }

    /// The last statement may have the text of the fixture, and may be run by the same functions from another line.
    @Test(arguments: Fixture.allCases) func aFixtureTakesNoLineFromTheStatementBehindIt(fixture: Fixture)
        throws
    {
        for _ in 0..<20 {
            try withConnection(statements: 1000, values: true, path: ":memory:") { handle in
                try handle.run("CREATE TABLE item(name, number); CREATE INDEX numbers ON item(number)")
                try insertMany(fixture, handle)
                try handle.run("UPDATE item SET name = 'x' WHERE number = 7")
                try insert(-1, handle)
                let log = try statements(handle)
                let (update, last) = (try #require(log.dropLast().last), try #require(log.last))
                #expect(update.stack != nil && update.sql.hasPrefix("UPDATE"))
                #expect(last.stack != nil && last.sql == Self.insert)
                #expect(last.values?.map(\.value) == [.text("item -1"), .integer(-1)])
                // The statements before the fixture are there, and the fixture is counted.
                #expect(log.prefix(2).map(\.sql).joined().contains("CREATE TABLE item"))
                #expect(log.prefix(2).allSatisfy { $0.stack != nil })
                let inserts = log.filter { $0.sql.hasPrefix("INSERT INTO item") }
                #expect(inserts.map { $0.repeated ?? 1 }.reduce(0, +) == 5001)
                #expect(inserts.compactMap(\.changes).reduce(0, +) == 5001)
                #expect(inserts.count { $0.repeated != nil } < 20 && log.count < 1100)
            }
        }
    }

    /// Whatever the other statements are, those that failed stay, with their errors.
    @Test func anOldErrorIsKept() throws {
        try withConnection(statements: 100, path: ":memory:") { handle in
            try handle.run("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (1)")
            #expect(handle.failure(of: "INSERT INTO t VALUES (1)") != nil)
            #expect(handle.failure(of: "SELECT b FROM t") != nil)
            for number in 2..<3000 { try handle.run("INSERT INTO t VALUES (\(number))") }
            let failed = try statements(handle).filter { $0.error != nil }
            #expect(
                failed.map { $0.error?.message } == [
                    "UNIQUE constraint failed: t.a", "no such column: b",
                ])
            #expect(failed.allSatisfy { $0.stack != nil && $0.repeated == 1 })
        }
    }

    /// More different statements than a log keeps.
    @Test func ofVeryManyDifferentStatementsTheOldestAreDropped() throws {
        try withConnection(statements: 100, path: ":memory:") { handle in
            let names = (0..<8000).map { number in
                String(String(number).map { "abcdefghij".dropFirst(Int(String($0)) ?? 0).first ?? "x" })
            }
            for name in names { try handle.run("SELECT 1 AS \(name)") }
            let log = try statements(handle)
            #expect(log.suffix(100).map(\.sql) == names.suffix(100).map { "SELECT 1 AS \($0)" })
            let older = log.dropLast(100)
            #expect(older.count > 300 && older.count < 2000)
            #expect(
                older.allSatisfy {
                    $0.repeated == 1 && names.contains(String($0.sql.dropFirst(12)))
                })
            #expect(log.map(\.order) == Set(log.map(\.order)).sorted())
        }
    }

    // MARK: Values

    @Test(arguments: [false, true]) func valuesAreRecordedUnlessTurnedOff(values: Bool) throws {
        try withConnection(statements: 10, values: values) { handle in
            let statement = try Prepared(
                handle, "SELECT ?, ?3 /* ? */, :name, '?', \"?\", :name, ? -- ?")
            statement.bind([1, nil, 2.5, "it's", [UInt8](0..<20)])
            statement.run()
            let last = try #require(try statements(handle).last)
            #expect(last.sql == "SELECT ?, ?3 /* ? */, :name, '?', \"?\", :name, ? -- ?")
            #expect(
                last.values?.map(\.value)
                    == (values
                        ? [.integer(1), .null, .real(2.5), .text("it's"), .blob(Array(0..<20))] : nil))
            #expect(last.longValues == nil)
        }
    }

    @Test func longValuesAreCut() throws {
        try withConnection(statements: 10, values: true) { handle in
            let text = String(repeating: "it's ä ", count: 2000)
            let statement = try Prepared(handle, "SELECT ?, ?, ?")
            statement.bind([text, [UInt8](repeating: 7, count: 3000), 5])
            statement.run()
            let values = try #require(try statements(handle).last?.values)
            guard case .text(let start) = values[0].value, case .blob(let bytes) = values[1].value else {
                Issue.record("\\(values)")
                return
            }
            #expect(
                text.hasPrefix(start) && start.utf8.count > 800 && values[0].bytes == text.utf8.count)
            #expect(bytes.count > 400 && bytes.allSatisfy { $0 == 7 } && values[1].bytes == 3000)
            #expect(values[2] == BoundValue(.integer(5)))
        }
    }

    /// SQLite would take milliseconds to write them.
    @Test func tooLongValuesAreLeftOut() throws {
        try withConnection(statements: 10, values: true) { handle in
            let limit = sqlite3_limit(handle.handle, SQLITE_LIMIT_LENGTH, -1)
            let statement = try Prepared(handle, "SELECT ?")
            statement.bind([[UInt8](repeating: 7, count: 1 << 20)])
            statement.run()
            let last = try #require(try statements(handle).last)
            #expect(last.values == nil && last.longValues == true)
            #expect(sqlite3_limit(handle.handle, SQLITE_LIMIT_LENGTH, -1) == limit)
            // The connection has no error of ours.
            #expect(
                sqlite3_errcode(handle.handle) == SQLITE_DONE
                    || sqlite3_errcode(handle.handle) == SQLITE_OK)
        }
    }

    /// Compares the values of random statements with those that were bound.
    @Test func valuesAreThoseThatWereBound() throws {
        try withConnection(statements: 20, values: true, path: ":memory:") { handle in
            var random = SplitMix(seed: 7)
            let pieces = [
                "'?'", "\"a?\"", "[b?]", "/* ? ' */ 1", "-- ' ?\n2", "`c?`", "'it''s ?'", "x'00'",
                "3.5e7",
                "?", "?", "?", "?7", ":a", "@b", "$c", ":a", "?2",
            ]
            // Those that aren't compared yet; fewer than the log keeps.
            var run: [(sql: String, values: [Value])] = []
            for round in 1...rounds(300, of: 1500) {
                let count = Int.random(in: 1...8, using: &random)
                let terms = (0..<count).map { _ in pieces[Int.random(in: pieces.indices, using: &random)]
                }
                let sql =
                    "SELECT " + terms.map { "typeof(\($0))" }.joined(separator: ", ")
                    + " FROM (SELECT 1 AS \"a?\", 2 AS [b?], 3 AS `c?`)"
                let statement = try Prepared(handle, sql)
                let parameters = Int(sqlite3_bind_parameter_count(statement.handle))
                let bound: [Any?] = (0..<parameters).map { _ in
                    switch Int.random(in: 0...6, using: &random) {
                    case 0: nil
                    case 1: Int.random(in: -5...5, using: &random)
                    case 2: Double(Int.random(in: -9...9, using: &random)) / 8
                    case 3:
                        String(
                            (0..<Int.random(in: 0...6, using: &random)).map { _ in
                                "'?ä\n;x".randomElement(using: &random) ?? "x"
                            })
                    case 4: Int.max - Int.random(in: 0...3, using: &random)
                    case 5: Double(Int.random(in: 0...9, using: &random))
                    default:
                        (0..<Int.random(in: 0...9, using: &random)).map { _ in
                            UInt8(Int.random(in: 0...255, using: &random))
                        }
                    }
                }
                statement.bind(bound)
                statement.run()
                let used = Set(StatementParameter.all(in: sql).map(\.number))
                run.append(
                    (
                        sql,
                        bound.enumerated().map { index, value in
                            used.contains(index + 1) ? Prepared.value(value) : .null
                        }
                    ))
                guard round % 15 == 0 else { continue }
                for (expected, found) in zip(run, try statements(handle).suffix(15)) {
                    #expect(found.sql == expected.sql)
                    #expect((found.values ?? []).map(\.value) == expected.values, "\(expected.sql)")
                }
                run = []
            }
        }
    }
}

/// A prepared statement of the application.
final class Prepared: @unchecked Sendable {
    let handle: OpaquePointer
    /// The address of its text in SQLite's memory.
    var place: UInt { UInt(bitPattern: sqlite3_sql(handle)) }

    init(_ application: ApplicationHandle, _ sql: String) throws {
        var statement: OpaquePointer?
        try #require(
            sqlite3_prepare_v2(application.handle, sql, -1, &statement, nil) == SQLITE_OK, "\(sql)")
        handle = try #require(statement)
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ values: [Any?]) {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for (index, value) in values.enumerated() {
            let number = Int32(index + 1)
            switch value {
            case let value as Int: sqlite3_bind_int64(handle, number, Int64(value))
            case let value as Double: sqlite3_bind_double(handle, number, value)
            case let value as String: sqlite3_bind_text(handle, number, value, -1, transient)
            case let value as [UInt8]:
                if value.isEmpty {
                    sqlite3_bind_zeroblob(handle, number, 0)
                } else {
                    sqlite3_bind_blob(handle, number, value, Int32(value.count), transient)
                }
            default: sqlite3_bind_null(handle, number)
            }
        }
    }

    static func value(_ value: Any?) -> Value {
        switch value {
        case let value as Int: .integer(Int64(value))
        case let value as Double: .real(value)
        case let value as String: .text(value)
        case let value as [UInt8]: .blob(value)
        default: .null
        }
    }

    @discardableResult
    func run() -> Int32 {
        while sqlite3_step(handle) == SQLITE_ROW {}
        return sqlite3_reset(handle)
    }
}
