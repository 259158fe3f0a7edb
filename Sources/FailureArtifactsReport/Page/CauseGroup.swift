internal import FailureArtifactsBundle
internal import FailureArtifactsAnalysis

/// Causes of failures that have one reason in common.
struct CauseGroup {
    /// The reason; nil for causes that have no group.
    let heading: String?
    private(set) var causes: [DescribedCause]

    /// Groups causes by the line that their first findings blame, or else by the
    /// lines and messages of their assertions, in which numbers may differ.
    ///
    /// - Parameter causes: The causes, in the order of the page.
    /// - Returns: The groups of several causes, in the order of their first causes, and then the other causes.
    static func groups(of causes: [DescribedCause]) -> [CauseGroup] {
        var groups: [CauseGroup] = []
        var places: [String: Int] = [:]
        for cause in causes {
            let reason = reason(of: cause)
            if let place = places[reason.key] {
                groups[place].causes.append(cause)
            } else {
                places[reason.key] = groups.count
                groups.append(CauseGroup(heading: reason.heading, causes: [cause]))
            }
        }
        let several = groups.filter { $0.causes.count > 1 }
        let others = groups.filter { $0.causes.count == 1 }.flatMap(\.causes)
        guard !others.isEmpty else { return several }
        return several + [CauseGroup(heading: several.isEmpty ? nil : "Others", causes: others)]
    }

    private static func reason(of cause: DescribedCause) -> (key: String, heading: String) {
        if let finding = cause.findings.first, finding.confidence > .possible {
            if let source = finding.source {
                let name = source.file.split(separator: "/").last.map(String.init) ?? source.file
                return (
                    "\(finding.code.rawValue) \(source.place)", "Same cause · \(name):\(source.line)"
                )
            }
            let title = withoutNumbers(finding.title)
            return ("\(finding.code.rawValue) \(title)", "Same finding · \(finding.code.rawValue)")
        }
        // Without the line, messages such as "1 is not equal to 2" say nothing.
        guard let place = cause.place else { return ("cause \(cause.number)", "") }
        return ("\(place) \(withoutNumbers(cause.cause.first.message))", "Same assertion")
    }

    /// Returns a text with a `#` in place of each number.
    private static func withoutNumbers(_ text: String) -> String {
        var result = ""
        for character in text {
            if !character.isNumber {
                result.append(character)
            } else if result.last != "#" {
                result.append("#")
            }
        }
        return result
    }
}
