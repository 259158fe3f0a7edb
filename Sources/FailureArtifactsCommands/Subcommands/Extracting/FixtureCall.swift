internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The function of the application that led to a statement, for the test that is to call it again.
struct FixtureCall: Equatable {
    /// The name without closures, such as `Ledger.remove(_:)`; nil if it is unknown or the test ran the statement.
    let function: String?
    /// The line that shows the call, such as `Tests/LedgerTests/LedgerTests.swift:7`.
    let place: String
    /// True if the line is the test's.
    let isInTest: Bool

    /// Finds the outermost function that isn't the test's; nil if the line of the statement is unknown.
    ///
    /// - `failure`: the test's failure; nil if it has none.
    init?(
        _ statement: StatementRecord, of test: BundleMetadata.Test,
        _ failure: BundleMetadata.Failure?
    ) {
        guard let source = statement.source else { return nil }
        let frames = [source] + (statement.callers ?? [])
        let isTest = frames.map { Self.isTest($0, test, failure) }
        // The test's own closure ran the statement, even if a function of the application called that.
        let outermost = isTest[0] ? nil : isTest.lastIndex(of: false)
        let caller = outermost.flatMap { isTest.indices.contains($0 + 1) ? $0 + 1 : nil }
        let shown = frames[caller ?? outermost ?? 0]
        function = outermost.flatMap { frames[$0].function.map(Self.functionName) }
        place = "\(SafeText.line(shown.file)):\(shown.line)"
        isInTest = isTest[0] || caller != nil
    }

    /// True if a line is part of the test or of another one.
    private static func isTest(
        _ source: StatementRecord.Source, _ test: BundleMetadata.Test,
        _ failure: BundleMetadata.Failure?
    ) -> Bool {
        let folders = source.file.split(separator: "/").dropLast()
        if folders.first == "Tests" || folders.contains(where: { $0.hasSuffix("Tests") }) { return true }
        if let file = failure?.file, file == source.file || file.hasSuffix("/" + source.file) {
            return true
        }
        let suite = test.suite.split { "./".contains($0) }.last
        return suite.map { source.function.map(functionName)?.hasPrefix($0 + ".") ?? false } ?? false
    }

    /// Returns the name of a function without its closures, such as `Ledger.remove(_:)`.
    private static func functionName(_ name: String) -> String {
        let name = SafeText.line(
            name.ranges(of: " in ").last.map { String(name[$0.upperBound...]) } ?? name)
        return name.hasPrefix("static ") ? String(name.dropFirst(7)) : name
    }
}

extension FixturePlan {
    /// Returns the call that led to the culprit; nil if it is unknown.
    func call(of test: BundleMetadata.Test, _ failure: BundleMetadata.Failure?) -> FixtureCall? {
        let own = finding.statement
        let statement = own?.source == nil ? culprit.statements.last { $0.source != nil } : own
        return statement.flatMap { FixtureCall($0, of: test, failure) }
    }

    /// A description of the state that the test starts with, as a clause.
    var state: String {
        switch culprit.place {
        case .transaction(let number):
            let verb = finding.confidence.qualified("broke", "broken")
            return "before transaction \(number), which \(verb) it"
        case .openTransaction: return "before the transaction that was not committed"
        case .statement(let number):
            return "after transaction \(number), before the statement below"
        }
    }

    /// A sentence about the state and the finding, for the terminal.
    var summary: String {
        let start =
            switch culprit.place {
            case .transaction(let number): "transaction \(number)"
            case .openTransaction: "the uncommitted transaction"
            case .statement: "the statement"
            }
        let kind =
            switch finding.confidence {
            case .certain: "finding"
            case .likely: "likely cause"
            case .possible: "possible cause"
            }
        return "The store is the one before \(start) of this \(kind): \(finding.line)"
    }
}

extension Finding.Confidence {
    /// Returns a verb that claims no more than the finding, from its past tense and its past participle.
    fileprivate func qualified(_ past: String, _ participle: String) -> String {
        switch self {
        case .certain: past
        case .likely: "probably \(past)"
        case .possible: "may have \(participle)"
        }
    }
}
