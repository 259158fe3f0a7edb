internal import FailureArtifactsSQLite

/// What SQLite says of a store's integrity.
enum StoreIntegrity: Equatable {
    case good
    /// What is wrong, as a clause.
    case bad(String)
    /// Why that cannot be told, as a clause.
    case unknown(String)

    /// Checks a copy that nobody else uses.
    ///
    /// - Parameters:
    ///   - path: The copy.
    ///   - isRedacted: Whether its values need not be what its `CHECK` constraints ask for.
    ///   - limits: How much it can ask for.
    init(ofStoreAt path: String, isRedacted: Bool = false, limits: UntrustedLimits = .standard) {
        do {
            let connection = try Connection.untrusted(path, limits: limits)
            if isRedacted { try connection.execute("PRAGMA ignore_check_constraints = 1") }
            do {
                self = try Self.run("integrity_check", on: connection)
            } catch  where !error.isDatabaseDamaged {
                // An index may need a collation or a function that only the application has.
                let quick = try Self.run("quick_check", on: connection)
                self = quick == .good ? .unknown(Self.reason(error)) : quick
            }
        } catch {
            self = error.isDatabaseDamaged ? .bad(error.message) : .unknown(Self.reason(error))
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
