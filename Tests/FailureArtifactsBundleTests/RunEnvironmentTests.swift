import FailureArtifactsBundle
import Testing

@Suite struct RunEnvironmentTests {
    @Test(arguments: [
        ("GITHUB_ACTIONS", "GitHub Actions", "GITHUB_SHA"), ("GITLAB_CI", "GitLab CI", "CI_COMMIT_SHA"),
        ("BUILDKITE", "Buildkite", "BUILDKITE_COMMIT"), ("CIRCLECI", "CircleCI", "CIRCLE_SHA1"),
        ("JENKINS_URL", "Jenkins", "GIT_COMMIT"), ("TF_BUILD", "Azure Pipelines", "BUILD_SOURCEVERSION"),
        ("BITRISE_IO", "Bitrise", "BITRISE_GIT_COMMIT"), ("CI_WORKSPACE", "Xcode Cloud", "CI_COMMIT"),
        ("BITBUCKET_PIPELINE_UUID", "Bitbucket Pipelines", "BITBUCKET_COMMIT"),
    ])
    func aServiceIsRecognisedAndOnlyItsRunIsKept(marker: String, service: String, commit: String) {
        let ci = RunEnvironment.describe(variables: [
            marker: "true", commit: "0123abc", "AWS_SECRET_ACCESS_KEY": "secret",
            "GITHUB_TOKEN": "secret",
            "PATH": "/bin",
        ]).ci
        #expect(ci?.service == service)
        // Ignore the marker: it is kept if it also identifies the run.
        let kept = ci?.variables.filter { $0.key != marker }
        #expect(kept == [commit: "0123abc"])
    }

    @Test func outsideCIThereIsNoRun() {
        #expect(RunEnvironment.describe(variables: ["GITHUB_SHA": "x", "GITHUB_ACTIONS": ""]).ci == nil)
    }

    @Test(arguments: [
        ("https://me:pass@host/x?y@z", "https://host/x"), ("https://token@host", "https://host"),
        ("https://host/a@b", "https://host/a@b"), ("plain a@b", "plain a@b"),
        ("https://me@host?token=t", "https://host"), ("https://host/x#token=t", "https://host/x"),
        ("https://a@b@host:80/", "https://host:80/"), ("ssh://git:p@host/x.git", "ssh://host/x.git"),
        ("https://host/x?\u{301}t=t", "https://host/x"), ("https://me:p?ss@host/x", "https://"),
        ("https://me:p#ss@host", "https://"), ("://", "://"),
        ("https://", "https://"), ("https://@", "https://"),
    ])
    func urlsLoseTheirCredentials(url: String, kept: String) {
        let ci = RunEnvironment.describe(variables: ["JENKINS_URL": "x", "BUILD_URL": url]).ci
        #expect(ci?.variables["BUILD_URL"] == kept)
    }
}
