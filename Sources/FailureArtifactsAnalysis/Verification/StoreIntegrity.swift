internal import FailureArtifactsSQLite

/// The result of SQLite's integrity check.
enum StoreIntegrity: Equatable {
    case good
    /// The problem, as a clause.
    case bad(String)
    /// The reason why the check couldn't be done, as a clause.
    case unknown(String)

    /// Checks a copy that no other code uses.
    ///
    /// - Parameters:
    ///   - path: The copy.
    ///   - isRedacted: True if the values may violate the store's `CHECK` constraints.
    ///   - limits: The limits on resources that the copy can use.
    /// - Returns: The result of `PRAGMA integrity_check`, or of `PRAGMA quick_check` if the first can't run.
    static func check(
        storeAt path: String, isRedacted: Bool = false, limits: UntrustedLimits = .standard
    ) -> StoreIntegrity {
        do {
            let connection = try Connection.untrusted(path, limits: limits)
            if isRedacted { try connection.execute("PRAGMA ignore_check_constraints = 1") }
            do {
                return try run("integrity_check", on: connection)
            } catch  where !error.isDatabaseDamaged {
                // An index may need a collation or a function that only the application has.
                let quick = try run("quick_check", on: connection)
                return quick == .good ? .unknown(reason(error)) : quick
            }
        } catch {
            return error.isDatabaseDamaged ? .bad(error.message) : .unknown(reason(error))
        }
    }

    private static func reason(_ error: SQLiteError) -> String {
        error.isInterrupted ? "it took longer than the time limit" : error.message
    }

    private static func run(
        _ check: String, on connection: borrowing Connection
    ) throws(SQLiteError) -> StoreIntegrity {
        let statement = try connection.prepare("PRAGMA \(check)(3)")
        var findings: [String] = []
        while try statement.step() {
            if case .text(let finding) = statement.value(at: 0) { findings.append(finding) }
        }
        if findings == ["ok"] { return .good }
        return .bad(findings.joined(separator: ", "))
    }
}
