import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Failures inside SQLite: an assertion in a function, a hook or a handler that SQLite is calling.
@Suite struct ReentrancyTests {
    /// The context through which SQLite's callbacks find the store.
    private final class Assertion {
        let path: String
        let directory: String
        private var hasFailed = false
        private(set) var snapshot: Snapshot?

        init(_ path: String, _ directory: String) {
            self.path = path
            self.directory = directory
        }

        var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

        static func fails(_ context: UnsafeMutableRawPointer?) {
            guard let context else { return }
            let assertion = Unmanaged<Assertion>.fromOpaque(context).takeUnretainedValue()
            // As in a session, only the first failure counts: the capture's own statements come here too.
            guard !assertion.hasFailed else { return }
            assertion.hasFailed = true
            let connections = ConnectionRegistry.shared.openConnections.filter {
                $0.path == assertion.path
            }
            guard let store = DiscoveredStore.grouping(connections).first else { return }
            let snapshotter = Snapshotter(timeLimit: 0.2, maximumBytes: 1 << 30)
            assertion.snapshot = snapshotter.capture(
                store, to: .copies(in: assertion.directory))
        }
    }

    init() { ConnectionRegistry.shared.install() }

    @Test(
        arguments: ["wal", "delete"],
        ["function", "update", "commit", "rollback", "authorizer", "progress"])
    func theStatementGoesOnAndTheCopyIsSound(mode: String, place: String) throws {
        try withStore { application, path, directory in
            try application.run(
                "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3)")
            let assertion = Assertion(path, directory)
            let handle = application.handle
            switch place {
            case "function":
                sqlite3_create_function_v2(
                    handle, "failing", 1, SQLITE_UTF8, assertion.context,
                    { context, _, values in
                        Assertion.fails(sqlite3_user_data(context))
                        sqlite3_result_int64(context, 10 * sqlite3_value_int64(values?[0]))
                    }, nil, nil, nil)
            case "update":
                sqlite3_update_hook(
                    handle, { context, _, _, _, _ in Assertion.fails(context) }, assertion.context)
            case "commit":
                sqlite3_commit_hook(
                    handle,
                    { context in
                        Assertion.fails(context)
                        return 0
                    }, assertion.context)
            case "rollback":
                sqlite3_rollback_hook(handle, { context in Assertion.fails(context) }, assertion.context)
            case "authorizer":
                sqlite3_set_authorizer(
                    handle,
                    { context, _, _, _, _, _ in
                        Assertion.fails(context)
                        return SQLITE_OK
                    }, assertion.context)
            default:
                sqlite3_progress_handler(
                    handle, 1,
                    { context in
                        Assertion.fails(context)
                        return 0
                    }, assertion.context)
            }

            let change = place == "function" ? "failing(a)" : "a * 10"
            try application.run(
                "BEGIN; UPDATE t SET a = \(change); \(place == "rollback" ? "ROLLBACK" : "COMMIT")")
            sqlite3_set_authorizer(handle, nil, nil)
            sqlite3_progress_handler(handle, 0, nil, nil)

            let expected = place == "rollback" ? "6" : "60"
            #expect(try application.value("SELECT sum(a) FROM t") == expected)
            #expect(try application.value("PRAGMA integrity_check") == "ok")
            #expect(try sqlite3Program(path, "SELECT sum(a) FROM t") == expected)
            let snapshot = try #require(assertion.snapshot)
            if snapshot.method == .described {
                #expect(snapshot.reason != nil)
            } else {
                let copy = directory + "/copy.sqlite"
                #expect(
                    try sqlite3Program(copy, "PRAGMA integrity_check; SELECT count(*) FROM t") == "ok\n3"
                )
            }
        }
    }
}
