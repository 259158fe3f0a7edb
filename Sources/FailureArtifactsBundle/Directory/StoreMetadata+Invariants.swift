package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension BundleMetadata {
    /// The time limit for all invariants, and for one invariant in one store, in seconds.
    private static let invariantTimeLimits = (all: 4.0, one: 1.0)
    /// The number of rows after which a query is ended.
    private static let maximumInvariantRows = 1000

    /// Checks the invariants of a directory in the copies of the stores, after their redaction.
    ///
    /// Returns a warning for each broken invariant, and for each one that could not be checked. The metadata has these
    /// warnings too.
    package mutating func checkInvariants(
        inDirectory path: String?, in staging: StagingDirectory
    ) -> [CaptureWarning] {
        guard let path else { return [] }
        let invariants: [Invariant]
        do {
            invariants = try Invariant.all(inDirectory: path)
        } catch {
            let warning = CaptureWarning(
                .invariantNotChecked, "The invariants in '\(path)' were not checked: \(error).")
            warnings.append(warning)
            return [warning]
        }
        guard !invariants.isEmpty else { return [] }
        let end = Instant.now.advanced(bySeconds: Self.invariantTimeLimits.all)
        var found: [CaptureWarning] = []
        var results = InvariantResults()
        for store in stores {
            guard let entry = store.entry else { continue }
            ForkGuard.withForksDelayed {
                let path = staging.file(ofEntry: entry)
                guard let connection = try? Connection.untrusted(path, limits: Self.invariantLimits)
                else { return }
                for invariant in invariants {
                    let result = Self.result(of: invariant, in: store, connection, until: end)
                    results.add(result, of: invariant, in: store.name)
                    guard case .broken(let rows) = result else { continue }
                    found.append(Self.broken(invariant, in: store, rows: rows))
                }
            }
        }
        found += results.notChecked.map { invariant, store, text in
            CaptureWarning(
                .invariantNotChecked, text,
                ["invariant": .text(invariant.name), "store": store.map { .text($0) }])
        }
        warnings += found
        return found
    }

    /// The limits of a query, which runs in the process of the tests.
    private static let invariantLimits = UntrustedLimits(valueBytes: 16 << 20, seconds: 5)

    private static func result(
        of invariant: Invariant, in store: Store, _ connection: borrowing Connection, until end: Instant
    ) -> Invariant.Result {
        if store.isRedacted(for: invariant) {
            return .failed("redactions changed a table that it names")
        }
        let deadline = min(end, Instant.now.advanced(bySeconds: invariantTimeLimits.one))
        return invariant.check(connection, deadline: deadline, limit: maximumInvariantRows)
    }

    private static func broken(
        _ invariant: Invariant, in store: Store, rows: Int
    ) -> CaptureWarning {
        let count = "\(rows)\(rows == 1 ? " row" : " rows")"
        return CaptureWarning(
            .invariantBroken,
            "The invariant '\(invariant.title)' (\(invariant.name)) is broken in the store '\(store.name)': its "
                + "query returns \(rows == maximumInvariantRows ? "at least " : "")\(count).",
            [
                "invariant": .text(invariant.name), "title": .text(invariant.title),
                "store": .text(store.name), "rows": .number(Int64(rows)),
            ])
    }
}

extension BundleMetadata.Store {
    /// True if redactions changed a table that an invariant names, directly or through a view.
    package func isRedacted(for invariant: Invariant) -> Bool {
        let views = (schema ?? []).filter { $0.type == "view" }.map(\.sql)
        let text = ([invariant.sql] + views).joined(separator: " ").lowercased()
        return (redactions ?? []).contains { redaction in
            // Each is `table.column: hashed` or `table: dropped`.
            guard redaction != RedactionRules.statementSummary, let end = redaction.lastIndex(of: ":")
            else { return false }
            let table = redaction[..<end].split(separator: ".").first ?? ""
            return text.contains(table.lowercased())
        }
    }
}
