import FailureArtifactsTestKit
import Foundation
import Testing

@Suite struct StoreContentTests {
    private func names(
        _ content: StoreContent<SQLiteTestStore>, _ placement: StorePlacement = .onDisk
    ) throws -> SQLiteValue {
        try withTestStore(SQLiteTestStore.self, content, placement: placement) { store in
            try store.value("SELECT group_concat(name, ',') FROM fruit")
        }
    }

    /// A directory with the script `pear.sql` and the database `plum.sqlite`.
    private func withFiles(_ body: (URL) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let sql = "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('pear')"
            try Data(sql.utf8).write(to: directory.appending(path: "pear.sql"))
            let store = try SQLiteTestStore(at: .file(directory.appending(path: "plum.sqlite")))
            try store.execute(
                "PRAGMA journal_mode = WAL; CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('plum')"
            )
            try body(directory)
            store.close()
        }
    }

    @Test(arguments: StorePlacement.allCases) func contentIsTheSameEverywhere(
        _ placement: StorePlacement
    ) throws {
        try withFiles { (directory) throws in
            #expect(try names(fruits, placement) == "apple")
            #expect(try names(.copy(of: directory.appending(path: "plum.sqlite")), placement) == "plum")
            let prepared = StoreContent<SQLiteTestStore>.prepared { store in
                try store.execute("CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('fig')")
            }
            #expect(try names(prepared, placement) == "fig")
        }
    }

    @Test func reducibleContentIsTheUsualOne() throws {
        #expect(try names(.reducible(fruits)) == "apple")
    }

    @Test(arguments: StorePlacement.allCases) func contentsAreCombinedInOrder(
        _ placement: StorePlacement
    ) throws {
        try withFiles { (directory) throws in
            let more = fruits.then(.script("INSERT INTO fruit VALUES ('kiwi')"))
                .then { try $0.execute("INSERT INTO fruit VALUES ('fig')") }
            #expect(try names(more, placement) == "apple,kiwi,fig")
            let replaced = more.then(.copy(of: directory.appending(path: "plum.sqlite")))
            #expect(try names(replaced, placement) == "plum")
        }
    }

    @Test func emptyContentIsAnEmptyStore() throws {
        try withTestStore(SQLiteTestStore.self) { (store) throws in
            #expect(try store.value("SELECT count(*) FROM sqlite_schema") == 0)
        }
    }

    @Test func resourcesAreScriptsOrDatabases() throws {
        try withFiles { (directory) throws in
            let bundle = try #require(Bundle(url: directory))
            #expect(try names(.resource("pear", withExtension: "sql", in: bundle)) == "pear")
            #expect(try names(.resource("plum", withExtension: "sqlite", in: bundle)) == "plum")
            expectError(.cannotStart, "There is no resource 'fig.sql' in '\(directory.path)") {
                _ = try names(.resource("fig", withExtension: "sql", in: bundle))
            }
        }
    }

    @Test func missingAndDamagedFilesAreErrors() throws {
        try withFiles { (directory) throws in
            let missing = directory.appending(path: "missing")
            expectError(.cannotStart, "There is no database at '\(missing.path)'.") {
                _ = try names(.copy(of: missing))
            }
            let script = directory.appending(path: "pear.sql")
            expectError(.cannotStart, "'\(script.path)' cannot be copied") {
                _ = try names(.copy(of: script))
            }
        }
    }

    @Test func storeThatCannotBeFilledIsClosedAndNamed() throws {
        let error = expectError(.cannotStart, "The store 'larder' (:memory:) could not be opened") {
            try withTestStore(
                SQLiteTestStore.self, .script("CREATE TABEL fruit (name)"), named: "larder",
                placement: .inMemory
            ) { _ in }
        }
        #expect(error?.description.contains(#"near "TABEL": syntax error"#) == true)
    }
}
