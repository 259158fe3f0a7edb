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
    /// The name of the database file, which is in the same directory as the source.
    let storeFile: String
    /// The test that used the store.
    let test: BundleMetadata.Test
    /// The first failure, if one is known.
    let failure: BundleMetadata.Failure?
    /// The state of the store, as a clause.
    let state: String
    /// The outcome of the test.
    var outcome = BundleMetadata.Outcome.failed

    /// The name of the class or suite, such as `LedgerTestsFixture`.
    var typeName: String { Self.identifier(test.suite, isType: true) + "Fixture" }

    /// The file name of the source.
    var fileName: String { typeName + ".swift" }

    private var methodName: String {
        let name = Self.identifier(test.name.prefix { $0 != "(" }, isType: false)
        return framework == .testing || name.hasPrefix("test") ? name : "test_" + name
    }

    /// The Swift source of the test.
    ///
    /// It compiles unchanged in a target that depends on `FailureArtifactsTestKit`.
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

    /// Returns the letters and digits of a name in any script.
    ///
    /// A bundle's names may contain anything.
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

    /// Returns the first line of `text`, for a comment.
    private static func comment(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        return SafeText.line(String(line.prefix(300)))
    }
}
