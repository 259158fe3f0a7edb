package import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Failures as readable text.
package enum FailureText {
    /// Removes prefixes such as `XCTAssertEqual failed: `, which are the same in many messages.
    package static func essence(of message: String) -> String {
        for start in ["threw error ", "failed: caught error: "] where message.hasPrefix(start) {
            return String(message.dropFirst(start.count))
        }
        guard message.hasPrefix("XCT"), let end = message.firstRange(of: " failed: ")?.upperBound,
            end < message.endIndex, !message[..<end].contains(" - ")
        else { return message }
        let rest = message[end...]
        // XCTest adds this separator before the assertion's own message, even if the message is empty.
        return String(rest.hasSuffix(" - ") ? rest.dropLast(3) : rest)
    }

    /// Returns text such as `Tests/ShopTests.swift:42`; nil if the file is unknown.
    package static func place(of failure: BundleMetadata.Failure) -> String? {
        guard let file = failure.file else { return nil }
        return failure.line.map { "\(file):\($0)" } ?? file
    }
}

extension BundleMetadata.Test {
    /// The title, such as `ShopTests.testCheckout`, with the arguments of a parameterised test.
    package var title: String {
        let name = suite.isEmpty ? self.name : suite + "." + self.name
        guard let arguments, !arguments.isEmpty else { return name }
        return name + "(" + arguments.joined(separator: ", ") + ")"
    }
}

extension BundleMetadata.Outcome {
    /// The displayed outcome.
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
    /// A summary such as `account (3 rows), entry (7 rows)`.
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
    /// The description of the connection whose view the copy shows.
    ///
    /// It is certain to be the test's connection only if the store is the test's own.
    package var connection: String {
        shared == true || openedBy != nil ? "its connection" : "the test's connection"
    }
}
