internal import FailureArtifactsAnalysis

/// Reads the xUnit file that `swift test --parallel` writes: of tests that pass it is all there is.
///
/// It says nothing of why a test failed, and takes a skipped one for passed. The writer is SwiftPM's
/// [XUnitGenerator](https://github.com/swiftlang/swift-package-manager/blob/main/Sources/Commands/SwiftTestCommand.swift).
enum SwiftPMReport {
    /// The tests, in their order.
    static func attempts(_ xml: String) -> [TestAttempt] {
        var attempts: [TestAttempt] = []
        for part in xml.split(separator: "<testcase ", omittingEmptySubsequences: false).dropFirst() {
            guard let end = part.firstIndex(of: ">") else { continue }
            let tag = part[..<end]
            guard let type = attribute("classname", of: tag), let name = attribute("name", of: tag),
                let dot = type.firstIndex(of: ".")
            else { continue }
            var attempt = TestAttempt(
                test: TestIdentity(
                    framework: TestIdentity.xctest, module: String(type[..<dot]),
                    suite: String(type[type.index(after: dot)...]), name: name))
            attempt.outcome = part.firstRange(of: "<failure") == nil ? .passed : .failed
            attempt.seconds = attribute("time", of: tag).flatMap(Double.init)
                .flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
            attempts.append(attempt)
        }
        return attempts
    }

    private static func attribute(_ name: String, of tag: Substring) -> String? {
        let start =
            tag.hasPrefix(name + "=\"")
            ? tag.index(tag.startIndex, offsetBy: name.count + 2)
            : tag.firstRange(of: " \(name)=\"")?.upperBound
        guard let start, let end = tag[start...].firstIndex(of: "\"") else { return nil }
        var text = String(tag[start..<end])
        for (entity, character) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&"),
        ] {
            text.replace(entity, with: character)
        }
        return text
    }
}
