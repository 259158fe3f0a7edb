package import FailureArtifactsBundle
package import FailureArtifactsReading

extension Baseline {
    /// Takes the statements that a bundle's test ran on all its stores.
    package init(of bundle: BundleReader) {
        let metadata = bundle.metadata
        struct Execution: Hashable {
            let order, connection: UInt64
            let sql: String
        }
        // The log of each database of a connection has the statement.
        var seen: Set<Execution> = []
        var statements: [StatementRecord] = []
        for store in metadata.stores {
            let log = (try? bundle.statements(of: store)) ?? []
            let own = TestStatements(in: log, of: store, metadata)
            statements += log.filter {
                own.contains($0)
                    && seen.insert(
                        Execution(order: $0.order, connection: $0.connection, sql: $0.sql)
                    ).inserted
            }
        }
        self.init(
            at: metadata.capture.at, commit: metadata.environment.ci?.variables["GITHUB_SHA"],
            statements: statements.sorted { $0.order < $1.order })
    }

    /// The time and the commit of the run, such as `2026-11-28 12:04 UTC (commit 3f2a9c1)`.
    var title: String { Self.title(at, commit) }

    fileprivate static func title(_ at: String, _ commit: String?) -> String {
        let time = SafeText.line(String(MetadataTime.text(at).prefix(16))) + " UTC"
        return time + (commit.map { " (commit \(SafeText.line(String($0.prefix(10)))))" } ?? "")
    }
}

extension BundleMetadata.SeenBefore {
    /// A line such as `Seen 4 times before, first 2026-11-28 12:04 UTC (commit 3f2a9c1); passed on retry 3 times`.
    package var line: String {
        let count = Counted.items(Int64(count), "time")
        let passes = Counted.items(Int64(passedOnRetry), "time")
        return "Seen \(count) before, first \(Baseline.title(at, commit))"
            + (passedOnRetry > 0 ? "; passed on retry \(passes)" : "")
    }
}
