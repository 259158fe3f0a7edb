import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// The bundles of a run on GitHub, by the address of its page.
@Suite struct GitHubRunTests {
    private static let address = "https://github.com/Owner/app/actions/runs/123"
    private static let list =
        #"api github.com repos/Owner/app/actions/runs/123/artifacts?per_page=100"#

    @Test func onlyNewArtifactsAreDownloaded() throws {
        let github = try GitHub()
        try github.fixture.attempt("T.a-00000001.zip", at: 1, in: "remote/1")
        try github.fixture.attempt("T.b-00000002.zip", test: "b", at: 2, in: "remote/2")
        // The page about all failures is not an archive, and other artifacts are not of this tool.
        try github.artifacts([
            (1, "failure-artifacts-test-0-1"), (2, "failure-artifacts-test-1-1"),
            (3, "failure-artifacts-test-1-1.html"), (4, "logs"),
        ])
        let first = github.run("explain", Self.address)
        #expect(first.status == 0 && first.output.contains("PlainTests.b"), "\(first)")
        #expect(
            try github.calls() == [
                Self.list, "run github.com/Owner/app failure-artifacts-test-0-1",
                "run github.com/Owner/app failure-artifacts-test-1-1",
            ])
        #expect(
            first.error.hasPrefix("Downloading 'failure-artifacts-test-0-1' of the run.\n"),
            "\(first.error)")
        #expect(first.error.contains("'\(Self.address)' has 2 failures."), "\(first.error)")
        // The listed command is of a file that is there.
        let other =
            "home/.cache/failure-artifacts/runs/github.com+owner+app+123/failure-artifacts-test-0-1-1"
        #expect(
            first.error.contains(" explain \(github.fixture.path(other + "/00000001")) "),
            "\(first.error)")
        #expect(try FileSystem.status(of: github.fixture.path("home/.cache"))?.permissions == 0o700)

        // The page of a job is of the same run.
        let again = github.run("list", Self.address + "/job/456?pr=7#step:4:10")
        #expect(again.status == 0 && again.error == "", "\(again)")
        #expect(again.output.contains("a-00000001.zip") && again.output.contains("b-00000002.zip"))
        #expect(try github.calls() == [Self.list])

        try github.fixture.attempt("T.c-00000005.zip", test: "c", at: 5, in: "remote/5")
        try github.artifacts([
            (5, "failure-artifacts-test-0-2"), (6, "failure-artifacts-test-0-2"),
            (1, "failure-artifacts-test-0-1"),
            (2, "failure-artifacts-test-1-1"),
        ])
        #expect(github.run("explain", Self.address).output.contains("PlainTests.c"))
        #expect(
            try github.calls() == [Self.list, "run github.com/Owner/app failure-artifacts-test-0-2"])
        // An attempt has its own artifacts.
        let attempt = github.run("list", Self.address + "/attempts/1")
        #expect(
            attempt.output.contains("00000001") && !attempt.output.contains("00000005"), "\(attempt)")
        let missing = github.run("list", Self.address + "/attempts/3")
        #expect(missing.status == 66 && missing.error.contains(" and end in '-3'."), "\(missing)")
    }

    @Test(arguments: [
        "bisect", "blame", "diff", "explain", "extract", "history", "junit", "list", "merge", "query",
        "reduce", "report", "show", "summary", "verify",
    ])
    func everyReadingCommand(command: String) throws {
        let github = try GitHub()
        try github.fixture.ledger("remote/1/LedgerTests.testTransfer-1a2b3c4d.zip")
        try github.artifacts([(1, "failure-artifacts")])
        let words: [String] =
            switch command {
            case "bisect": ["SELECT 1"]
            case "blame": ["account", "1"]
            case "extract", "merge": ["-o", github.fixture.path("out")]
            case "query": ["SELECT 1"]
            case "reduce": ["--check", "SELECT 1", "-o", github.fixture.path("out/s.sqlite")]
            default: []
            }
        let outcome = github.run([command, Self.address] + words)
        #expect(try github.calls() == [Self.list, "run github.com/Owner/app failure-artifacts"])
        // Its result is that for the file.
        try FileSystem.remove(github.fixture.path("out"))
        let local = github.run(
            [command, github.fixture.path("remote/1/LedgerTests.testTransfer-1a2b3c4d.zip")] + words)
        #expect(outcome.status == local.status, "\(outcome) \(local)")
        #expect(try github.calls() == [])
    }

    @Test func thePageIsWithTheDownloads() throws {
        let github = try GitHub()
        try github.fixture.ledger("remote/1/LedgerTests.testTransfer-1a2b3c4d.zip")
        try github.artifacts([(1, "failure-artifacts")])
        let outcome = github.run("report", Self.address)
        let page = github.fixture.path(
            "home/.cache/failure-artifacts/runs/github.com+owner+app+123/report.html")
        #expect(outcome.output == page + "\n")
        #expect(FileSystem.regularFile(page) != nil)
    }

    @Test func runsWithoutBundles() throws {
        let github = try GitHub()
        try github.artifacts([(3, "failure-artifacts-a.html"), (4, "logs")])
        let none = github.run("list", Self.address)
        #expect(
            none.error
                == "error: '\(Self.address)' has no bundles: there are no artifacts whose names begin with "
                + "'failure-artifacts'.\n")
        try github.artifacts([(1, "failure-artifacts")], expired: true)
        let expired = github.run("list", Self.address)
        #expect(
            expired.error == "error: The bundles of '\(Self.address)' have expired. Run the job again.\n"
        )
        #expect([none.status, expired.status] == [66, 66])
        #expect(try github.calls() == [Self.list, Self.list])
        // What was downloaded before is still read.
        try github.fixture.attempt("T.a-00000001.zip", at: 1, in: "remote/1")
        try github.artifacts([(1, "failure-artifacts")])
        _ = github.run("list", Self.address)
        try github.artifacts([(1, "failure-artifacts")], expired: true)
        #expect(github.run("list", Self.address).status == 0)
    }

    @Test func failures() throws {
        let github = try GitHub()
        try github.fixture.attempt("T.a-00000001.zip", at: 1, in: "remote/1")
        try github.artifacts([(1, "failure-artifacts")])
        let downloads = github.fixture.path("home/.cache/failure-artifacts/runs")
        let start = "error: gh cannot download the artifacts of '\(Self.address)': "
        for (call, said, status, end) in [
            (
                "api", "gh: Not Found (HTTP 404)\n", 66,
                " Check the address, and with 'gh auth status' that you may read it."
            ),
            ("api", "To get started, please run:\n  gh auth login", 74, ""),
            ("run", "error downloading: \u{1B}]0;x\u{7}::warning::y", 74, ""), ("run", "", 74, ""),
        ] as [(String, String, Int32, String)] {
            try github.fail(call, saying: said)
            let outcome = github.run("list", Self.address)
            #expect(outcome.status == status)
            let shown =
                said.isEmpty
                ? "status 3"
                : said.replacing("\n  ", with: " ").replacing("\n", with: "")
                    .replacing("\u{1B}", with: #"\u{1b}"#).replacing("\u{7}", with: #"\u{7}"#)
            #expect(outcome.error.hasSuffix(start + shown + end + "\n"), "\(outcome.error)")
            // Nothing incomplete is left.
            #expect(try FileSystem.contents(ofDirectory: downloads) == [])
        }
        try github.fail(nil)
        #expect(github.run("list", Self.address).status == 0)

        let outcome = run("list", Self.address, environment: ["PATH": "/nowhere", "HOME": "/nowhere"])
        #expect(
            outcome.error
                == "error: There is no gh in PATH, which downloads the artifacts of a run. Install it from "
                + "https://cli.github.com, or download them from '\(Self.address)' and give the path of the zip.\n"
        )
        #expect(outcome.status == 66)
    }

    /// `gh` would send them to any host that is not GitHub's own.
    @Test(arguments: [nil, "ghe.example.org", "other.example.org"]) func tokens(ofHost own: String?)
        throws
    {
        let github = try GitHub()
        try github.fixture.attempt("T.a-00000001.zip", at: 1, in: "remote/1")
        try github.artifacts([(1, "failure-artifacts")])
        var variables = ["GH_ENTERPRISE_TOKEN": "first", "GITHUB_ENTERPRISE_TOKEN": "second"]
        variables["GH_HOST"] = own
        let address = "https://GHE.example.org/Owner/app/actions/runs/123/"
        #expect(github.run(["list", address], variables).status == 0)
        let tokens = own == "ghe.example.org" ? " first second" : ""
        #expect(
            try github.calls() == [
                Self.list.replacing("github.com", with: "ghe.example.org") + tokens,
                "run ghe.example.org/Owner/app failure-artifacts" + tokens,
            ])
    }

    @Test func oldDownloadsGo() throws {
        let github = try GitHub()
        try github.fixture.attempt("T.a-00000001.zip", at: 1, in: "remote/1")
        try github.artifacts([(1, "failure-artifacts")])
        let downloads = "home/.cache/failure-artifacts/runs/"
        for (name, days) in [("old", 31.0), ("failure-artifacts-left", 31), ("new", 29)] {
            try github.fixture.write([1], to: downloads + name + "/1/a.zip")
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -days * 86_400)],
                ofItemAtPath: github.fixture.path(downloads + name))
        }
        _ = github.run("list", Self.address)
        #expect(
            try FileSystem.contents(ofDirectory: github.fixture.path(downloads)) == [
                "github.com+owner+app+123", "new",
            ])
    }

    @Test(arguments: [
        ["sweep", address], ["prune", address, "--max-bundles", "1"],
        ["completions", "--", "query", address, "--store", ""],
        ["completions", "--", "blame", address, ""],
    ])
    func otherCommandsDownloadNothing(words: [String]) throws {
        let github = try GitHub()
        let outcome = github.run(words)
        #expect(outcome.status == (words[0] == "completions" ? 0 : 66))
        #expect(try github.calls() == [])
    }

    @Test(arguments: [
        "https://github.com/owner/app/pull/5", "https://github.com/owner/app/actions/runs/",
        "https://github.com/owner/app/actions/runs/-1", "https://github.com/owner/app/actions/runs/١",
        "https://github.com/owner/app/actions/runs/1/attempts/x",
        "https://github.com/owner/app/actions/runs/1/jobs",
        "http://github.com/owner/app/actions/runs/1", "https://github.com/--help/app/actions/runs/1",
        "https://-h.example.org/owner/app/actions/runs/1",
        "https://user@github.com/owner/app/actions/runs/1",
        "https://github.com:8443/owner/app/actions/runs/1",
        "https://gith\u{fc}b.com/owner/app/actions/runs/1",
        "https://github.com/owner/../actions/runs/1", "https://github.com/owner/a%2Fb/actions/runs/1",
        "https://github.com//app/actions/runs/1", "HTTPS://example.org",
    ])
    func addressesThatAreNoRuns(address: String) throws {
        let github = try GitHub()
        let outcome = github.run("show", address)
        #expect(outcome.status == 64)
        #expect(outcome.error.contains("is not the address of a run on GitHub."), "\(outcome.error)")
        #expect(try github.calls() == [])
    }
}

/// A stand-in for `gh`, and the artifacts that it downloads.
private struct GitHub: ~Copyable {
    let fixture: Fixture

    init() throws {
        let fixture = try Fixture()
        try fixture.write(Array(Self.program.utf8), to: "bin/gh")
        try fixture.write(Array("[]".utf8), to: "remote/artifacts.json")
        try FileSystem.setPermissions(0o755, of: fixture.path("bin/gh"))
        self.fixture = fixture
    }

    /// Sets the run's artifacts: numbers, whose files are in `remote/NUMBER`, with names.
    func artifacts(_ artifacts: [(Int, String)], expired: Bool = false) throws {
        let list: [[String: Any]] = artifacts.map { ["id": $0.0, "name": $0.1, "expired": expired] }
        try FileSystem.remove(fixture.path("remote/artifacts.json"))
        try fixture.write(
            Array(try JSONSerialization.data(withJSONObject: list)), to: "remote/artifacts.json")
    }

    /// Makes `gh api` or `gh run` fail; nil for neither.
    func fail(_ call: String?, saying text: String = "") throws {
        try FileSystem.remove(fixture.path("remote/failure"))
        if let call { try fixture.write(Array("\(call) \(text)".utf8), to: "remote/failure") }
    }

    /// Returns the calls since the last time: the host or repository and what is asked for, with the tokens.
    func calls() throws -> [String] {
        let path = fixture.path("remote/calls")
        guard FileSystem.regularFile(path) != nil else { return [] }
        defer { try? FileSystem.remove(path) }
        return String(decoding: try FileSystem.contents(ofFile: path), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    func run(_ arguments: String...) -> Outcome { run(arguments) }

    func run(_ arguments: [String], _ variables: [String: String] = [:]) -> Outcome {
        let environment = [
            "PATH": fixture.path("bin") + ":/usr/bin:/bin", "HOME": fixture.path("home"),
        ]
        return FailureArtifactsCommandsTests.run(
            arguments, environment: environment.merging(variables) { $1 })
    }

    /// The text of the stand-in.
    ///
    /// It refuses other arguments than those that were tried with the real `gh`. If it fails, its download stays.
    private static let program = #"""
        #!/usr/bin/env python3
        import json, os, pathlib, shutil, sys

        remote = pathlib.Path(__file__).resolve().parent.parent / "remote"
        failure = remote / "failure"
        failing, _, message = failure.read_text().partition(" ") if failure.exists() else ("", "", "")
        query = ('.artifacts[] | select(.name | startswith("failure-artifacts") and (endswith(".html") | not))'
                 ' | "\\(.id) \\(.expired) \\(.name)"')

        def note(*words):
            names = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"]
            tokens = [os.environ[name] for name in names if name in os.environ]
            with open(remote / "calls", "a") as file:
                print(*words, *tokens, file=file)

        artifacts = json.loads((remote / "artifacts.json").read_text())
        match sys.argv[1:]:
            case ["api", "--hostname", host, "--paginate", path, "--jq", filter] if filter == query:
                note("api", host, path)
                for artifact in artifacts:
                    name = artifact["name"]
                    if name.startswith("failure-artifacts") and not name.endswith(".html"):
                        print(artifact["id"], json.dumps(artifact["expired"]), name)
            case ["run", "download", "123", "--repo", repository, "--name", name, "--dir", place]:
                note("run", repository, name)
                found = next(artifact for artifact in artifacts if artifact["name"] == name and not artifact["expired"])
                shutil.copytree(remote / str(found["id"]), place)
            case other:
                sys.exit(f"wrong arguments: {other}")
        if failing == sys.argv[1]:
            print(message, end="", file=sys.stderr)
            sys.exit(3)
        """#
}
