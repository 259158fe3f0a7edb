package import FailureArtifactsSystem

/// Words for a shell's command line.
package enum ShellWord {
    /// `text` so that a POSIX shell reads it as one word and as it is.
    package static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", "+", ",", ":", "@", "%", "=":
                    true
                // Letters of other scripts mean nothing to a shell; spaces and signs of all kinds are quoted.
                default: scalar.value > 0x7F && scalar.properties.isAlphabetic
                }
            }
        if isPlain { return text }
        return "'" + text.replacing("'", with: "'\\''") + "'"
    }
}

extension Path {
    /// A path as short as it can be written in a directory.
    package static func relative(_ path: String, to directory: String) -> String {
        let start = directory.hasSuffix("/") ? directory : directory + "/"
        guard path.hasPrefix(start), path.count > start.count else { return path }
        let rest = String(path.dropFirst(start.count))
        return rest.hasPrefix("-") || rest.hasPrefix("/") ? path : rest
    }
}
