import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCommands

@Suite struct ReduceTests {
    private static let shop = """
        CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE sale(id INTEGER PRIMARY KEY, customerID INTEGER NOT NULL REFERENCES customer, cents INTEGER, note TEXT);
        CREATE INDEX sale_customer ON sale(customerID);
        INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Cy');
        INSERT INTO sale VALUES (1, 1, 500, 'a'), (2, 2, -70, 'b'), (3, 3, 10, NULL), (4, 2, 20, 'c');
        """
    private static let check = "SELECT id FROM sale WHERE cents < 0"

    private func bundle(in fixture: borrowing Fixture, redacted: Bool = false) throws -> String {
        var metadata = Metadata.store("shop")
        if redacted {
            metadata = metadata.replacing(
                "\"bytes\": {}", with: "\"bytes\": {}, \"redactions\": [\"customer.name: hashed\"]")
        }
        return try fixture.zip(
            "PlainTests.testStore-1a2b3c4d.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/shop.sqlite", try fixture.store(Self.shop)),
            ])
    }

    @Test func aQueryThatReturnsARow() throws {
        let fixture = try Fixture()
        let file = fixture.path("small.sqlite")
        let outcome = run(
            "reduce", try bundle(in: fixture), "-o", file, "--check", Self.check)
        #expect(outcome.error == "")
        #expect(outcome.status == 0)
        #expect(
            outcome.output.replacing(/after \d+ runs/, with: "after N runs") == """
                shop: 7 rows in 2 tables became 2 rows in 2 tables, after N runs of the check
                  customer 1 row
                  sale 1 row
                \(file)
                \(fixture.path("small.sql"))

                """)
        let store = try ApplicationHandle(file)
        #expect(
            try store.texts("SELECT id || ' ' || customerID || ' ' || ifnull(note, '-') FROM sale")
                == ["2 2 -"])
        #expect(try store.texts("PRAGMA foreign_key_check") == [])
        // The script creates the same store.
        let script = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("small.sql")), as: UTF8.self)
        let made = try ApplicationHandle(fixture.path("made.sqlite"))
        try made.run(script)
        #expect(run("diff", fixture.path("made.sqlite"), file).status == 0)
        #expect(try made.texts(Self.check) == ["2"])
    }

    @Test func json() throws {
        let fixture = try Fixture()
        let outcome = run(
            "reduce", try bundle(in: fixture), "-o", fixture.path("small.sqlite"), "--json",
            "--keep-schema", "--check", Self.check)
        let text = outcome.output.filter { !$0.isWhitespace }
        #expect(text.contains("\"end\":\"complete\""))
        #expect(
            text.contains(
                "\"before\":{\"bytes\":16384,\"rows\":7,\"tables\":{\"customer\":3,\"sale\":4}}"))
        #expect(text.contains("\"rows\":2,\"tables\":{\"customer\":1,\"sale\":1}"))
        #expect(
            try ApplicationHandle(fixture.path("small.sqlite")).texts(
                "SELECT name FROM sqlite_master WHERE type = 'index'") == ["sale_customer"])
    }

    /// Returns the path of a shell script.
    private func program(_ text: String, in fixture: borrowing Fixture) throws -> String {
        let path = try fixture.write(Array("#!/bin/sh\n\(text)\n".utf8), to: "check.sh")
        _ = try Program.run("/bin/chmod", ["755", path])
        return path
    }

    @Test func aCommandThatFails() throws {
        let fixture = try Fixture()
        let log = fixture.path("log")
        // It changes the store, fails at another line without customers, and doesn't read standard input to the end.
        let check = try program(
            """
            echo "$FAILURE_ARTIFACTS $FAILURE_ARTIFACTS_FIXTURE" >> \(log)
            test "$(sqlite3 "$FAILURE_ARTIFACTS_FIXTURE" 'SELECT count(*) FROM customer')" = 0 &&
                { echo '/p/ShopTests.swift:9: error: ShopTests.testA : nobody'; exit 1; }
            bad=$(sqlite3 "$FAILURE_ARTIFACTS_FIXTURE" "\(Self.check)")
            sqlite3 "$FAILURE_ARTIFACTS_FIXTURE" 'PRAGMA journal_mode = wal; DELETE FROM sale' > /dev/null
            cat
            test -z "$bad" || { echo '/p/ShopTests.swift:42: error: ShopTests.testB : negative'; exit 1; }
            """, in: fixture)
        let file = fixture.path("small.sqlite")
        let outcome = try Program.tool(
            "reduce", try bundle(in: fixture), "-o", file, "--", check, environment: ["TMPDIR": "/tmp"])
        #expect(outcome.status == 0)
        #expect(outcome.error == "The command fails at ShopTests.swift:42.\n")
        let store = try ApplicationHandle(file)
        #expect(try store.texts("SELECT id FROM sale") == ["2"])
        #expect(try store.texts("SELECT id FROM customer") == ["2"])
        let runs = String(decoding: try FileSystem.contents(ofFile: log), as: UTF8.self).split(
            separator: "\n")
        #expect(outcome.output.contains("after \(runs.count) runs of the check"))
        #expect(runs.allSatisfy { $0.hasPrefix("off /tmp/") && $0.hasSuffix("/shop.sqlite") })
    }

    @Test func theRunsAreLimited() throws {
        let fixture = try Fixture()
        let check = try program(
            "echo >> \(fixture.path("log")); test -z \"$(sqlite3 \"$FAILURE_ARTIFACTS_FIXTURE\" '\(Self.check)')\"",
            in: fixture)
        let outcome = try Program.tool(
            "reduce", try bundle(in: fixture), "-o", fixture.path("small.sqlite"), "--max-runs", "6",
            "--",
            check)
        #expect(outcome.status == 0)
        #expect(outcome.error.contains("The search ended after 6 runs"))
        #expect(try FileSystem.contents(ofFile: fixture.path("log")).count == 6)
        #expect(
            try ApplicationHandle(fixture.path("small.sqlite")).texts(Self.check) == ["2"])
    }

    @Test func aHangingCommandFailsByItsTimeLimit() throws {
        let fixture = try Fixture()
        // The shell waits for a child, which has to end, too.
        let check = try program(
            """
            test -z "$(sqlite3 "$FAILURE_ARTIFACTS_FIXTURE" '\(Self.check)')" || sleep 987654
            """, in: fixture)
        let outcome = try Program.tool(
            "reduce", try bundle(in: fixture), "-o", fixture.path("small.sqlite"), "--timeout", "1",
            "--max-runs", "12", "--", check)
        #expect(outcome.status == 0)
        #expect(outcome.error.contains("The command fails by its time limit."))
        #expect(
            try ApplicationHandle(fixture.path("small.sqlite")).texts(Self.check) == ["2"])
        #expect(try Program.run("/usr/bin/env", ["pgrep", "-f", "sleep 98765[4]"]).status == 1)
    }

    @Test func aSignalKeepsTheBestStore() throws {
        let fixture = try Fixture()
        let check = try program(
            """
            n=$(cat \(fixture.path("n")) 2> /dev/null || echo 0); n=$((n + 1)); echo $n > \(fixture.path("n"))
            test $n != 8 || { kill -INT $PPID; sleep 60; }
            test -z "$(sqlite3 "$FAILURE_ARTIFACTS_FIXTURE" '\(Self.check)')"
            """, in: fixture)
        try FileSystem.createDirectory(fixture.path("scratch"))
        let outcome = try Program.tool(
            "reduce", try bundle(in: fixture), "-o", fixture.path("small.sqlite"), "--", check,
            environment: ["TMPDIR": fixture.path("scratch")])
        #expect(outcome.status == 130)
        #expect(outcome.error.contains("The search was interrupted"))
        let store = try ApplicationHandle(fixture.path("small.sqlite"))
        #expect(try store.texts(Self.check) == ["2"])
        #expect(try FileSystem.contents(ofDirectory: fixture.path("scratch")).isEmpty)
    }

    @Test func whatCantBeReduced() throws {
        let fixture = try Fixture()
        let bundle = try bundle(in: fixture)
        func reduce(_ arguments: String...) -> Outcome {
            run(["reduce", bundle, "-o", fixture.path("small.sqlite")] + arguments)
        }
        let none = reduce("--check", "SELECT 1 FROM sale WHERE id = 99")
        #expect(none.status == 1)
        #expect(none.error.contains("returns no row for the whole store"))
        let write = reduce("--check", "DELETE FROM sale")
        #expect(write.status == 64)
        #expect(write.error.contains("it changes the store"))
        let missing = reduce("--check", "SELECT nope FROM sale")
        #expect(missing.status == 64)
        #expect(
            missing.error.contains(
                "'SELECT nope FROM sale' cannot be run on the store 'shop': no such column: nope."))
        #expect(reduce("--check", "SELECT 1 FROM sales").error.contains(" The nearest name is 'sale'."))
        #expect(reduce().status == 64)
        #expect(reduce("--check", "SELECT 1", "--", "true").status == 64)
        #expect(reduce("--check", "SELECT 1", "--max-runs", "2").status == 64)
        #expect(try FileSystem.status(of: fixture.path("small.sqlite")) == nil)
    }

    @Test func existingFilesStay() throws {
        let fixture = try Fixture()
        try fixture.write([1, 2, 3], to: "small.sql")
        let outcome = run(
            "reduce", try bundle(in: fixture), "-o", fixture.path("small.sqlite"), "--check", Self.check)
        #expect(outcome.status == 64)
        #expect(outcome.error.contains("small.sql' exists"))
        #expect(
            try FileSystem.contents(ofDirectory: fixture.directory).contains("small.sqlite") == false)
    }

    @Test func unreliableCommandsAreReported() throws {
        let fixture = try Fixture()
        let check = try program(
            """
            test -e \(fixture.path("done")) || { touch \(fixture.path("done")); exit 3; }
            """, in: fixture)
        let outcome = try Program.tool(
            "reduce", try bundle(in: fixture), "-o", fixture.path("small.sqlite"), "--", check)
        #expect(outcome.status == 1)
        #expect(outcome.error.contains("The check is unreliable: it held in 1 of 2 runs."))
    }

    /// It fails for each store until the search is over.
    @Test func commandsThatStopFailingAreReported() throws {
        let fixture = try Fixture()
        let check = try program(
            """
            echo >> \(fixture.path("log")); test $(wc -l < \(fixture.path("log"))) -ge 4
            """, in: fixture)
        let outcome = try Program.tool(
            "reduce", try bundle(in: fixture), "-o", fixture.path("small.sqlite"), "--", check)
        #expect(outcome.status == 1)
        #expect(outcome.error.contains("no longer held for the reduced store"))
        #expect(outcome.error.contains("fails with empty tables, too"))
    }

    @Test func redactedStoresAreReducedAndNamed() throws {
        let fixture = try Fixture()
        let outcome = run(
            "reduce", try bundle(in: fixture, redacted: true), "-o", fixture.path("small.sqlite"),
            "--check", Self.check)
        #expect(outcome.status == 0)
        #expect(outcome.error.contains("The store was redacted (customer.name: hashed)"))
    }

    @Test func damagedStoresAreRefused() throws {
        let fixture = try Fixture()
        var store = try fixture.store(Self.shop)
        // The index no longer matches its table.
        let page = 4096 * 3
        for index in page + 3900..<page + 4096 { store[index] ^= 0x3F }
        let path = try fixture.zip(
            "PlainTests.testStore-1a2b3c4d.zip",
            [("metadata.json", Array(Metadata.store("shop").utf8)), ("stores/shop.sqlite", store)])
        let outcome = run(
            "reduce", path, "-o", fixture.path("small.sqlite"), "--check", "SELECT 1")
        #expect(outcome.status == 65)
        #expect(outcome.error.contains("is damaged"))
    }
}
