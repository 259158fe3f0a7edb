import CCulpritsSQLite
import Foundation

/// A value of a column or parameter.
enum Value: Equatable {
    case null
    case integer(Int)
    case text(String)

    init(_ text: String?) { self = text.map { .text($0) } ?? .null }

    init(_ number: Int?) { self = number.map { .integer($0) } ?? .null }

    var text: String? {
        switch self {
        case .null: nil
        case .integer(let number): String(number)
        case .text(let text): text
        }
    }

    var integer: Int? {
        if case .integer(let number) = self { number } else { nil }
    }
}

struct DatabaseError: Error, CustomStringConvertible {
    let code: Int32
    let message: String
    var description: String { message }
}

/// A connection of the C interface with named parameters.
final class Connection {
    typealias Row = [Value]

    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    init(path: String) throws {
        guard sqlite3_open(path, &handle) == SQLITE_OK else { throw error() }
        try execute("PRAGMA foreign_keys = ON")
    }

    deinit { close() }

    func close() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        sqlite3_close_v2(handle)
        handle = nil
    }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error() }
    }

    /// Runs one statement to its end and returns all rows.
    @discardableResult
    func run(_ sql: String, _ parameters: [String: Value] = [:]) throws -> [Row] {
        let statement = try prepare(sql, parameters)
        defer { sqlite3_reset(statement) }
        var rows: [Row] = []
        while try step(statement) { rows.append(row(statement)) }
        return rows
    }

    /// Returns the first row only.
    func first(_ sql: String, _ parameters: [String: Value] = [:]) throws -> Row? {
        let statement = try prepare(sql, parameters)
        return try step(statement) ? row(statement) : nil
    }

    /// Interrupts statements that take more than a number of steps of SQLite's virtual machine.
    func limitWork(to steps: Int32) {
        sqlite3_progress_handler(handle, steps, { _ in 1 }, nil)
    }

    private func prepare(_ sql: String, _ parameters: [String: Value]) throws -> OpaquePointer? {
        var statement = statements[sql]
        if let statement {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        } else {
            guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
                throw error()
            }
            statements[sql] = statement
        }
        for position in 1..<(sqlite3_bind_parameter_count(statement) + 1) {
            guard let name = sqlite3_bind_parameter_name(statement, position),
                let value = parameters[String(cString: name)]
            else { continue }
            switch value {
            case .null: sqlite3_bind_null(statement, position)
            case .integer(let number): sqlite3_bind_int64(statement, position, Int64(number))
            case .text(let text):
                let copy = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
                sqlite3_bind_text(statement, position, text, -1, copy)
            }
        }
        return statement
    }

    private func step(_ statement: OpaquePointer?) throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let error = error()
            sqlite3_reset(statement)
            throw error
        }
    }

    private func row(_ statement: OpaquePointer?) -> Row {
        (0..<sqlite3_column_count(statement)).map { column in
            switch sqlite3_column_type(statement, column) {
            case SQLITE_NULL: .null
            case SQLITE_INTEGER: .integer(Int(sqlite3_column_int64(statement, column)))
            default: Value(sqlite3_column_text(statement, column).map { String(cString: $0) })
            }
        }
    }

    private func error() -> DatabaseError {
        DatabaseError(
            code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }
}
