import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// The redaction rules that the environment names.
@Suite struct RedactionTests {
    /// The command ends before it runs or writes anything.
    @Test(arguments: [("missing.json", 66), ("bad.json", 65)])
    func rulesThatCannotBeReadEndEveryCommand(_ name: String, _ status: Int32) throws {
        let fixture = try Fixture()
        try fixture.write(Array("{\"table\": []}".utf8), to: "bad.json")
        try FileSystem.createDirectory(fixture.path("artifacts"))
        let rules = fixture.path(name)
        let witness = fixture.path("witness")
        for arguments in [
            ["run", "--", "touch", witness], ["sweep", fixture.path("artifacts")],
        ] {
            let outcome = try Program.tool(
                arguments, environment: ["FAILURE_ARTIFACTS_REDACTIONS": name],
                directory: fixture.directory)
            #expect(outcome.status == status)
            #expect(
                outcome.error
                    == (status == 66
                        ? "error: The redactions in '\(rules)' cannot be read: No such file or directory.\n"
                        : "error: '\(rules)' is not a file of redactions. It must be a JSON object with no other "
                            + "keys than \"tables\", \"columns\", \"attachments\", \"homePaths\", \"content\" and "
                            + "\"salt\", with values as the documentation describes them.\n"))
        }
        #expect(!FileManager.default.fileExists(atPath: witness))
    }

    @Test func theCommandOfARunGetsTheFilesAbsolutePath() throws {
        let fixture = try Fixture()
        try fixture.write(Array("{}".utf8), to: "rules.json")
        let outcome = try Program.tool(
            "run", "--", "sh", "-c", "echo $FAILURE_ARTIFACTS_REDACTIONS",
            environment: ["FAILURE_ARTIFACTS_REDACTIONS": "rules.json"], directory: fixture.directory)
        #expect(outcome.output == fixture.path("rules.json") + "\n")
    }

    /// Redacted values may violate a `CHECK` constraint.
    ///
    /// (SQLite 3.40 skips all `CHECK` constraints if a store is opened read-only.)
    @Test func aRedactedStoreIsVerifiedAndShown() throws {
        let fixture = try Fixture()
        let store = try fixture.store(
            "CREATE TABLE t(a CHECK (a > 5)); PRAGMA ignore_check_constraints = 1; INSERT INTO t VALUES (0)"
        )
        let metadata = Metadata.store("a").replacing(
            "\"storage\"", with: "\"redactions\": [\"t.a: masked\"], \"storage\"")
        let bundle = try fixture.zip(
            "a-1a2b3c4d.zip", [("metadata.json", Array(metadata.utf8)), ("stores/a.sqlite", store)])
        #expect(run("verify", bundle).status == 0)
        #expect(run("show", bundle).output.contains("redacted: t.a: masked"))
    }
}
