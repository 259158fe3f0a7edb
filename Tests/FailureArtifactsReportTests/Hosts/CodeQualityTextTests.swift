import FailureArtifactsBundle
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsReport

/// GitLab's code quality report.
@Suite struct CodeQualityTextTests {
    private struct Entry: Decodable, Equatable {
        struct Location: Decodable, Equatable {
            struct Lines: Decodable, Equatable { let begin: Int }

            let path: String
            let lines: Lines
        }

        // The names that GitLab reads.
        let check_name: String
        let description: String
        let fingerprint: String
        let location: Location
        let severity: String
    }

    private let checkout: Checkout

    init() throws { checkout = try Checkout("Sources/Ledger.swift") }

    private func entries(_ bundles: [ReportedBundle], root: String? = nil) throws -> [Entry] {
        let text = try CodeQualityText.text(
            for: BundleCause.causes(of: bundles), in: RepositoryFiles(root: root ?? checkout.root))
        return try JSONDecoder().decode([Entry].self, from: Data(text.utf8))
    }

    private func finding(_ title: String, file: String = "Sources/Ledger.swift", line: Int = 42)
        -> Finding
    {
        var statement = StatementRecord(
            at: "2026-11-21T07:08:09.000Z", changes: 1, connection: 1, order: 1, phase: .test,
            sql: "DELETE FROM transfer", thread: "1")
        statement.source = .init(file: file, function: "Ledger.remove(_:)", line: line)
        return Finding(
            code: .foreignKeyViolation, title: title, confidence: .certain, store: "ledger", rows: [],
            transaction: 6, statement: statement, explanation: title)
    }

    @Test func failuresAndCulpritsAreAtTheirLines() throws {
        var bundle = try Sample.bundle(
            "a", "m", "n", fingerprint: "f", file: "\(checkout.root)/Tests/A.swift")
        bundle.finding = finding("posting 31 has no transfer")
        let entries = try entries([bundle])
        #expect(
            entries.map(\.description) == [
                "Suite.a failed: m", "Suite.a failed: n",
                "Cause (certain): posting 31 has no transfer, transaction 6, Ledger.remove(_:) Sources/Ledger.swift:42",
            ])
        #expect(
            entries.map(\.location) == [
                .init(path: "Tests/A.swift", lines: .init(begin: 3)),
                .init(path: "Tests/A.swift", lines: .init(begin: 3)),
                .init(path: "Sources/Ledger.swift", lines: .init(begin: 42)),
            ])
        #expect(
            entries.map(\.check_name) == ["test-failure", "test-failure", "foreign-key-violation"])
        #expect(entries.map(\.severity) == ["major", "major", "major"])
        #expect(Set(entries.map(\.fingerprint)).count == 3)
        #expect(entries.allSatisfy { $0.fingerprint.utf8.count == 16 })
    }

    /// Each failure has an entry at its assertion, and the cause has one.
    @Test func failuresOfOneCauseShareIts() throws {
        var bundles = try (0..<3).map { number in
            try Sample.bundle(
                "t\(number)", "m", fingerprint: "\(number)", file: "\(checkout.root)/Tests/A.swift",
                line: number + 1)
        }
        for index in bundles.indices { bundles[index].finding = finding("title \(index)") }
        bundles[2].finding?.confidence = .possible
        let found = try entries(bundles)
        #expect(
            found.map { "\($0.severity) \($0.location.lines.begin) \($0.description.prefix(20))" } == [
                "major 1 Suite.t0 failed: m", "major 2 Suite.t1 failed: m",
                "major 42 Cause (certain): tit",
                "major 3 Suite.t2 failed: m", "info 42 Weak hint (possible)",
            ], "\(found)")
    }

    @Test func crashesAreCritical() throws {
        let bundle = try Sample.bundle("a", "m", outcome: .crashed, file: "\(checkout.root)/A.swift")
        #expect(try entries([bundle]).map(\.severity) == ["critical"])
    }

    @Test func aFatalErrorNamesItsModule() throws {
        let bundle = try Sample.bundle("a", "Fatal error: m", outcome: .crashed, file: "Ledger/A.swift")
        #expect(try entries([bundle]).isEmpty)
        try checkout.add("Tests/Ledger/Crashes/A.swift")
        #expect(try entries([bundle]).map(\.location.path) == ["Tests/Ledger/Crashes/A.swift"])
    }

    @Test func fingerprintsStayWhenTheCheckoutMoves() throws {
        let one = try Sample.bundle("a", "m", fingerprint: "f", file: "\(checkout.root)/A.swift")
        let other = try Sample.bundle("a", "m", at: 9, fingerprint: "f", file: "/elsewhere/A.swift")
        #expect(try entries([one]) == entries([other], root: "/elsewhere/"))
    }

    @Test(
        arguments: [
            nil, "<EXPR>", "/elsewhere/A.swift", "/w", "/w/", "/w/../etc/passwd", "../A.swift",
            "./A.swift", "Tests//A.swift", "/w//etc/passwd", "", "/ww/A.swift", "A\n.swift",
            "A\u{1B}[31m.swift", "A\u{0}.swift",
        ])
    func pathsOutsideTheRepositoryAreLeftOut(_ file: String?) throws {
        let file = file.map { $0.hasPrefix("/w/") ? checkout.root + $0.dropFirst(2) : $0 }
        var bundle = try Sample.bundle("a", "m", file: file)
        if let file { bundle.finding = finding("posting 31", file: file) }
        #expect(try entries([bundle]).isEmpty)
    }

    @Test func linesBeginAtOne() throws {
        var bundle = try Sample.bundle("a", "m", file: nil)
        bundle.finding = finding("posting 31", line: 0)
        #expect(try entries([bundle]).isEmpty)
    }

    @Test func hostileTextIsOneLineOfJSON() throws {
        let hostile = "a\"}],\\\n::error::x\u{1B}[31m\u{0} <script>\u{7F}"
        var bundle = try Sample.bundle("a", hostile, file: "\(checkout.root)/Tests/\"A\\, <b>.swift")
        bundle.finding = finding(hostile)
        let entries = try entries([bundle])
        try #require(entries.count == 2)
        #expect(entries[0].location.path == "Tests/\"A\\, <b>.swift")
        for entry in entries {
            #expect(entry.description.contains("a\"}],\\ ::error::x\\u{1b}[31m\\u{0} <script>\\u{7f}"))
            #expect(!entry.description.contains("\n"))
        }
    }

    @Test func duplicatesAreOneEntry() throws {
        // Without a fingerprint, each bundle is a separate cause.
        let failures = try (0..<3).map {
            try Sample.bundle("a", "m", at: $0, file: "\(checkout.root)/A.swift")
        }
        #expect(try entries(failures).count == 1)
        // Two tests with the same culprit.
        let causes = try ["a", "b"].map { name in
            var bundle = try Sample.bundle(
                name, "m", fingerprint: name, file: "\(checkout.root)/A.swift")
            bundle.finding = finding("posting 31")
            return bundle
        }
        #expect(
            try entries(causes).map(\.check_name) == [
                "test-failure", "test-failure", "foreign-key-violation",
            ])
    }

    @Test func theSizeIsLimited() throws {
        let bundles = try (0..<1100).map {
            try Sample.bundle(
                "t\($0)", String(repeating: "m", count: 5000), file: "\(checkout.root)/A.swift")
        }
        let entries = try entries(bundles)
        #expect(entries.count == 1000)
        #expect(entries.allSatisfy { $0.description.count <= 1000 })
    }

    @Test func noFailuresAreAnEmptyArray() throws {
        #expect(try entries([]).isEmpty)
    }
}
