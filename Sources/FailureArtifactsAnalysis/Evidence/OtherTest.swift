/// Another test whose transaction or statement had an effect on the failing one.
package struct OtherTest: Equatable, Sendable {
    package enum Time: String, Encodable, Sendable {
        /// It ran the statement before the failing test began, or before that one opened the store.
        case before
        case meanwhile
    }

    /// The suite and the name; nil if unknown.
    package let suite: String?
    package let name: String?
    package let time: Time
    /// The number of its connection; nil if unknown.
    package let connection: UInt64?

    var title: String? {
        name.map { SafeText.line((suite.map { "\($0)." } ?? "") + $0) }
    }
}

extension OtherTest: JSONDocument {
    package var json: JSONObject {
        ["suite": suite, "name": name, "time": time, "connection": connection]
    }
}

extension Finding {
    /// Adds other tests, and a sentence about them.
    ///
    /// - `subject`: what they ran, as the start of the sentence: `It is` or `The statement is`, for example.
    mutating func add(_ tests: [OtherTest], _ subject: String = "It is") {
        guard let last = tests.last else { return }
        for test in tests where !otherTests.contains(test) { otherTests.append(test) }
        let place = last.connection.map { " (connection \($0))" } ?? ""
        let names = tests.compactMap(\.title)
        let unique = names.indices.filter { !names[..<$0].contains(names[$0]) }.map { names[$0] }
        let sentence: String
        if unique.count > 1 {
            let more = unique.count - Self.maximumTests
            sentence =
                "\(subject) of other tests: "
                + unique.prefix(Self.maximumTests).joined(separator: ", ")
                + (more > 0 ? " and \(more) more." : ".")
        } else if let name = unique.first {
            let time = last.time == .before ? "before this one began" : "at the same time"
            sentence = "\(subject) of another test, \(name), and ran \(time)\(place)."
        } else if last.time == .before {
            let start = last.connection == nil ? "the test opened the store" : "the test began"
            sentence = "\(subject) from before \(start)\(place)."
        } else {
            sentence = "\(subject) of another test\(place)."
        }
        explanation += (explanation.isEmpty ? "" : " ") + sentence
    }

    private static let maximumTests = 5
}
