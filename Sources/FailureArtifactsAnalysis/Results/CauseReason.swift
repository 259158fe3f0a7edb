internal import FailureArtifactsBundle

/// The reason that failures of one cause have in common.
package struct CauseReason {
    /// Equal for failures with one cause.
    package let key: String
    package let heading: String

    /// Takes the line that a finding blames, or else the line and message of the assertion, in which numbers may
    /// differ; nil if too little is known to compare the failure with others.
    package init?(_ finding: Finding?, place: String?, message: String) {
        func withoutNumbers(_ text: String) -> String { text.replacing(/[0-9]+/, with: "#") }
        if let finding, finding.confidence > .possible {
            let code = finding.code.rawValue
            if let source = finding.source {
                let name = source.file.split(separator: "/").last.map(String.init) ?? source.file
                key = "\(code) \(source.place)"
                heading = "Same cause · \(name):\(source.line)"
            } else {
                key = "\(code) \(withoutNumbers(finding.title))"
                heading = "Same finding · \(code)"
            }
            return
        }
        // Without the line, messages such as "1 is not equal to 2" say nothing.
        guard let place else { return nil }
        key = "\(place) \(withoutNumbers(message))"
        heading = "Same assertion"
    }
}
