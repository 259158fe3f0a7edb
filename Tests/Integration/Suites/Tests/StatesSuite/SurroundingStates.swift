import CSuiteSQLite
import Foundation

extension State {
    /// The states with unusual surroundings of the connection.
    static var surrounded: [State] {
        [
            State(name: "traced", rule: .cached, own: added) { run in
                let a = run.openInTransaction()
                a.listen()
                run.fail()
                a.add("plum")
                a.run("COMMIT")
            },
            obstructed("progressHandlerCancels") { _, a, report in
                a.on(.progress) { 1 }
                report()
                a.on(.progress) { 0 }
            },
            obstructed("authorizerDenies") { _, a, report in
                a.on(.authorizer) { SQLITE_DENY }
                report()
                a.on(.authorizer) { 0 }
            },
            State(name: "loweredLimits", rule: .cached, own: added) { run in
                let a = run.openInTransaction()
                let limits = [
                    SQLITE_LIMIT_LENGTH: Int32(64), SQLITE_LIMIT_SQL_LENGTH: 64,
                    SQLITE_LIMIT_ATTACHED: 0, SQLITE_LIMIT_VARIABLE_NUMBER: 1, SQLITE_LIMIT_COLUMN: 1,
                ]
                let earlier = limits.map { ($0.key, sqlite3_limit(a.handle, $0.key, $0.value)) }
                run.fail()
                for (limit, value) in earlier { sqlite3_limit(a.handle, limit, value) }
                a.add("plum")
                a.run("COMMIT")
            },
            obstructed("hardHeapLimit") { run, _, report in
                let limit = sqlite3_memory_used() + 20_000
                sqlite3_hard_heap_limit64(limit)
                report()
                run.log("heap limit is kept", sqlite3_hard_heap_limit64(-1) == limit)
                sqlite3_hard_heap_limit64(0)
                sqlite3_soft_heap_limit64(0)
            },
            State(
                name: "fileSizeLimit", rule: .committedOnly, settings: Setting.recorded, own: added,
                committed: added,
                adjustment: { _, stores in stores["shop"]?.mayBeDescribed = true }
            ) { run in
                let a = run.open()
                a.add("pear")
                run.fail { report in
                    var limit = rlimit()
                    getrlimit(fileSize, &limit)
                    // More bytes than the observations need, and fewer than the store.
                    limit.rlim_cur = 65536
                    setrlimit(fileSize, &limit)
                    report()
                }
            },
            State(
                name: "exclusiveLockingMode", rule: .committedOnly, settings: Setting.files, own: added,
                committed: added
            ) { run in
                let a = run.open()
                a.run("PRAGMA locking_mode = exclusive")
                a.add("pear")
                run.fail()
                a.add("plum")
            },
            State(
                name: "exclusiveLockingModeInTransaction", rule: .cached, settings: Setting.files,
                own: added
            ) { run in
                let a = run.open()
                a.run("PRAGMA locking_mode = exclusive")
                a.run("BEGIN")
                a.add("pear")
                run.fail()
                a.run("COMMIT")
            },
            State(name: "queryOnly", rule: .cached, own: added) { run in
                let a = run.openInTransaction()
                a.run("PRAGMA query_only = on")
                run.fail()
                a.add("plum")
                a.run("PRAGMA query_only = off")
                a.run("COMMIT")
            },
            State(name: "attached", rule: .committedOnly) {
                run in
                let a = run.open()
                run.makeFile("extra.db")
                // A relative path is equal in both runs.
                a.run("ATTACH 'store/extra.db' AS extra")
                if let journal = run.setting.journal { a.run("PRAGMA extra.journal_mode = \(journal)") }
                a.run("BEGIN")
                a.run("INSERT INTO extra.fruit (name) VALUES ('pear')")
                run.fail()
                a.run("COMMIT")
                a.run("SELECT group_concat(name) FROM extra.fruit")
            }.with(store: "extra") { setting in
                Expected(
                    .cached, own: added, committed: base, in: setting.isFile ? setting : .delete)
            },
            State(
                name: "temporaryTable", rule: .committedOnly,
                settings: Setting.allCases.filter { $0 != .temporary }
            ) { run in
                let a = run.open()
                a.run("BEGIN")
                a.run("CREATE TEMPORARY TABLE scratch (id INTEGER PRIMARY KEY, name TEXT)")
                a.run("INSERT INTO scratch (name) VALUES ('quince')")
                run.fail()
                a.run("COMMIT")
                a.run("SELECT name FROM scratch")
            }.with(store: "temporary") { _ in
                var expected = Expected(.cached, own: ["quince"], committed: [], in: .temporary)
                expected.table = "scratch"
                // Other connections don't see temporary schemas, which are not recorded.
                expected.others = expected.own
                expected.committed = []
                return expected
            },
            // SQLite logs that the copy of the temporary schema is malformed until the trigger is removed from it.
            State(
                name: "temporaryTrigger", rule: .cached, own: added, allowances: { _ in [.logs("1 11")] }
            ) { run in
                let a = run.open()
                a.run(
                    """
                    CREATE TEMPORARY TRIGGER note AFTER INSERT ON fruit
                    BEGIN INSERT INTO filler (data) VALUES (zeroblob(10)); END
                    """)
                a.run("BEGIN")
                a.add("pear")
                run.fail()
                a.add("plum")
                a.run("COMMIT")
            },
            shared("sharedCacheWriterOther", "file:shared?mode=memory&cache=shared", copies: [added]),
            // The last connection in use sees the committed rows.
            shared("memdbShared", "file:/shared?vfs=memdb", copies: [added, base], committed: []),
            State(
                name: "dotfileVFS", rule: .cached,
                settings: [.delete, .truncate, .persist, .memory, .off, .deleteWithoutMutex], own: added
            ) { run in
                run.vfs = "unix-dotfile"
                let a = run.openInTransaction()
                run.fail()
                a.add("plum")
                a.run("COMMIT")
            },
            State(
                name: "detachedThread", rule: .committedOnly,
                settings: Setting.allCases.filter { !$0.hasMutex }, own: added, committed: added
            ) { run in
                let a = run.open()
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    a.add("pear")
                    done.signal()
                }
                done.wait()
                run.fail()
                a.add("plum")
            },
        ]
    }

    /// Returns a write transaction in surroundings in which a statement would fail.
    private static func obstructed(
        _ name: String, around: @escaping (Scenario, Connection, () -> Void) -> Void
    ) -> State {
        State(name: name, rule: .cached, own: added) { run in
            let a = run.openInTransaction()
            run.fail { around(run, a, $0) }
            a.add("plum")
            a.run("COMMIT")
        }
    }

    /// Returns a store that two connections share in memory.
    ///
    /// One has an open transaction, the other was used last.
    private static func shared(
        _ name: String, _ address: String, copies: [[String]], committed: [[String]] = [base]
    ) -> State {
        State(
            name: name, rule: .cached, settings: [.inMemory], own: added,
            adjustment: { _, stores in
                stores["memory"]?.copies = copies
                stores["memory"]?.committed = committed
            }
        ) { run in
            let a = run.openOnly(file: address)
            sqlite3_exec(a.handle, Scenario.content, nil, nil, nil)
            let b = run.openOnly("b", file: address)
            a.run("BEGIN")
            a.add("pear")
            b.run("SELECT 1")
            run.fail()
            a.run("COMMIT")
        }
    }

    #if os(Linux)
    private static let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    #else
    private static let fileSize = RLIMIT_FSIZE
    #endif

    /// All states.
    static var table: [State] { betweenCalls + insideCalls + surrounded }
}
