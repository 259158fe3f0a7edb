package import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Failures for people.
package enum FailureText {
    /// A message without `XCTAssertEqual failed: ` and the like: what is left differs from test to test.
    package static func essence(of message: String) -> String {
        for start in ["threw error ", "failed: caught error: "] where message.hasPrefix(start) {
            return String(message.dropFirst(start.count))
        }
        guard message.hasPrefix("XCT"), let end = message.firstRange(of: " failed: ")?.upperBound,
            end < message.endIndex, !message[..<end].contains(" - ")
        else { return message }
        let rest = message[end...]
        // What XCTest puts before a message of the assertion's own, also where there is none.
        return String(rest.hasSuffix(" - ") ? rest.dropLast(3) : rest)
    }

    /// `Tests/ShopTests.swift:42`; nil where the file is not known.
    package static func place(of failure: BundleMetadata.Failure) -> String? {
        guard let file = failure.file else { return nil }
        return failure.line.map { "\(file):\($0)" } ?? file
    }
}

extension BundleMetadata.Test {
    /// `ShopTests.testCheckout`, with the arguments of a parameterised test.
    package var title: String {
        let name = suite.isEmpty ? self.name : suite + "." + self.name
        guard let arguments, !arguments.isEmpty else { return name }
        return name + "(" + arguments.joined(separator: ", ") + ")"
    }
}

extension BundleMetadata.Outcome {
    /// For people.
    package var label: String {
        switch self {
        case .failed: "failed"
        case .crashed: "crashed"
        case .timedOut: "timed out"
        case .terminated: "terminated"
        case .passed: "passed"
        }
    }
}

extension [BundleMetadata.Store.Table] {
    /// `account (3 rows), entry (7 rows)`.
    package var summary: String {
        let limit = 12
        let named = prefix(limit).map { table in
            "\(SafeText.line(table.name)) (\(table.exact ? "" : "≥ ")\(Counted.items(table.rows, "row")))"
        }
        let rest = count - named.count
        return (named + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: ", ")
    }
}

extension BundleMetadata.Store {
    /// The name of the connection whose view the copy is.
    ///
    /// Only of a test's own store it is certain that it is the test's.
    package var connection: String {
        shared == true || openedBy != nil ? "its connection" : "the test's connection"
    }
}
