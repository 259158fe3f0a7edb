import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCommands

/// The claims of a generated test, and the rows of its store.
@Suite struct FixtureWordingTests {
    /// Runs `extract --fixture`, and returns the source, the store's path and the messages.
    private func extract(
        _ bundle: String, _ fixture: borrowing Fixture
    ) throws -> (source: String, store: ApplicationHandle, messages: String) {
        let directory = fixture.path("out-\(UInt32.random(in: 0 ... .max))")
        let outcome = run("extract", bundle, "--fixture", "-o", directory)
        try #require(outcome.status == 0, "\(outcome.error)")
        let paths = outcome.output.split(separator: "\n").map(String.init)
        func text(_ path: String) throws -> String {
            String(decoding: try FileSystem.contents(ofFile: path), as: UTF8.self)
        }
        let isScript = paths[0].hasSuffix(".sql")
        let store = try ApplicationHandle(isScript ? directory + "/made.sqlite" : paths[0])
        if isScript { try store.run(try text(paths[0])) }
        return (try text(paths[1]), store, outcome.error)
    }

    private static let tables = """
        CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID INTEGER NOT NULL REFERENCES account(id), amount);
        WITH RECURSIVE i(x) AS (SELECT 3 UNION ALL SELECT x + 1 FROM i WHERE x < 400)
        INSERT INTO account SELECT x, 'n' || x, x FROM i;
        INSERT INTO entry SELECT id, id, id * 10 FROM account
        """

    private static let log: [(sql: String, changes: Int?)] = [
        ("BEGIN", nil), ("CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID, amount)", 0),
        ("INSERT INTO account SELECT x, 'n' || x, x FROM i", 398),
        ("INSERT INTO entry SELECT id, id, id * 10 FROM account", 400), ("COMMIT", nil),
    ]

    @Test func aPossibleCauseIsNoFact() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(
            [Self.tables, "DELETE FROM entry WHERE id > 0"],
            log: Self.log + [("BEGIN", nil), ("DELETE FROM entry WHERE id > 0", 400), ("COMMIT", nil)],
            facts: [
                6: #""source":{"file":"Tests/AppTests/A.swift","line":9,"function":"ATests.testA()"}"#
            ])
        let (source, store, messages) = try extract(bundle, fixture)
        #expect(
            messages.hasPrefix(
                "The store is the one before transaction 2 of this possible cause: Table entry"))
        #expect(source.contains("as it was before transaction 2, which may have broken it.\n"))
        #expect(
            source.contains(
                "This test is incomplete: do with the store what Tests/AppTests/A.swift:9 does, and"))
        let text = """
                    // Expect here what the failed test expected:
                    // m
                    //
                    // A possible cause: Table entry lost its 400 rows.
                    // Remove the following lines if it isn't what is wrong.
                    let broken =
            """
        #expect(source.contains(text), "\(source)")
        #expect(try store.value("SELECT count(*) FROM entry WHERE id <= 200") == "200")
    }

    @Test(arguments: [150, 350])
    func changedRowsAreKept(_ deleted: Int) throws {
        let fixture = try Fixture()
        let delete = "DELETE FROM account WHERE id <= \(deleted)"
        let bundle = try fixture.walBundle(
            [
                Self.tables.replacing(
                    "INSERT INTO entry SELECT id, id", with: "INSERT INTO entry SELECT id, (id + 1) / 2"),
                delete,
            ],
            log: [("PRAGMA foreign_keys = ON", nil)] + Self.log + [
                ("BEGIN", nil), (delete, deleted), ("COMMIT", nil),
            ])
        let (source, store, messages) = try extract(bundle, fixture)
        #expect(messages.hasPrefix("The store is the one before transaction 2 of this finding: "))
        #expect(source.contains("before transaction 2, which broke it.\n"))
        let count = try Int(store.value("SELECT count(*) FROM account"))
        if deleted <= 200 {
            #expect(count == deleted)
            #expect(source.contains(" of 800 rows: those that the transaction changed or refers to."))
        } else {
            #expect(count ?? 0 < deleted)
            #expect(
                source.contains(
                    " of 800 rows: some of those that the transaction changed or refers to, because these are more "
                        + "than 200."))
        }
    }

    /// Both writers read first, so the store is the one before the write that was lost.
    @Test(arguments: [nil, #"XCTAssertEqual failed: ("8") is not equal to ("5")"#])
    func bothWritesOfALostUpdate(_ message: String?) throws {
        let fixture = try Fixture()
        func facts(_ line: Int) -> String {
            """
            "source":{"file":"Sources/App/Office.swift","line":\(line),"function":"closure #1 in Office.sell(_:)"}
            """
        }
        let second = "\"connection\":2"
        let read = ("SELECT balance FROM account WHERE id = 1", nil as Int?)
        let write = ("UPDATE account SET balance = ? WHERE id = ?", 1 as Int?)
        let bundle = try fixture.walBundle(
            [
                "INSERT INTO account VALUES (3, 'c', 30)", "UPDATE account SET balance = 7 WHERE id = 1",
                "UPDATE account SET balance = 8 WHERE id = 1",
            ],
            log: [
                ("BEGIN", nil), ("INSERT INTO account VALUES (3, 'c', 30)", 1), ("COMMIT", nil), read,
                read,
                ("BEGIN", nil), write, ("COMMIT", nil), ("BEGIN", nil), write, ("COMMIT", nil),
            ], facts: [4: second, 6: facts(5), 8: second, 9: second + "," + facts(5), 10: second],
            message: message)
        let confidence = try #require(
            run("explain", bundle, "--json").output.firstMatch(of: #/"confidence" ?: ?"(\w+)"/#)?.1)
        let (source, store, messages) = try extract(bundle, fixture)
        #expect(
            messages.hasPrefix(
                "The store is the one before transaction 2 of this \(confidence) cause: Two writes of"))
        let verb = confidence == "likely" ? "probably overwrote" : "may have overwritten"
        #expect(source.contains("before transaction 2, whose change transaction 3 \(verb).\n"))
        #expect(
            source.contains(
                "call Office.sell(_:) twice with the store, as Sources/App/Office.swift:5 shows, so that both read "
                    + "before one of them writes, and remove this line."))
        #expect(source.contains("// Transaction 2 ran:\n"))
        #expect(source.contains("//     account id = 1 updated: balance 10 → 7\n"))
        #expect(source.contains("// Transaction 3 ran:\n"))
        #expect(source.contains("//     account id = 1 updated: balance 7 → 8\n"))
        #expect(
            source.contains("// The likely cause: Two writes of account.balance")
                == (confidence == "likely"))
        #expect(try store.value("SELECT balance FROM account WHERE id = 1") == "10")
        #expect(try store.value("SELECT count(*) FROM account") == "1")
    }

    private static func call(
        _ frames: [(file: String, function: String?)], suite: String = "LedgerTests"
    ) -> FixtureCall? {
        var statement = StatementRecord(
            at: "", changes: 1, connection: 1, order: 1, phase: .test, sql: "", thread: "")
        let frames = frames.enumerated().map { index, frame in
            StatementRecord.Source(file: frame.file, function: frame.function, line: index + 1)
        }
        statement.source = frames.first
        statement.callers = Array(frames.dropFirst())
        return FixtureCall(
            statement,
            of: .init(framework: "XCTest", suite: suite, name: "testA", arguments: nil, attempt: 1),
            .init(
                message: "m", file: "/app/Checks/Base.swift", line: 1, kind: .assertion,
                at: Timestamp(seconds: 1)))
    }

    private static let inner = ("Sources/App/Pay.swift", "closure #1 in Payments.submit(_:)")
    private static let outer = ("Sources/App/Pay.swift", "Payments.pay(_:)")
    private static let helper = ("Tests/AppTests/Help.swift", "fill(_:)")
    private static let own = ("Checks/More.swift", "LedgerTests.testA()")

    @Test func theCallIsTheOutermostOneOfTheApplication() throws {
        let call = try #require(Self.call([Self.inner, Self.outer, Self.helper, Self.own]))
        #expect(call.function == "Payments.pay(_:)")
        #expect(call.place == "Tests/AppTests/Help.swift:3" && call.isInTest)
        // The application's function that called back is in the test's part of the stack.
        let nested = try #require(Self.call([Self.inner, Self.own, Self.outer, Self.own]))
        #expect(nested.function == "Payments.pay(_:)" && nested.place == "Checks/More.swift:4")
    }

    @Test func withoutTheTestTheLineIsThatOfTheCall() throws {
        let call = try #require(Self.call([Self.inner, Self.outer]))
        #expect(call.function == "Payments.pay(_:)")
        #expect(call.place == "Sources/App/Pay.swift:2" && !call.isInTest)
        #expect(Self.call([]) == nil)
    }

    /// The test is known by its suite, its folder, or the file of the failure.
    @Test func theTestItselfIsNotCalled() throws {
        for frame in [
            Self.helper, Self.own, ("Checks/Base.swift", "prepare()"),
            ("AppUnitTests/A.swift", "prepare()"),
        ] {
            let call = try #require(Self.call([frame, Self.outer, Self.own]))
            #expect(call.function == nil && call.isInTest && call.place == "\(frame.0):1")
        }
        let nested = try #require(
            Self.call([("Checks/More.swift", "closure #1 in Some.Inner.testA()")], suite: "Outer.Inner"))
        #expect(nested.function == "Some.Inner.testA()")
    }
}
