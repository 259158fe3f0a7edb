import CSuiteSQLite
import Foundation

extension State {
    /// The states that a connection is in while SQLite calls the application.
    static var insideCalls: [State] {
        [
            inside("commitHook", .commit, rule: .cached, own: added) { $0.add("pear") },
            inside("commitHookOfTransaction", .commit, rule: .cached, own: added, inTransaction: true) {
                $0.run("COMMIT")
            },
            refusing("commitHookRefusing", inTransaction: false) { $0.add("pear") },
            refusing("commitHookOfTransactionRefusing", inTransaction: true) { $0.run("COMMIT") },
            inside(
                "rollbackHook", .rollback, rule: .committedOnly, settings: Setting.withRollback,
                inTransaction: true
            ) { $0.run("ROLLBACK") },
            inside("updateHook", .update, rule: .cached, own: added) { $0.add("pear") },
            inside("updateHookInTransaction", .update, rule: .cached, own: added, begins: true) {
                $0.add("pear")
            },
            inside(
                "walHook", .wal, rule: .committedOnly, settings: Setting.logs, own: added,
                committed: added
            ) {
                $0.add("pear")
            },
            inside("insideFunction", .function, rule: .readSnapshot) {
                $0.run("SELECT noted(name) FROM fruit")
            },
            inside("insideFunctionOfInsert", .function, rule: .cached) {
                $0.run("INSERT INTO fruit (name) VALUES (noted('pear'))")
            },
            inside(
                "insideFunctionInTransaction", .function, rule: .cached, own: added,
                inTransaction: true
            ) { $0.run("SELECT noted(name) FROM fruit") },
            State(
                // SQLite logs each access to a connection that is being closed.
                name: "insideFunctionDestructorDuringClose", rule: .untouched, own: added,
                committed: added, allowances: { _ in [.logs("21 21 21 21 21 21")] },
                adjustment: { setting, stores in
                    // The state may have been saved when the close began.
                    guard !setting.isFile else { return }
                    for label in stores.keys {
                        stores[label]?.copies = [added]
                        stores[label]?.mayBeDescribed = true
                    }
                }
            ) { run in
                let a = run.open()
                a.add("pear")
                a.on(.functionDestructor) {
                    run.fail()
                    return 0
                }
                a.close()
            },
            inside("insideCollation", .collation, rule: .readSnapshot) {
                $0.run("SELECT name FROM fruit ORDER BY name COLLATE noted")
            },
            inside("insideTrace", .trace, rule: .committedOnly, listens: true) {
                $0.run("SELECT name FROM fruit")
            },
            inside(
                "insideTraceInTransaction", .trace, rule: .cached, own: added, inTransaction: true,
                listens: true
            ) { $0.run("SELECT name FROM fruit") },
            inside("insideAuthorizer", .authorizer, rule: .committedOnly) {
                $0.run("SELECT name FROM fruit")
            },
            inside(
                "insideAuthorizerInTransaction", .authorizer, rule: .cached, own: added,
                inTransaction: true
            ) { $0.run("SELECT name FROM fruit") },
            insideProgressHandler("insideProgressHandler", SQLITE_TXN_READ, rule: .readSnapshot) {
                $0.run("SELECT name FROM fruit")
            },
            insideProgressHandler("insideProgressHandlerOfInsert", SQLITE_TXN_WRITE, rule: .cached) {
                $0.add("pear")
            },
            insideProgressHandler(
                "insideProgressHandlerInTransaction", SQLITE_TXN_WRITE, rule: .cached, own: added,
                inTransaction: true
            ) { $0.run("SELECT name FROM fruit") },
            State(
                name: "insideBusyHandler", rule: .committedOnly, settings: Setting.files, mayWarn: true
            ) { run in
                let a = run.open()
                let b = run.openOnly("b")
                b.run("BEGIN IMMEDIATE")
                b.add("lime")
                a.on(.busy) {
                    run.fail()
                    return 0
                }
                a.add("pear")
                b.run("COMMIT")
            },
            State(
                name: "insideAutomaticExtension", rule: .cached, settings: Setting.files, own: added
            ) { run in
                let a = run.openInTransaction()
                AutomaticExtension.on({ run.fail() }) { _ = run.openOnly("b") }
                a.run("COMMIT")
            },
        ]
    }

    /// Returns a test that fails inside a callback of SQLite during `call`.
    private static func inside(
        _ name: String, _ event: Event, rule: Rule, settings: [Setting] = Setting.allCases,
        own: [String] = base, committed: [String] = base, begins: Bool = false,
        inTransaction: Bool = false, listens: Bool = false,
        call: @escaping (Connection) -> Void
    ) -> State {
        State(name: name, rule: rule, settings: settings, own: own, committed: committed) { run in
            let a = inTransaction ? run.openInTransaction() : run.open()
            if begins { a.run("BEGIN") }
            if listens { a.listen() }
            a.on(event) {
                run.fail()
                return 0
            }
            call(a)
            if sqlite3_get_autocommit(a.handle) == 0 { a.run("COMMIT") }
        }
    }

    /// Returns a test that fails inside a commit hook, which then refuses the transaction.
    private static func refusing(
        _ name: String, inTransaction: Bool, call: @escaping (Connection) -> Void
    ) -> State {
        State(name: name, rule: .cached, settings: Setting.withRollback, own: added) { run in
            let a = inTransaction ? run.openInTransaction() : run.open()
            a.on(.commit) {
                run.fail()
                return 1
            }
            call(a)
            a.on(.commit) { 0 }
        }
    }

    /// Returns a test that fails inside the progress handler, when the transaction has reached a state.
    private static func insideProgressHandler(
        _ name: String, _ transaction: Int32, rule: Rule, own: [String] = base,
        inTransaction: Bool = false, call: @escaping (Connection) -> Void
    ) -> State {
        State(name: name, rule: rule, own: own) { run in
            let a = inTransaction ? run.openInTransaction() : run.open()
            a.on(.progress) {
                if sqlite3_txn_state(a.handle, nil) == transaction { run.fail() }
                return 0
            }
            call(a)
            if inTransaction { a.run("COMMIT") }
        }
    }
}
