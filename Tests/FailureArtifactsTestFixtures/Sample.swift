package import FailureArtifactsAnalysis
package import FailureArtifactsBundle
import FailureArtifactsReading
internal import Testing

/// Sample results for tests.
package enum Sample {
    package static func attempt(
        _ name: String, _ outcome: TestAttempt.Outcome, _ messages: String..., module: String? = nil,
        framework: String = TestIdentity.xctest, seconds: Double? = 1
    ) -> TestAttempt {
        TestAttempt(
            test: TestIdentity(framework: framework, module: module, suite: "Suite", name: name),
            outcome: outcome, seconds: seconds,
            failures: messages.map { .init(message: $0, file: "/p/A.swift", line: 3) })
    }

    package static func bundle(
        _ name: String, _ messages: String..., at second: Int = 0, arguments: [String]? = nil,
        outcome: BundleMetadata.Outcome = .failed, fingerprint: String = "",
        file: String? = "/p/A.swift", line: Int = 3, variables: [String: String] = [:],
        framework: String = TestIdentity.xctest, path: String? = nil
    ) throws -> ReportedBundle {
        var metadata = try BundleMetadata(
            json: Array(Metadata.plain(test: name, message: "m").utf8), of: "sample")
        metadata.test.framework = framework
        metadata.test.suite = "Suite"
        metadata.test.arguments = arguments
        metadata.outcome = outcome
        metadata.fingerprint = fingerprint
        metadata.environment.ci?.variables = variables
        let first = try #require(metadata.failures.first)
        metadata.failures = messages.map { message in
            var failure = first
            failure.message = message
            failure.file = file
            failure.line = file == nil ? nil : line
            failure.at = "2026-11-21T07:08:\(10 + second).000Z"
            return failure
        }
        let location = BundleLocation(path: path ?? "failure-artifacts/\(name)-\(second).zip")
        return ReportedBundle(metadata, location: location)
    }
}
