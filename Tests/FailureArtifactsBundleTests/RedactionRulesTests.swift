import FailureArtifactsSQLite
import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsBundle

@Suite struct RedactionRulesTests {
    private func parsed(_ json: String) -> RedactionRules? { RedactionRules(json: Array(json.utf8)) }

    private static let all = """
        {
          "salt": "pepper",
          "tables": ["sessions", "auth_*"],
          "columns": [
            {"table": "users", "column": "email", "method": "hash"},
            {"column": "*token*", "method": "blank"},
            {"table": "users", "column": "phone", "method": "mask"}
          ],
          "attachments": ["*.log"],
          "homePaths": "short",
          "content": "leave-out"
        }
        """

    @Test func allOfThem() throws {
        let rules = try #require(parsed(Self.all))
        #expect(rules.tables == ["sessions", "auth_*"])
        #expect(
            rules.columns == [
                .init(table: "users", column: "email", method: .hash),
                .init(table: "*", column: "*token*", method: .blank),
                .init(table: "users", column: "phone", method: .mask),
            ])
        #expect(rules.attachments == ["*.log"])
        #expect(rules.shortensHomePaths && rules.leavesOutContent)
        #expect(rules.salt == "pepper")
        #expect(parsed("{}")?.isEmpty == true)
        #expect(
            parsed(#"{"homePaths": "absolute", "content": "keep", "tables": []}"#)?.isEmpty == true)
    }

    /// Rules that can't be parsed must not be treated as no rules.
    @Test(arguments: [
        "", "[]", "{", #"{"table": ["a"]}"#, #"{"tables": "a"}"#, #"{"tables": [1]}"#,
        #"{"columns": [{"column": "a"}]}"#, #"{"columns": [{"column": "a", "method": "drop"}]}"#,
        #"{"columns": [{"method": "mask"}]}"#,
        #"{"columns": [{"column": "a", "method": "mask", "tables": "b"}]}"#,
        #"{"homePaths": "relative"}"#, #"{"content": true}"#, #"{"Tables": ["a"]}"#,
    ])
    func anythingElseIsRefused(_ json: String) throws {
        #expect(parsed(json) == nil)
        let file = NSTemporaryDirectory() + "/redactions-\(UUID().uuidString)"
        try FileSystem.write(Array(json.utf8), toNewFile: file)
        defer { try? FileSystem.remove(file) }
        let error = try #require(throws: RedactionFileError.self) { try RedactionRules(file: file) }
        #expect(error.description.contains(file))
        #expect(error.systemError == nil)
    }

    @Test func aFileThatIsMissingIsNamed() throws {
        let error = try #require(throws: RedactionFileError.self) {
            try RedactionRules(file: "/no/such")
        }
        #expect(error.description.contains("'/no/such'"))
        #expect(error.systemError?.isNotFound == true)
    }

    @Test func theListHasThemWithoutTheSalt() throws {
        var rules = try #require(parsed(Self.all))
        let text = rules.recordText
        #expect(!text.contains("pepper") && !text.contains("\n"))
        rules.salt = nil
        #expect(parsed(text) == rules)
    }

    @Test func attachmentsByTheirName() throws {
        let rules = try #require(parsed(#"{"attachments": ["*.LOG", "dump-?.[ab]"]}"#))
        #expect(rules.leavesOut(attachment: "server.log"))
        #expect(rules.leavesOut(attachment: "dump-1.a"))
        #expect(!rules.leavesOut(attachment: "dump-12.a"))
        #expect(!rules.leavesOut(attachment: "server.log.txt"))
        #expect(RedactionRules.safest.leavesOut(attachment: "anything"))
    }

    // MARK: The in-flight list

    private func inFlight(_ records: [InFlightRecord]) throws -> InFlightTest {
        let test = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")
        let began = InFlightRecord.began(1, test, at: Timestamp(seconds: 1))
        let lines = (records.prefix(1) + [began] + records.dropFirst()).map(\.line).joined()
        let tests = InFlightTest.all(in: Array(lines.utf8), of: ProcessIdentity(number: 1, start: 2))
        return try #require(tests.first)
    }

    @Test func aTestHasAllRulesThatItsProcessHadMeanwhile() throws {
        let test = try inFlight([
            .redactions(#"{"tables":["a"]}"#), .redactions(#"{"tables":["b"],"attachments":["c"]}"#),
        ])
        #expect(test.redactions.tables == ["a", "b"])
        #expect(test.redactions.attachments == ["c"])
        #expect(!test.redactions.leavesOutContent)
    }

    @Test func rulesThatAreNotUnderstoodLeaveOutEverything() throws {
        #expect(try inFlight([.redactions(#"{"rows":["a"]}"#)]).redactions.leavesOutContent)
    }

    @Test func theRulesAreInTheJournalBeforeATestUsesAStore() throws {
        let path = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-rules-")
        defer { try? FileSystem.remove(path) }
        let directory = ArtifactsDirectory(path: path)
        let list = InFlightList(in: OutputDirectory(directory.path)) {
            RunEnvironment.describe(variables: [:])
        }
        list.setRedactions(#"{"tables":["a"]}"#)
        let identity = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")
        func start(_ id: UInt64) {
            let test = InFlightList.Test(id: id, identity: identity, start: .now, order: 0)
            list.storeOpened("/tmp/x.sqlite", by: test)
        }
        func rules() -> [[String]] { directory.recorders.flatMap(\.tests).map(\.redactions.tables) }
        start(1)
        #expect(rules() == [["a"]])
        list.setRedactions(#"{"tables":["b"]}"#)
        #expect(rules() == [["a", "b"]])
        start(2)
        #expect(rules() == [["a", "b"], ["a", "b"]])
        list.testEnded(1, leaving: [])
        list.testEnded(2, leaving: [])
        start(3)
        #expect(rules() == [["b"]])
        list.testEnded(3, leaving: [])
        list.setRedactions(nil)
        start(4)
        #expect(rules() == [[]])
        // The file is replaced, because it may have statements.
        list.setRedactions(#"{"tables":["c"]}"#)
        #expect(rules() == [["c"]])
        let test = try #require(directory.recorders.flatMap(\.tests).first)
        #expect(test.id == 4 && test.paths.map(\.path) == ["/tmp/x.sqlite"])
        #expect(directory.recorders.allSatisfy { $0.isOriginal })
        list.close()
    }
}

@Suite struct HomePathsTests {
    @Test(arguments: [
        ("/home/me/a/b.sqlite", "~/a/b.sqlite"), ("/home/me", "~"), ("/home/me/", "~/"),
        ("/home/meg/x", "/home/meg/x"), ("/mnt/home/me/x", "/mnt/home/me/x"),
        ("cannot open '/home/me/x': '/home/me/y'.", "cannot open '~/x': '~/y'."),
        ("file:///home/me/x", "file://~/x"), ("In /home/me.", "In ~."), ("nothing", "nothing"),
        ("/home/me/home/me/x", "~/home/me/x"),
    ])
    func pathsBelowItAreShort(_ text: String, _ expected: String) {
        #expect(HomePaths(home: "/home/me").shortened(text) == expected)
        #expect(HomePaths(home: "/home/me/").shortened(text) == expected)
    }

    @Test(arguments: [nil, "", "/", "relative"]) func noHome(_ home: String?) {
        #expect(HomePaths(home: home).shortened("/a/relative//b") == "/a/relative//b")
    }

    @Test func everyTextOfTheMetadata() throws {
        let home = "/home/me"
        let store = BundleMetadata.Store(
            name: "a", originalPath: home + "/a", storage: .file,
            capture: .init(method: "described", consistent: false, duration: 0, reason: home),
            bytes: .init())
        var metadata = BundleMetadata(
            test: .init(framework: "XCTest", suite: "S", name: "t", arguments: [home]), outcome: .failed,
            fingerprint: "",
            failures: [.init(message: home, file: home, line: 1, kind: .error, at: .now)],
            stores: [store], snapshots: [.init(label: "l", at: .now, stores: [store])],
            attachments: [.init(name: home, entry: nil, bytes: 0)],
            environment: RunEnvironment.describe(variables: [:]),
            capture: .init(at: .now, duration: 0, limitsHit: []),
            warnings: [CaptureWarning(.storeFileReplaced, home, ["path": .text(home)])])
        metadata.shortenHomePaths(HomePaths(home: home))
        #expect(!String(decoding: metadata.json(), as: UTF8.self).contains("home"))
    }
}
