internal import FailureArtifactsAnalysis

/// Text as HTML, escaped so that none of it is markup, both in text and in quoted attributes.
enum HTMLText {
    /// The maximum number of bytes of one line, after which it is cut.
    private static let lineLimit = 4096

    /// Returns text on one line. Control characters, and characters that change the text direction, become `\u{…}`.
    static func line(_ text: String) -> String { escaped(SafeText.line(cut(text))) }

    /// Returns a name such as `LedgerTests.testBooksOfMarch` on one line, which may be wrapped between its words.
    static func name(_ text: String) -> String {
        var words = [""]
        for character in SafeText.line(cut(text)) {
            let last = words[words.count - 1].last
            let isWord =
                character.isLetter && last == "." || character.isUppercase && last?.isLowercase == true
            if isWord { words.append("") }
            words[words.count - 1].append(character)
        }
        return words.map(escaped).joined(separator: "<wbr>")
    }

    /// Returns text with its line breaks.
    static func lines(_ text: String) -> String {
        escaped(SafeText.lines(text).joined(separator: "\n"))
    }

    /// Returns text on one line, with control characters as escapes, so that no character is lost.
    static func cell(_ text: String) -> String { escaped(SafeText.cell(cut(text))) }

    /// Returns the value of a quoted attribute that only the page's script reads, uncut.
    static func attribute(_ text: String) -> String { escaped(text) }

    private static func cut(_ text: String) -> String {
        text.utf8.count > lineLimit ? String(text.unicodeScalars.prefix(lineLimit / 4)) + "…" : text
    }

    private static func escaped(_ text: String) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): result += Array("&amp;".utf8)
            case UInt8(ascii: "<"): result += Array("&lt;".utf8)
            case UInt8(ascii: ">"): result += Array("&gt;".utf8)
            case UInt8(ascii: "\""): result += Array("&quot;".utf8)
            case UInt8(ascii: "'"): result += Array("&#39;".utf8)
            default: result.append(byte)
            }
        }
        // The page may be printed in a job.
        return HostCommand.disarmed(String(decoding: result, as: UTF8.self)) { "&#\($0.value);" }
    }

    /// Returns a link.
    ///
    /// - `address`: the address; nil for no link.
    static func linked(_ html: String, to address: String?) -> String {
        address.map { "<a href=\"\(line($0))\" rel=\"noreferrer\">\(html)</a>" } ?? html
    }
}
