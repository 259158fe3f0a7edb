package enum ShellWord {
    /// Returns `text` quoted so that a POSIX shell reads it as one unchanged word.
    package static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", "+", ",", ":", "@", "%", "=":
                    true
                // Letters of other scripts have no meaning in a shell. Spaces and symbols are quoted.
                default: scalar.value > 0x7F && scalar.properties.isAlphabetic
                }
            }
        if isPlain { return text }
        // By scalars, because a quotation mark and the marks that follow it are one character.
        return "'" + text.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }
}
