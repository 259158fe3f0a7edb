/// Reads variables and collects what is wrong with them.
package struct EnvironmentReader {
    private let variables: [String: String]
    /// Full sentences.
    package private(set) var warnings: [String] = []

    /// - Parameter variables: The environment. An empty value counts as none.
    package init(_ variables: [String: String]) {
        self.variables = variables
    }

    /// The value of a variable, or what is used instead.
    ///
    /// - Parameters:
    ///   - name: The variable.
    ///   - fallback: Its default.
    ///   - expected: What it can be, as the end of a sentence.
    ///   - described: A value as one would write it.
    ///   - parse: Gives nil for what is no value.
    /// - Returns: The value; the default where there is none or it can't be read.
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

    /// The value of a variable that holds a number, 0 or more.
    package mutating func number<Number: FixedWidthInteger>(
        of name: String, default fallback: Number, or expected: String
    ) -> Number {
        value(of: name, default: fallback, or: expected, described: { "\($0)" }) { text in
            Number(text).flatMap { $0 >= 0 ? $0 : nil }
        }
    }
}
