/// A setting that an environment variable changes.
///
/// The settings of a type are a table, which is read by one loop:
///
///     let settings: [Setting<Limits>] = [.number("LIMITS_MAX_BYTES", \.bytes, or: "a number of bytes")]
///     var limits = Limits()    // The defaults.
///     let warnings = settings.apply(["LIMITS_MAX_BYTES": "1GB"], to: &limits)
///     // LIMITS_MAX_BYTES is '1GB', which is not a number of bytes; '100' is used instead.
package struct Setting<Target> {
    fileprivate let name: String
    /// Parses a text and sets the value; returns a warning as a full sentence if the text is invalid.
    fileprivate let read: (String, inout Target) -> String?

    package init(_ name: String, _ read: @escaping (String, inout Target) -> String?) {
        self.name = name
        self.read = read
    }

    /// Creates a setting with a value of any type.
    ///
    /// `expected` describes the valid values and completes the sentence "… is not …". `described` formats a value as
    /// the user would write it. `parse` returns nil for an invalid text.
    package init<Value>(
        _ name: String, _ path: WritableKeyPath<Target, Value>, or expected: String,
        described: @escaping (Value) -> String = { "\($0)" },
        _ parse: @escaping (String) -> Value?
    ) {
        self.init(name) { text, target in
            if let value = parse(text) {
                target[keyPath: path] = value
                return nil
            }
            let used = described(target[keyPath: path])
            return "\(name) is '\(text)', which is not \(expected); '\(used)' is used instead."
        }
    }

    /// Creates a setting with one of several values.
    package static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ path: WritableKeyPath<Target, Value>
    ) -> Self {
        let values = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return Self(name, path, or: "one of \(values)", described: \.rawValue) { Value(rawValue: $0) }
    }

    /// Creates a setting that is `on` or `off`.
    package static func isOn(_ name: String, _ path: WritableKeyPath<Target, Bool>) -> Self {
        Self(name, path, or: "on or off", described: { $0 ? "on" : "off" }) {
            ["on": true, "off": false][$0]
        }
    }

    /// Creates a setting with a number of at least 0.
    package static func number<Number: FixedWidthInteger>(
        _ name: String, _ path: WritableKeyPath<Target, Number>, or expected: String
    ) -> Self {
        Self(name, path, or: expected) { text in Number(text).flatMap { $0 >= 0 ? $0 : nil } }
    }
}

extension Array {
    /// Sets the values that environment variables have, and returns a full sentence for each invalid one.
    ///
    /// An empty value counts as not set.
    package func apply<Target>(
        _ variables: [String: String], to target: inout Target
    ) -> [String] where Element == Setting<Target> {
        compactMap { setting in
            guard let text = variables[setting.name], !text.isEmpty else { return nil }
            return setting.read(text, &target)
        }
    }
}
