internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// An issue in Swift Testing's event stream.
///
/// From version 6.5 on, its parts take the place of the messages of its event
/// ([ST-0029](https://github.com/swiftlang/swift-evolution/blob/main/proposals/testing/0029-add-issue-metadata-event-stream.md)).
struct EventIssue: Decodable {
    /// True unless the issue is known or a warning.
    let counts: Bool
    /// The place before 6.5; since then it is part of the event.
    let sourceLocation: EventPlace?
    /// The issue as the console of Swift 6.3 prints it, from the parts that 6.5 has.
    let text: String

    /// Ignores a part of another form, because the failure counts more than its text.
    init(from decoder: any Decoder) throws {
        let parts = try decoder.container(keyedBy: CodingKeys.self)
        func part<Part: Decodable>(_ key: CodingKeys) -> Part? {
            try? parts.decode(Part.self, forKey: key)
        }
        // Since 6.5, the comment of a known issue can take the place of `true`.
        let isKnown = part(.isKnown) ?? (part(.isKnown) as String? != nil)
        counts = part(.isFailure) ?? !isKnown
        sourceLocation = part(.sourceLocation)
        if let error: Thrown = part(.error) {
            text = "Caught error: \(error.text)"
        } else if let miscount: Miscount = part(.confirmationMiscount) {
            text = miscount.text
        } else if let limit: Double = part(.exceededTimeLimit) {
            text = "Time limit was exceeded: \(limit) seconds"
        } else if let expression: ExpressionText = part(.expression) {
            text = "Expectation failed: \(expression.text)"
        } else {
            text = "Issue recorded"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case isKnown, isFailure, sourceLocation, error, confirmationMiscount, exceededTimeLimit,
            expression
    }

    private struct Thrown: Decodable {
        var description: String?
        var domain: String?
        var code: Int?

        var text: String { description ?? "\(domain ?? "unknown domain"), code \(code ?? 0)" }
    }

    private struct Miscount: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let parts = try decoder.container(keyedBy: CodingKeys.self)
            let actual = try parts.decode(Int64.self, forKey: .actual)
            let expected: String
            if let count = try? parts.decode(Int64.self, forKey: .expected) {
                expected = Counted.items(count, "time")
            } else {
                let range = try parts.decode([String: Int64].self, forKey: .expected)
                let bounds = ["min", "max"].map { range[$0].map { "\($0)" } ?? "" }
                expected = bounds.joined(separator: " ... ") + " time(s)"
            }
            text =
                "Confirmation was confirmed \(Counted.items(actual, "time")), but expected to be confirmed \(expected)"
        }

        private enum CodingKeys: String, CodingKey {
            case actual, expected
        }
    }
}

/// A place in the event stream.
struct EventPlace: Decodable {
    private var filePath: String?
    private var pathOfVersion0: String?
    private var fileID: String?
    private(set) var line: Int?

    var path: String? { filePath ?? pathOfVersion0 ?? fileID }

    private enum CodingKeys: String, CodingKey {
        case filePath, fileID, line
        case pathOfVersion0 = "_filePath"
    }
}
