/// A shell that completes what is typed.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// A script that has the shell complete the tool's arguments.
    ///
    /// - Parameter commands: What they take.
    /// - Returns: The script.
    func completions(for commands: [Syntax]) -> String {
        switch self {
        case .bash: BashCompletions(commands: commands).text
        case .zsh: ZshCompletions(commands: commands).text
        case .fish: FishCompletions(commands: commands).text
        }
    }

    /// Text between single quotes, as bash and zsh read it.
    static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }

    /// What fits beside an option: the first sentence of its help, without the full stop.
    static func summary(of help: String) -> String {
        let end = help.firstRange(of: ". ")?.lowerBound ?? help.endIndex
        let sentence = help[..<end]
        return String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence)
    }
}

extension Syntax {
    /// What is given of an option on a command line, the long name first.
    static func names(of option: Option) -> [String] {
        [option.name] + (option.short.map { [$0] } ?? [])
    }
}
