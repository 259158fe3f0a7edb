import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestKit
import Foundation
import Testing

@Suite struct InvariantCheckTests {
    @Test func brokenInvariantsAreProblems() throws {
        try withTemporaryDirectory { directory in
            for (name, sql) in [
                ("apples", "-- There are no apples\nSELECT name FROM fruit WHERE name = 'apple'"),
                ("cherries", "SELECT name FROM fruit WHERE name = 'cherry'"),
                ("missing", "SELECT * FROM vegetable"), ("writing", "DELETE FROM fruit"),
            ] {
                try Data(sql.utf8).write(to: directory.appending(path: name + ".sql"))
            }
            let store = try SQLiteTestStore(at: .memory(name: "fruits"))
            defer { store.close() }
            try store.execute("CREATE TABLE fruit (name TEXT)")
            try store.execute("INSERT INTO fruit VALUES ('apple'), ('apple')")
            let problems = try InvariantCheck.problems(in: directory) { copy in
                try store.withConnection { try DatabaseCopy.copy(connection: $0, toNewFile: copy) }
            }
            #expect(
                problems == [
                    "The invariant 'There are no apples' (apples.sql) is broken by 2 rows: name 'apple'; name 'apple'.",
                    "The invariant 'missing' (missing.sql) was not checked: no such table: vegetable.",
                    "The invariant 'writing' (writing.sql) was not checked: it is not a SELECT.",
                ])
            #expect(try store.value("SELECT count(*) FROM fruit") == 2)
            try store.execute("BEGIN; INSERT INTO fruit VALUES ('cherry')")
            expectError(.cannotStart, "could not be copied") {
                _ = try InvariantCheck.problems(in: directory) { copy in
                    try store.withConnection { try DatabaseCopy.copy(connection: $0, toNewFile: copy) }
                }
            }
        }
    }

    @Test func brokenInvariantsAreIssuesOfSwiftTesting() throws {
        try withTemporaryDirectory { directory in
            try Data("SELECT name FROM fruit".utf8).write(to: directory.appending(path: "none.sql"))
            let store = try SQLiteTestStore(at: .memory(name: "fruits"))
            defer { store.close() }
            try store.execute("CREATE TABLE fruit (name TEXT)")
            assertInvariants(of: store, in: directory)
            try store.execute("INSERT INTO fruit VALUES ('apple')")
            let line = #line + 2
            withKnownIssue {
                assertInvariants(of: store, in: directory)
            } matching: { issue in
                let location = issue.sourceLocation
                return location?.line == line && location?.fileName == "InvariantCheckTests.swift"
                    && location?.moduleName == "FailureArtifactsTestKitTests"
                    && issue.comments.map(\.rawValue) == [
                        "The invariant 'none' (none.sql) is broken by 1 row: name 'apple'."
                    ]
            }
            withKnownIssue {
                assertInvariants(of: store, in: directory.appending(path: "absent"))
            } matching: {
                $0.comments.first?.rawValue.contains("cannot be read") == true
            }
        }
    }

    @Test func missingDirectoriesAreErrors() throws {
        try withTemporaryDirectory { directory in
            expectError(.file, "cannot be read") {
                _ = try InvariantCheck.problems(in: directory.appending(path: "absent")) { _ in }
            }
            expectError(.file, "FAILURE_ARTIFACTS_INVARIANTS") {
                _ = try InvariantCheck.problems(in: nil) { _ in }
            }
        }
    }
}
