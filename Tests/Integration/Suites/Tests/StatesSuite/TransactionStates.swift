import CSuiteSQLite
import Foundation

extension State {
    /// The states of a connection between two calls of the application.
    static var betweenCalls: [State] {
        [
            State(name: "idle", rule: .committedOnly, own: added, committed: added) { run in
                let a = run.open()
                a.add("pear")
                run.fail()
                a.add("plum")
            },
            State(name: "neverRead", rule: .committedOnly, settings: Setting.recorded) { run in
                run.makeFile()
                let a = run.openOnly()
                run.fail()
                run.tryToEndLog()
                a.run("SELECT count(*) FROM fruit")
            },
            State(name: "readOnlyConnection", rule: .committedOnly, settings: Setting.recorded) { run in
                run.makeFile()
                let a = run.openOnly(flags: SQLITE_OPEN_READONLY)
                run.fail()
                a.run("SELECT count(*) FROM fruit")
            },
            State(name: "pendingSelect", rule: .readSnapshot) { run in
                let a = run.open()
                let statement = a.prepare("SELECT name FROM fruit")
                statement.step()
                run.fail()
                statement.finish()
                a.add("plum")
            },
            State(name: "readTransaction", rule: .readSnapshot) { run in
                let a = run.open()
                a.run("BEGIN")
                a.run("SELECT count(*) FROM fruit")
                run.fail()
                a.run("SELECT count(*) FROM fruit")
                a.run("COMMIT")
            },
            State(
                name: "olderPendingSelect", rule: .readSnapshot, settings: Setting.logs, committed: added
            ) { run in
                let a = run.open()
                let statement = a.prepare("SELECT name FROM fruit")
                statement.step()
                run.openOnly("b").add("pear")
                statement.step()
                run.fail()
                statement.finish()
                a.add("plum")
            },
            State(
                name: "olderReadTransaction", rule: .readSnapshot, settings: Setting.logs,
                committed: added
            ) { run in
                let a = run.open()
                a.run("BEGIN")
                a.run("SELECT count(*) FROM fruit")
                run.openOnly("b").add("pear")
                a.run("SELECT count(*) FROM fruit")
                run.fail()
                a.run("SELECT count(*) FROM fruit")
                a.run("COMMIT")
            },
            State(name: "writeTransaction", rule: .cached, own: added) { run in
                let a = run.openInTransaction()
                run.fail()
                a.add("plum")
                a.run("COMMIT")
            },
            State(
                name: "savepoint", rule: .cached, settings: Setting.withRollback, own: added
            ) { run in
                let a = run.open()
                a.run("SAVEPOINT one")
                a.add("pear")
                run.fail()
                a.run("ROLLBACK TO one")
                a.add("plum")
                a.run("RELEASE one")
            },
            State(
                name: "spilledTransaction", rule: .cached, own: added,
                allowances: { setting in
                    // Reading the committed state's copy rolls back its journal.
                    return !setting.isFile || setting.journal == "wal" || setting.lacksJournalFile
                        ? [] : [.logs("539")]
                },
                adjustment: { setting, stores in
                    // Pages of the transaction are in the file, and no journal can undo them.
                    if setting.lacksJournalFile { stores["shop"]?.mayLackCommitted = true }
                }
            ) { run in
                let a = run.open()
                a.run("PRAGMA cache_size = 5")
                a.run("BEGIN")
                a.add("pear")
                for _ in 0..<40 { a.run("INSERT INTO filler (data) VALUES (randomblob(4000))") }
                run.fail()
                a.add("plum")
                a.run("COMMIT")
            },
            State(
                name: "failedStatement", rule: .cached, own: added
            ) { run in
                let a = run.openInTransaction()
                a.add("apple")
                run.fail()
                a.run("COMMIT")
            },
            State(
                name: "syntaxError", rule: .cached, own: added
            ) { run in
                let a = run.openInTransaction()
                _ = a.prepare("SELECT * FORM fruit")
                run.fail()
                a.run("COMMIT")
            },
            State(name: "pendingWrite", rule: .cached, own: added) { run in
                let a = run.open()
                let statement = a.prepare("INSERT INTO fruit (name) VALUES ('pear') RETURNING name")
                statement.step()
                run.fail()
                statement.finish()
            },
            State(
                name: "spilledStatement", rule: .cached, own: added,
                allowances: { setting in
                    // Reading the committed state's copy rolls back its journal.
                    return !setting.isFile || setting.journal == "wal" || setting.lacksJournalFile
                        ? [] : [.logs("539")]
                },
                adjustment: { setting, stores in
                    if setting.lacksJournalFile { stores["shop"]?.mayLackCommitted = true }
                }
            ) { run in
                let a = run.open()
                a.run(
                    """
                    CREATE TRIGGER fill AFTER INSERT ON fruit
                    BEGIN INSERT INTO filler (data) SELECT randomblob(4000) FROM filler; END
                    """)
                a.run("PRAGMA cache_size = 5")
                let statement = a.prepare("INSERT INTO fruit (name) VALUES ('pear') RETURNING name")
                statement.step()
                run.fail()
                statement.finish()
            },
            State(
                name: "pendingWriteInTransaction", rule: .cached, own: added
            ) { run in
                let a = run.open()
                a.run("BEGIN")
                let statement = a.prepare("INSERT INTO fruit (name) VALUES ('pear') RETURNING name")
                statement.step()
                run.fail()
                statement.finish()
                a.run("COMMIT")
            },
            State(
                // Before SQLite 3.41, only the interrupted statement notices an interruption.
                name: "interrupted", rule: .cached, own: added
            ) { run in
                let a = run.openInTransaction()
                let statement = a.prepare("SELECT name FROM fruit")
                statement.step()
                sqlite3_interrupt(a.handle)
                run.fail()
                statement.finish()
                a.run("COMMIT")
            },
            // The rows written so far are unknown, so a warning says that the copy lacks them.
            State(name: "backupTarget", rule: .untouched, mayWarn: true) { run in
                let a = run.open()
                run.makeFile("source.db", isLog: false)
                let b = run.openOnly("b", file: "source.db")
                b.add("pear")
                let backup = sqlite3_backup_init(a.handle, "main", b.handle, "main")
                run.log("backup begins", sqlite3_backup_step(backup, 1))
                run.fail()
                run.log("backup goes on", sqlite3_backup_step(backup, 1))
                run.log("backup ends", sqlite3_backup_step(backup, -1))
                run.log("backup finishes", sqlite3_backup_finish(backup))
                a.run("SELECT group_concat(name) FROM fruit")
            }.with(store: "source") { _ in
                Expected(.committedOnly, own: added, committed: added, in: .delete)
            },
            State(name: "backupSource", rule: .committedOnly) { run in
                let a = run.open()
                let b = run.openOnly("b", file: "target.db")
                let backup = sqlite3_backup_init(b.handle, "main", a.handle, "main")
                run.log("backup begins", sqlite3_backup_step(backup, 1))
                run.fail()
                run.log("backup goes on", sqlite3_backup_step(backup, 1))
                run.log("backup ends", sqlite3_backup_step(backup, -1))
                run.log("backup finishes", sqlite3_backup_finish(backup))
                b.run("SELECT group_concat(name) FROM fruit")
            }.with(store: "target") { _ in
                // The file is empty.
                var target = Expected(.untouched, own: [], committed: [], in: .delete)
                target.table = "sqlite_schema"
                target.mayBeDescribed = true
                return target
            },
            blob(name: "blobOpen", rule: .readSnapshot, isWritable: false),
            blob(name: "blobOpenForWriting", rule: .cached, isWritable: true),
        ]
    }

    /// Returns a state with an open blob handle.
    private static func blob(name: String, rule: Rule, isWritable: Bool) -> State {
        State(name: name, rule: rule) { run in
            let a = run.open()
            var (blob, bytes): (OpaquePointer?, [UInt8]) = (nil, [1, 2, 3, 4])
            let code = sqlite3_blob_open(
                a.handle, "main", "filler", "data", 1, isWritable ? 1 : 0, &blob)
            run.log("blob opens", code)
            if isWritable { run.log("blob writes", sqlite3_blob_write(blob, bytes, 4, 0)) }
            run.fail()
            run.log("blob reads", sqlite3_blob_read(blob, &bytes, 4, 100))
            if isWritable { run.log("blob writes", sqlite3_blob_write(blob, [5, 6, 7, 8], 4, 4)) }
            run.log("blob closes", sqlite3_blob_close(blob))
            if isWritable { a.run("SELECT hex(substr(data, 1, 8)) FROM filler WHERE id = 1") }
        }
    }
}

extension State {
    /// Returns the state with an additional store in the bundle.
    func with(store label: String, _ expected: @escaping (Setting) -> Expected) -> State {
        var state = self
        let adjustment = adjustment
        state.adjustment = { setting, stores in
            adjustment(setting, &stores)
            stores[label] = expected(setting)
        }
        return state
    }
}
