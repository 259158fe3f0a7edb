import FailureArtifactsBundle
import Foundation
import Testing

@testable import FailureArtifactsCapture

@Suite struct ConfigurationTests {
    private func parse(
        _ variables: [String: String]
    ) -> (configuration: CaptureConfiguration, warnings: [String]) {
        CaptureConfiguration.parse(variables, workingDirectory: "/start")
    }

    @Test func theDefaults() {
        let (configuration, warnings) = parse([:])
        #expect(configuration.mode == .firstFailure)
        #expect(configuration.directory.path(percentEncoded: false) == "/start/failure-artifacts/")
        #expect(configuration.maximumStoreBytes == 1 << 30)
        #expect(configuration.maximumTotalBytes == 4 << 30)
        #expect(configuration.maximumBundles == 200)
        #expect(configuration.maximumStatements == 1000)
        #expect(configuration.maximumBundleBytes == nil && configuration.limits.bundleBytes == 3 << 30)
        #expect(configuration.minimumFreeBytes == 256 << 20)
        #expect(configuration.discoversStores)
        #expect(configuration.capturesPassingTests == .never)
        #expect(warnings.isEmpty)
    }

    @Test func everyVariableIsRead() {
        let (configuration, warnings) = parse([
            "FAILURE_ARTIFACTS": "every-failure", "FAILURE_ARTIFACTS_DIR": "/else where",
            "FAILURE_ARTIFACTS_MAX_STORE_BYTES": "5", "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES": "6",
            "FAILURE_ARTIFACTS_MAX_BUNDLES": "7", "FAILURE_ARTIFACTS_DISCOVERY": "off",
            "FAILURE_ARTIFACTS_PASSING": "retry",
            "FAILURE_ARTIFACTS_READABLE_BY": "group", "FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES": "8",
            "FAILURE_ARTIFACTS_MIN_FREE_BYTES": "9",
        ])
        #expect(configuration.mode == .everyFailure)
        #expect(configuration.directory.path(percentEncoded: false) == "/else where/")
        #expect(configuration.maximumStoreBytes == 5)
        #expect(configuration.maximumTotalBytes == 6)
        #expect(configuration.maximumBundles == 7)
        #expect(configuration.maximumBundleBytes == 8 && configuration.minimumFreeBytes == 9)
        let large = parse(["FAILURE_ARTIFACTS_MAX_STORE_BYTES": "8589934592"]).configuration
        #expect(large.limits.bundleBytes == 24 << 30)
        #expect(configuration.readers == .group)
        #expect(configuration.capturesPassingTests == .afterFailure)
        #expect(
            parse(["FAILURE_ARTIFACTS_PASSING": "always"]).configuration.capturesPassingTests == .always)
        #expect(!configuration.discoversStores)
        #expect(warnings.isEmpty)
        #expect(parse(["FAILURE_ARTIFACTS": "off"]).configuration.mode == .off)
        #expect(parse(["FAILURE_ARTIFACTS": ""]).configuration.mode == .firstFailure)
        let relative = parse(["FAILURE_ARTIFACTS_DIR": "out"]).configuration.directory
        #expect(relative.path(percentEncoded: false) == "/start/out/")
    }

    @Test(arguments: [
        ("FAILURE_ARTIFACTS", "sometimes", "first-failure"),
        ("FAILURE_ARTIFACTS_MAX_STORE_BYTES", "1GB", "1073741824"),
        ("FAILURE_ARTIFACTS_MAX_STORE_BYTES", "-1", "1073741824"),
        ("FAILURE_ARTIFACTS_MAX_TOTAL_BYTES", "99999999999999999999999", "4294967296"),
        ("FAILURE_ARTIFACTS_MAX_BUNDLES", "many", "200"),
        ("FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES", "-1", "3221225472"),
        ("FAILURE_ARTIFACTS_MIN_FREE_BYTES", "none", "268435456"),
        ("FAILURE_ARTIFACTS_DISCOVERY", "yes", "on"), ("FAILURE_ARTIFACTS_READABLE_BY", "all", "owner"),
        ("FAILURE_ARTIFACTS_PASSING", "afterFailure", "never"),
    ])
    func aValueThatCannotBeReadIsNamedWithWhatIsUsedInstead(name: String, value: String, used: String) {
        let (configuration, warnings) = parse([name: value])
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("\(name) is '\(value)'") == true)
        #expect(warnings.first?.contains("'\(used)' is used instead") == true)
        #expect(configuration == parse([:]).configuration)
    }

    @Test func invariantsAreADirectoryOfSQLFiles() throws {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "invariants-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (configuration, warnings) = parse(["FAILURE_ARTIFACTS_INVARIANTS": directory.path])
        #expect(warnings.isEmpty)
        #expect(configuration.invariants?.path == directory.path)
        let (absent, message) = parse(["FAILURE_ARTIFACTS_INVARIANTS": "missing"])
        #expect(absent.invariants == nil)
        #expect(
            message == [
                "FAILURE_ARTIFACTS_INVARIANTS is 'missing', which is not a directory of SQL files that can be read; "
                    + "'none' is used instead."
            ])
    }

    @Test func redactionsAreReadFromAFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "redactions-\(UUID().uuidString)")
        try Data(
            """
            {"tables": ["a"], "columns": [{"column": "b", "method": "mask"}], "attachments": ["c"],
            "homePaths": "short", "salt": "s"}
            """.utf8
        ).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (configuration, warnings) = parse(["FAILURE_ARTIFACTS_REDACTIONS": file.path])
        #expect(warnings.isEmpty)
        var other = configuration
        other.redactions = [
            .drop(table: "a"), .mask("b"), .leaveOut(attachment: "c"), .shortenHomePaths,
        ]
        #expect(configuration.redactionRules == other.redactionRules)
        #expect(configuration.redactionSalt == "s")
        #expect(parse([:]).configuration.redactions.isEmpty)
    }

    /// The content to leave out is unknown, so all content is left out.
    @Test func redactionsThatCannotBeReadLeaveOutEverything() {
        let (configuration, warnings) = parse(["FAILURE_ARTIFACTS_REDACTIONS": "missing.json"])
        #expect(configuration.redactions == [.leaveOutContent])
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("FAILURE_ARTIFACTS_REDACTIONS is 'missing.json'") == true)
        #expect(warnings.first?.contains("/start/missing.json") == true)
    }
}
