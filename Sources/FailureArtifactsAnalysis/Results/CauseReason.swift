internal import FailureArtifactsBundle

/// The reason that failures of one cause have in common.
package struct CauseReason {
    /// Equal for failures with one cause.
    package let key: String
    /// The title of a group of such failures.
    package let heading: String

    /// Takes the line that a finding blames, or else the line and message of the assertion, in which numbers may differ.
    ///
    /// It is nil if too little is known to compare the failure with others.
    ///
    /// - Parameters:
    ///   - finding: The best finding; nil without one. One that is only possible isn't a reason.
    ///   - place: The place of the failure; nil if it is unknown.
    ///   - message: The first message.
    package init?(_ finding: Finding?, place: String?, message: String) {
        if let finding, finding.confidence > .possible {
            let code = finding.code.rawValue
            if let source = finding.source {
                let name = source.file.split(separator: "/").last.map(String.init) ?? source.file
                key = "\(code) \(source.place)"
                heading = "Same cause · \(name):\(source.line)"
            } else {
                key = "\(code) \(Self.withoutNumbers(finding.title))"
                heading = "Same finding · \(code)"
            }
            return
        }
        // Without the line, messages such as "1 is not equal to 2" say nothing.
        guard let place else { return nil }
        key = "\(place) \(Self.withoutNumbers(message))"
        heading = "Same assertion"
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

extension Sequence {
    /// Groups elements that have the same key, in the order of the first ones.
    ///
    /// - Parameter key: Returns the key of an element; nil for an element that is a group of its own.
    /// - Returns: The groups.
    package func grouped(by key: (Element) -> String?) -> [[Element]] {
        var groups: [[Element]] = []
        var places: [String: Int] = [:]
        for element in self {
            let key = key(element)
            if let place = key.flatMap({ places[$0] }) {
                groups[place].append(element)
            } else {
                if let key { places[key] = groups.count }
                groups.append([element])
            }
        }
        return groups
    }
}
