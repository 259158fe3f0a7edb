/// Removes the values from SQL statements.
///
/// Only the statement's own schema, with its views and triggers, tells which values belong to which columns. So
/// every value is removed: numbers, strings, BLOBs and the arguments of pragmas become `?`, and comments are
/// dropped. Text in double quotes is removed too, unless it is a name of the schema. SQLite treats such text as a
/// string if there is no such name.
package struct StatementRedaction {
    /// The names to keep, folded.
    private let names: Set<String>

    package init(names: Set<String>) {
        self.names = names
    }

    /// Returns a statement without its values; `sql` may be cut off anywhere.
    package func redacted(_ sql: String) -> String {
        var scanner = Scanner(bytes: Array(sql.utf8), names: names)
        return scanner.run()
    }

    private struct Scanner {
        let bytes: [UInt8]
        let names: Set<String>
        private var position = 0
        private var result: [UInt8] = []

        init(bytes: [UInt8], names: Set<String>) {
            self.bytes = bytes
            self.names = names
        }

        private func byte(_ offset: Int = 0) -> UInt8 {
            position + offset < bytes.count ? bytes[position + offset] : 0
        }

        mutating func run() -> String {
            var words = 0
            while position < bytes.count {
                let first = byte()
                switch first {
                case UInt8(ascii: "-") where byte(1) == first:
                    while position < bytes.count, byte() != 0x0A { position += 1 }
                case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
                    position += 2
                    while position < bytes.count,
                        byte() != UInt8(ascii: "*") || byte(1) != UInt8(ascii: "/")
                    {
                        position += 1
                    }
                    position = min(position + 2, bytes.count)
                case UInt8(ascii: "'"):
                    _ = quoted(until: first)
                    result.append(UInt8(ascii: "?"))
                case UInt8(ascii: "\""), UInt8(ascii: "`"): name(until: first)
                case UInt8(ascii: "["): name(until: UInt8(ascii: "]"))
                case 0x30...0x39: number()
                case UInt8(ascii: ".") where Self.isDigit(byte(1)): number()
                case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"),
                    UInt8(ascii: "#"):
                    result.append(first)
                    position += 1
                    while Self.isWord(byte()) { take() }
                case _ where Self.isWord(first):
                    let start = position
                    while Self.isWord(byte()) { position += 1 }
                    let word = bytes[start..<position]
                    // A BLOB: x'00'.
                    if word.count == 1, first | 0x20 == UInt8(ascii: "x"), byte() == UInt8(ascii: "'") {
                        continue
                    }
                    result += word
                    words += 1
                    if words == 1, folded(String(decoding: word, as: UTF8.self)) == "pragma" {
                        takePragma()
                    }
                default: take()
                }
            }
            return String(decoding: result, as: UTF8.self)
        }

        private mutating func take() {
            result.append(byte())
            position += 1
        }

        /// Keeps a pragma's name and replaces its argument.
        private mutating func takePragma() {
            while position < bytes.count, byte() != UInt8(ascii: "="), byte() != UInt8(ascii: "("),
                byte() != UInt8(ascii: ";"), byte() != UInt8(ascii: "-"), byte() != UInt8(ascii: "/"),
                byte() != UInt8(ascii: "'")
            {
                take()
            }
            if position < bytes.count, byte() != UInt8(ascii: ";") {
                result += Array("= ?".utf8)
                position = bytes.count
            }
        }

        private mutating func number() {
            result.append(UInt8(ascii: "?"))
            while Self.isWord(byte()) || byte() == UInt8(ascii: ".")
                || ((byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-"))
                    && bytes[position - 1] | 0x20 == UInt8(ascii: "e") && Self.isDigit(byte(1)))
            {
                position += 1
            }
        }

        private mutating func name(until quote: UInt8) {
            let start = position
            let text = quoted(until: quote)
            if let text, names.contains(folded(String(decoding: text, as: UTF8.self))) {
                result += bytes[start..<position]
            } else {
                result.append(UInt8(ascii: "?"))
            }
        }

        /// Returns the text between quotes; nil if the closing quote is missing.
        private mutating func quoted(until quote: UInt8) -> [UInt8]? {
            var text: [UInt8] = []
            position += 1
            while position < bytes.count {
                let next = byte()
                position += 1
                if next == quote {
                    guard byte() == quote, quote != UInt8(ascii: "]") else { return text }
                    position += 1
                }
                text.append(next)
            }
            return nil
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

        private static func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
                true
            default: false
            }
        }
    }
}
