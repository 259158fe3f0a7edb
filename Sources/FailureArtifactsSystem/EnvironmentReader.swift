/// Reads environment variables and collects warnings about unreadable values.
package struct EnvironmentReader {
    private let variables: [String: String]
    /// The warnings so far, as full sentences.
    package private(set) var warnings: [String] = []

    /// Reads these variables; an empty value counts as unset.
    package init(_ variables: [String: String]) {
        self.variables = variables
    }

    package func hasAny(_ names: some Sequence<String>) -> Bool {
        names.contains { !(variables[$0] ?? "").isEmpty }
    }

    /// Returns a variable's parsed value, or its default.
    ///
    /// `expected` describes the valid values and completes the sentence "… is not …". `described` formats a value as
    /// the user would write it. `parse` returns nil for an invalid text.
    package mutating func value<Value>(
        of name: String, default fallback: Value, or expected: String, described: (Value) -> String,
        _ parse: (String) -> Value?
    ) -> Value {
        guard let text = variables[name], !text.isEmpty else { return fallback }
        if let value = parse(text) { return value }
        warnings.append(
            "\(name) is '\(text)', which is not \(expected); '\(described(fallback))' is used instead.")
        return fallback
    }

    package mutating func isOn(_ name: String, default fallback: Bool) -> Bool {
        value(
            of: name, default: fallback, or: "on or off", described: { $0 ? "on" : "off" }
        ) { ["on": true, "off": false][$0] }
    }

    /// Returns the value of a variable that holds a number of at least 0.
    package mutating func number<Number: FixedWidthInteger>(
        of name: String, default fallback: Number, or expected: String
    ) -> Number {
        value(of: name, default: fallback, or: expected, described: { "\($0)" }) { text in
            Number(text).flatMap { $0 >= 0 ? $0 : nil }
        }
    }
}
