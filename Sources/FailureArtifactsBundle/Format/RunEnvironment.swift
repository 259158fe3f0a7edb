internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A description of the machine and the run.
///
/// Environment variables come from an allow-list.
package enum RunEnvironment {
    /// The CI services: the variable that marks each, and the variables that identify a run.
    private static let services: [(name: String, marker: String, identity: String)] = [
        (
            "GitHub Actions", "GITHUB_ACTIONS",
            "GITHUB_RUN_ID GITHUB_RUN_ATTEMPT GITHUB_JOB GITHUB_SHA GITHUB_REPOSITORY GITHUB_SERVER_URL"
        ),
        (
            "GitLab CI", "GITLAB_CI",
            "CI_PIPELINE_ID CI_JOB_ID CI_JOB_URL CI_JOB_NAME CI_NODE_INDEX CI_COMMIT_SHA CI_PROJECT_URL"
        ),
        (
            "Buildkite", "BUILDKITE",
            "BUILDKITE_BUILD_URL BUILDKITE_JOB_ID BUILDKITE_PARALLEL_JOB BUILDKITE_RETRY_COUNT "
                + "BUILDKITE_COMMIT"
        ),
        ("CircleCI", "CIRCLECI", "CIRCLE_WORKFLOW_ID CIRCLE_BUILD_URL CIRCLE_NODE_INDEX CIRCLE_SHA1"),
        ("Jenkins", "JENKINS_URL", "BUILD_TAG BUILD_URL GIT_COMMIT"),
        (
            "Azure Pipelines", "TF_BUILD",
            "BUILD_BUILDID SYSTEM_JOBID SYSTEM_JOBATTEMPT BUILD_SOURCEVERSION BUILD_REPOSITORY_URI"
        ),
        ("Bitrise", "BITRISE_IO", "BITRISE_BUILD_SLUG BITRISE_BUILD_URL BITRISE_GIT_COMMIT"),
        (
            "Bitbucket Pipelines", "BITBUCKET_PIPELINE_UUID",
            "BITBUCKET_BUILD_NUMBER BITBUCKET_PIPELINE_UUID BITBUCKET_STEP_UUID BITBUCKET_PARALLEL_STEP "
                + "BITBUCKET_COMMIT BITBUCKET_GIT_HTTP_ORIGIN"
        ),
        ("Xcode Cloud", "CI_WORKSPACE", "CI_BUILD_ID CI_BUILD_NUMBER CI_WORKFLOW CI_COMMIT"),
    ]

    /// Returns true on a CI service.
    static func isService(_ variables: [String: String]) -> Bool {
        (["CI"] + services.map(\.marker)).contains { !(variables[$0] ?? "").isEmpty }
    }

    /// Describes the environment of this process; of the variables, only those that identify the run are kept.
    package static func describe(variables: [String: String]) -> BundleMetadata.Environment {
        BundleMetadata.Environment(
            operatingSystem: ProcessEnvironment.operatingSystem,
            architecture: ProcessEnvironment.architecture,
            swift: swiftVersion, sqlite: sqliteVersion, processID: ProcessEnvironment.processID,
            run: variables[ProcessEnvironment.supervisionVariable],
            ci: run(variables: variables))
    }

    /// Finds the run of a CI service; returns nil outside CI.
    static func run(variables: [String: String]) -> BundleMetadata.ContinuousIntegration? {
        let service = services.first { !(variables[$0.marker] ?? "").isEmpty }
        guard let service else { return nil }
        var identity: [String: String] = [:]
        for name in service.identity.split(separator: " ").map(String.init) {
            if let value = variables[name], !value.isEmpty { identity[name] = withoutCredentials(value) }
        }
        return BundleMetadata.ContinuousIntegration(service: service.name, variables: identity)
    }

    /// Removes user, password, query and fragment from a URL, since they may contain tokens.
    ///
    /// Other text is unchanged.
    static func withoutCredentials(_ url: String) -> String {
        // A sign and the marks that follow it are one character.
        let text = url.unicodeScalars
        guard let scheme = text.firstRange(of: "://".unicodeScalars) else { return url }
        let place = text[scheme.upperBound...].prefix { $0 != "?" && $0 != "#" }
        let authority = place.prefix { $0 != "/" }
        // A password may contain these characters, although it shouldn't. Then only the scheme is kept.
        if authority.endIndex == place.endIndex, text[place.endIndex...].contains("@") {
            return String(text[..<scheme.upperBound])
        }
        let start = authority.lastIndex(of: "@").map { text.index(after: $0) } ?? scheme.upperBound
        return String(text[..<scheme.upperBound]) + String(place[start...])
    }

    /// The version of the compiler that built this code, to the minor version.
    ///
    /// Conditional compilation provides no more.
    private static var swiftVersion: String {
        #if compiler(>=6.5)
        "6.5 or later"
        #elseif compiler(>=6.4)
        "6.4"
        #else
        "6.3"
        #endif
    }
}

extension BundleMetadata {
    /// The machine and the run.
    ///
    /// It contains only the environment variables on the allow-list of run identities.
    package struct Environment: Codable, Equatable, Sendable {
        package var operatingSystem: String
        package var architecture: String
        /// The version of Swift that compiled the product.
        package var swift: String
        /// The version of the SQLite library in the test's process.
        package var sqlite: String
        package var processID: Int
        /// The identifier of the `failure-artifacts run` that the process belonged to; absent without one.
        package var run: String?
        /// The run of a CI service; absent outside CI.
        package var ci: ContinuousIntegration?
    }

    /// A run of a CI service.
    package struct ContinuousIntegration: Codable, Equatable, Sendable {
        /// The name of the service, such as `GitHub Actions`.
        package var service: String
        /// The variables that identify the run, with their values.
        package var variables: [String: String]
    }
}
