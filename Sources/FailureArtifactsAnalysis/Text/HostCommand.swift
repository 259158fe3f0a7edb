/// Disarms text that a CI service would execute as a command when it reads it in the output of a job.
///
/// - GitHub's runner executes `::name …::data` at the start of a line, after any white space, and `##[name …]data`
///   anywhere in a line (`ActionCommand` in its source).
/// - The agent of Azure Pipelines looks for `##vso[` anywhere in a line, in upper or lower case.
/// - TeamCity looks for `##teamcity[` anywhere in a line.
package enum HostCommand {
    /// Returns text without commands: the second character of `::` and the last `#` before a name are escaped.
    ///
    /// - Parameters:
    ///   - text: Any number of lines.
    ///   - escape: A function that returns the form of a character that the reader of the text understands. By default,
    ///     it is `\u{…}`, as of control characters.
    /// - Returns: The text. Calling the function again changes nothing.
    package static func disarmed(
        _ text: String, escape: (Unicode.Scalar) -> String = SafeText.escape
    ) -> String {
        guard mayHaveCommand(text) else { return text }
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
        let end = scalars.first { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z": false
            default: true
            }
        }
        return end == "["
    }

    /// True if two colons or two number signs are next to each other.
    private static func mayHaveCommand(_ text: String) -> Bool {
        var previous: UInt8 = 0
        for byte in text.utf8 {
            if byte == previous, byte == UInt8(ascii: ":") || byte == UInt8(ascii: "#") { return true }
            previous = byte
        }
        return false
    }
}
