package import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Failures as readable text.
package enum FailureText {
    /// Removes text that says nothing beside the values of an assertion, such as `XCTAssertEqual failed: `.
    ///
    /// The name of an assertion remains if its values don't tell what it expected.
    package static func essence(of message: String) -> String {
        let caught = "failed: caught error: "
        if message.hasPrefix(caught) { return String(message.dropFirst("failed: ".count)) }
        guard message.hasPrefix("XCT") else { return message }
        // XCTest adds this separator before the assertion's own message, even if the message is empty.
        let text = message.hasSuffix(" - ") ? message.dropLast(3) : message[...]
        // ("1") is not equal to ("2")
        guard let start = text.firstRange(of: " failed: (\""), !text[..<start.lowerBound].contains(" ")
        else { return String(text) }
        return String(text[start.lowerBound...].dropFirst(" failed: ".count))
    }

    /// Returns text such as `Tests/ShopTests.swift:42`, or `Cart.swift:42 in module Shop`; nil if the file is unknown.
    ///
    /// A crash tells the module and the file's name. That isn't a path to open.
    package static func place(of failure: BundleMetadata.Failure) -> String? {
        guard let file = failure.sourceFile else { return nil }
        func text(_ file: String) -> String { failure.line.map { "\(file):\($0)" } ?? file }
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        guard failure.kind == .termination, parts.count == 2, !parts[0].isEmpty else {
            return text(file)
        }
        return text(String(parts[1])) + " in module \(parts[0])"
    }
}

extension BundleMetadata.Failure {
    /// The source file; nil if it is unknown, or if it is the standard library's, whose line is not the crash's cause.
    var sourceFile: String? {
        kind == .termination && file?.hasPrefix("Swift/") == true ? nil : file
    }
}

extension BundleMetadata.Test {
    /// The title, such as `ShopTests.testCheckout`, with the arguments of a parameterised test.
    package var title: String { Self.title(suite: suite, name: name, arguments: arguments) }

    /// Returns the title of a test, with the arguments of a parameterised one.
    package static func title(suite: String, name: String, arguments: [String]?) -> String {
        let name = suite.isEmpty ? name : suite + "." + name
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
