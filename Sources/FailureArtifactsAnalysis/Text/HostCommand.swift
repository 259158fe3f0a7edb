/// Disarms text that a CI service would execute as a command when it reads it in the output of a job.
///
/// - GitHub's runner executes `::name …::data` at the start of a line, after any white space, and `##[name …]data`
///   anywhere in a line (`ActionCommand` in its source).
/// - The agent of Azure Pipelines looks for `##vso[` anywhere in a line, in upper or lower case.
/// - TeamCity looks for `##teamcity[` anywhere in a line.
package enum HostCommand {
    /// Returns text without commands: the second character of `::` and the last `#` before a name are escaped, by
    /// default as control characters are.
    package static func disarmed(
        _ text: String, escape: (Unicode.Scalar) -> String = SafeText.escape
    ) -> String {
        guard ["::", "##"].contains(where: { text.utf8.contains($0.utf8) }) else { return text }
        let scalars = Array(text.unicodeScalars)
        var result = ""
        var isLineStart = true
        var index = 0
        while index < scalars.count {
            let scalar = scalars[index]
            index += 1
            if scalar == ":", isLineStart, index < scalars.count, scalars[index] == ":" {
                result += ":" + escape(":")
                index += 1
            } else if scalar == "#", index > 1, scalars[index - 2] == "#", startsName(scalars[index...])
            {
                result += escape("#")
            } else {
                result.unicodeScalars.append(scalar)
            }
            isLineStart =
                scalar == "\n" || scalar == "\r" || isLineStart && scalar.properties.isWhitespace
        }
        return result
    }

    /// True if a name, which may be empty, and a bracket follow.
    private static func startsName(_ scalars: ArraySlice<Unicode.Scalar>) -> Bool {
        scalars.first { !$0.properties.isAlphabetic || !$0.isASCII } == "["
    }
}
