internal import FailureArtifactsAnalysis

/// Text as HTML, escaped so that none of it is markup, both in text and in quoted attributes.
enum HTMLText {
    /// The maximum number of bytes of one line, after which it is cut.
    private static let lineLimit = 4096

    /// Returns text on one line; control characters, and characters that change the text direction, become `\u{…}`.
    static func line(_ text: String) -> String { escaped(SafeText.line(cut(text))) }

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
    static func linked(_ html: String, to address: String?) -> String {
        address.map { "<a href=\"\(line($0))\" rel=\"noreferrer\">\(html)</a>" } ?? html
    }
}

/// The values that a failed assertion of equality compared.
struct ComparedOperands {
    /// The maximum number of bytes shown of a value.
    private static let limit = 4000

    let actual: String
    let expected: String

    /// Reads the values of `XCTAssertEqual` and of `#expect(a == b)`; nil for another message.
    ///
    /// By convention, the expected value is the second argument, or the literal of two operands.
    init?(_ message: String) {
        guard let operands = FailureMessage.operands(of: message), let right = operands.right,
            message.contains("XCTAssertEqual failed") || message.contains(" == ")
        else { return nil }
        // Swift Testing shows `literal == (expression → value)` with the literal first.
        let body = message.firstRange(of: "failed: ").map { message[$0.upperBound...] } ?? message[...]
        let isReversed = !message.hasPrefix("XCT") && !body.hasPrefix("(") && body.contains("→")
        (actual, expected) = isReversed ? (right, operands.left) : (operands.left, right)
    }

    var html: String {
        let (first, second) = Self.marked(actual, expected)
        return "<dl class=\"values\"><dt>actual</dt><dd class=\"actual\">\(first)</dd>"
            + "<dt>expected</dt><dd class=\"expected\">\(second)</dd></dl>\n"
    }

    /// Returns both values as HTML, with the parts that differ marked if they are a part of longer values.
    private static func marked(_ first: String, _ second: String) -> (String, String) {
        let (a, b) = (Array(first.utf8.prefix(limit)), Array(second.utf8.prefix(limit)))
        guard a.count > 12, b.count > 12,
            first.utf8.count <= limit, second.utf8.count <= limit
        else {
            return (
                HTMLText.lines(first.abridged(toBytes: limit)),
                HTMLText.lines(second.abridged(toBytes: limit))
            )
        }
        let (x, y) = (Array(first), Array(second))
        var start = 0
        while start < min(x.count, y.count), x[start] == y[start] { start += 1 }
        var end = 0
        while end < min(x.count, y.count) - start, x[x.count - 1 - end] == y[y.count - 1 - end] {
            end += 1
        }
        func html(_ value: [Character]) -> String {
            let middle = String(value[start..<(value.count - end)])
            return HTMLText.lines(String(value[..<start]))
                + (middle.isEmpty ? "" : "<mark>\(HTMLText.lines(middle))</mark>")
                + HTMLText.lines(String(value[(value.count - end)...]))
        }
        return start + end == 0 ? (HTMLText.lines(first), HTMLText.lines(second)) : (html(x), html(y))
    }
}

extension SourceExcerpt {
    var html: String {
        let indents = self.lines.filter { !$0.allSatisfy(\.isWhitespace) }
            .map { $0.prefix(while: \.isWhitespace).count }
        let indent = indents.min() ?? 0
        let lines = zip(self.lines.indices, self.lines).map { index, text in
            let number = first + index
            return "<span class=\"line\(number == line ? " failing" : "")\">"
                + "<span class=\"number\">\(number)</span> \(HTMLText.line(String(text.dropFirst(indent))))</span>"
        }
        return "<pre class=\"excerpt\" tabindex=\"0\" role=\"group\" aria-label=\"Source\">"
            + lines.joined(separator: "\n") + "</pre>\n"
    }
}
