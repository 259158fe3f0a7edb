internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The source of a test that starts with a captured store.
struct FixtureTest {
    /// The test framework it is written for.
    enum Framework: String, CaseIterable {
        case xctest
        case testing
    }

    let framework: Framework
    /// The name of the database file, in the directory of the source.
    let storeFile: String
    /// The test whose store it is.
    let test: BundleMetadata.Test
    /// The first failure, if any is known.
    let failure: BundleMetadata.Failure?
    /// Which state of the store it is, as a clause.
    let state: String
    /// How the test ended.
    var outcome = BundleMetadata.Outcome.failed

    /// The class or suite, such as `LedgerTestsFixture`.
    var typeName: String { Self.identifier(test.suite, isType: true) + "Fixture" }

    /// The source's file name.
    var fileName: String { typeName + ".swift" }

    private var methodName: String {
        let name = Self.identifier(test.name.prefix { $0 != "(" }, isType: false)
        return framework == .testing || name.hasPrefix("test") ? name : "test_" + name
    }

    /// The source, which compiles as it is in a target with the product `FailureArtifactsTestKit`.
    var source: String {
        let title = Self.comment("\(test.suite).\(test.name)")
        let message = failure.map { ": " + Self.comment($0.message) } ?? "."
        let end = outcome == .passed ? "passed" : "failed"
        let file = storeFile.debugDescription
        let header = """
            /// Starts with the store of \(title), as it was \(Self.comment(state)).
            ///
            /// The test \(end)\(message)

            """
        let content = """
            StoreContent<SQLiteTestStore>
                .copy(of: URL(filePath: #filePath).deletingLastPathComponent().appending(path: \(file)))
            """
        switch framework {
        case .xctest:
            return """
                import FailureArtifactsTestKit
                import Foundation
                import XCTest

                \(header)final class \(typeName): StoreTestCase<SQLiteTestStore> {
                    override var content: StoreContent<SQLiteTestStore> {
                \(Self.indented(content, by: 8))
                    }

                    func \(methodName)() throws {
                        // Do here what the test did next, and expect what it expected.
                        XCTAssertEqual(try store.value("PRAGMA quick_check"), "ok")
                    }
                }

                """
        case .testing:
            return """
                import FailureArtifactsTestKit
                import Foundation
                import Testing

                \(header)@Suite struct \(typeName) {
                    static let content =
                \(Self.indented(content, by: 8))

                    @Test func \(methodName)() throws {
                        try withTestStore(SQLiteTestStore.self, Self.content) { store in
                            // Do here what the test did next, and expect what it expected.
                            let check = try store.value("PRAGMA quick_check")
                            #expect(check == "ok")
                        }
                    }
                }

                """
        }
    }

    private static func indented(_ text: String, by count: Int) -> String {
        text.split(separator: "\n").map { String(repeating: " ", count: count) + $0 }
            .joined(separator: "\n")
    }

    /// Letters and digits of a name, of whatever script; what a bundle says may be anything.
    private static func identifier(_ name: some StringProtocol, isType: Bool) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            let isKept =
                scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            if isKept { result.unicodeScalars.append(scalar) }
        }
        result = String(result.prefix(100))
        guard let first = result.unicodeScalars.first else { return isType ? "Captured" : "captured" }
        return ("0"..."9").contains(first) ? "_" + result : result
    }

    /// One line of a comment.
    private static func comment(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        return SafeText.line(String(line.prefix(300)))
    }
}
