/// Words for a shell's command line.
enum ShellWord {
    /// `text` so that a POSIX shell reads it as one word and as it is.
    static func quoted(_ text: String) -> String {
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
