internal import FailureArtifactsCapture
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
public import Foundation
internal import XCTest

/// Checks that a store fulfils all invariants.
///
/// ```swift
/// func testTransfer() throws {
///     try ledger.transfer(5, from: "cash", to: "bank")
///     assertInvariants(of: store)
/// }
/// ```
///
/// An invariant is a file with the extension `sql`. It has one SELECT, which must return no rows, and a comment before
/// it as its title. The test fails with each broken invariant, and with each one that can't be checked. Invariants
/// whose tables the store doesn't have are an error, too.
///
/// In a test of Swift Testing, broken invariants are issues. Call the function in the test's task: elsewhere it has no
/// effect, because XCTest ignores failures outside of its tests.
///
/// - Parameters:
///   - store: The store, which must lend its connection and be in no transaction. The queries run on a copy of it.
///   - directory: The directory with the invariants; nil for the one that `FAILURE_ARTIFACTS_INVARIANTS` or
///     `CaptureConfiguration.current.invariants` names.
///   - file: The file of the failure.
///   - line: The line of the failure.
public func assertInvariants(
    of store: some TestStore, in directory: URL? = nil, file: StaticString = #filePath,
    line: UInt = #line
) {
    assertInvariants(in: directory, file, line) { copy in
        try store.withConnection { try DatabaseCopy.copy(connection: $0, toNewFile: copy) }
    }
}

/// Checks that a database file fulfils all invariants; see ``assertInvariants(of:in:file:line:)-(TestStore,_,_,_)``.
///
/// - Parameters:
///   - database: The database file, with its WAL beside it, if any. The queries run on a copy of its committed content.
///   - directory: The directory with the invariants; nil for the configured one.
///   - file: The file of the failure.
///   - line: The line of the failure.
public func assertInvariants(
    of database: URL, in directory: URL? = nil, file: StaticString = #filePath, line: UInt = #line
) {
    assertInvariants(in: directory, file, line) { copy in
        try DatabaseCopy.copy(file: database.path(percentEncoded: false), toNewFile: copy)
    }
}

private func assertInvariants(
    in directory: URL?, _ file: StaticString, _ line: UInt, copying copy: (String) throws -> Void
) {
    do {
        for problem in try InvariantCheck.problems(in: directory, copying: copy) {
            fail(problem, file, line)
        }
    } catch {
        fail(TestStoreError.text(error), file, line)
    }
}

/// Fails the current test of either framework.
private func fail(_ message: String, _ file: StaticString, _ line: UInt) {
    if !CaptureSession.shared.recordIssue(message, file: "\(file)", line: Int(line)) {
        XCTFail(message, file: file, line: line)
    }
}

/// A check of invariants in a copy of a store.
package enum InvariantCheck {
    private static let maximumRows = 1000
    /// The number of rows that a failure quotes.
    private static let quotedRows = 3
    /// The time limit of a query, in seconds.
    private static let seconds = 5.0

    /// Checks invariants.
    package static func problems(
        in directory: URL?, copying copy: (String) throws -> Void
    ) throws -> [String] {
        guard let directory = directory ?? CaptureConfiguration.current.invariants else {
            throw TestStoreError(
                .file,
                "There are no invariants to check. Pass their directory, or name it by \(Invariant.variable)."
            )
        }
        let invariants: [Invariant]
        do {
            invariants = try Invariant.all(inDirectory: directory.path(percentEncoded: false))
        } catch {
            throw TestStoreError(.file, "The invariants cannot be read", because: error)
        }
        let scratch = try FileSystem.createUniqueDirectory(
            in: FileManager.default.temporaryDirectory.path(percentEncoded: false), prefix: "invariants-"
        )
        defer { try? FileSystem.remove(scratch) }
        let path = Path.join(scratch, "copy.sqlite")
        do {
            try copy(path)
        } catch {
            throw TestStoreError(
                .cannotStart,
                "The store could not be copied to check its invariants, which is impossible during a transaction",
                because: error)
        }
        let connection = try Connection.untrusted(path)
        return invariants.compactMap { problem(of: $0, connection) }
    }

    private static func problem(
        of invariant: Invariant, _ connection: borrowing Connection
    ) -> String? {
        let name = "The invariant '\(invariant.title)' (\(invariant.name))"
        var rows: [String] = []
        let deadline = Instant.now.advanced(bySeconds: seconds)
        let result = invariant.check(connection, deadline: deadline, limit: maximumRows) { row in
            guard rows.count < quotedRows else { return }
            rows.append(
                zip(row.columnNames, 0...).map { "\($0) \(text(row.value(at: $1)))" }
                    .joined(separator: ", "))
        }
        switch result {
        case .holds: return nil
        case .notApplicable(let reason), .failed(let reason):
            return "\(name) was not checked: \(reason)."
        case .broken(let count):
            let number =
                (count == maximumRows ? "at least " : "") + "\(count)\(count == 1 ? " row" : " rows")"
            return "\(name) is broken by \(number): \(rows.joined(separator: "; "))"
                + (count > rows.count ? "; …" : ".")
        }
    }

    private static func text(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): "'\(text.prefix(80))'"
        case .blob(let bytes): "a BLOB of \(bytes.count) bytes"
        }
    }
}
