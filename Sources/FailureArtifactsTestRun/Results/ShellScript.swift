internal import FailureArtifactsSystem

/// The simple commands of a shell's script, read without running it: `cd App && DEBUG=1 swift test | tee log`.
///
/// Here-documents and nested scripts aren't recognised as such.
struct ShellScript {
    struct Word {
        /// The text without quotes; variables are not replaced.
        var text = ""
        /// The position after the word.
        var end: String.Index
    }

    let text: String
    private(set) var commands: [[Word]] = [[]]

    init(_ text: String) {
        self.text = text
        var word: Word?
        var quote: Character?
        var isEscaped = false
        var isComment = false
        var continuesLine = false
        for index in text.indices {
            let character = text[index]
            let isInWord =
                isEscaped || quote != nil && quote != character && (quote == "'" || character != "\\")
            if isComment, character != "\n" { continue }
            isComment = false
            let isContinued =
                character == "\\" && text[text.index(after: index)...].first?.isNewline == true
            if !isInWord, quote == nil,
                isContinued || character.isWhitespace || "|&;()<>`".contains(character)
            {
                if let ended = word { commands[commands.count - 1].append(ended) }
                word = nil
                if !continuesLine, character.isNewline || "|&;()`".contains(character) {
                    commands.append([])
                }
                continuesLine = isContinued
                continue
            }
            if !isInWord, word == nil, character == "#" {
                isComment = true
                continue
            }
            var current = word ?? Word(end: index)
            if isInWord {
                current.text.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "'" || character == "\"" {
                quote = quote == nil ? character : nil
            } else {
                current.text.append(character)
            }
            current.end = text.index(after: index)
            word = current
        }
        if let word { commands[commands.count - 1].append(word) }
    }

    /// Returns the place of the script in `sh -c SCRIPT` or `bash -eo pipefail -c SCRIPT`; nil for other commands.
    static func place(in words: [String]) -> Int? {
        guard let shell = words.first?.split(separator: "/").last,
            ["sh", "bash", "dash", "zsh"].contains(shell),
            let option = words.firstIndex(where: {
                $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.hasSuffix("c")
            }),
            option + 1 < words.count
        else { return nil }
        return option + 1
    }

    /// Returns the script with more words after some of its words.
    func inserting(_ insertions: [(after: Word, words: [String])]) -> String {
        var result = ""
        var position = text.startIndex
        for insertion in insertions {
            result += text[position..<insertion.after.end]
            for word in insertion.words { result += " " + ShellWord.quoted(word) }
            position = insertion.after.end
        }
        return result + text[position...]
    }
}
