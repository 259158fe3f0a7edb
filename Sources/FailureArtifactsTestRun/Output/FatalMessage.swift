/// What Swift's runtime prints on standard error before it ends a process.
///
/// `Shop/Cart.swift:42: Fatal error: Index out of range`, the place only where it is known; see `reportFatalError`
/// in [the runtime](https://github.com/swiftlang/swift/blob/main/stdlib/public/stubs/Assert.cpp).
package struct FatalMessage: Equatable, Sendable {
    /// `Fatal error: Index out of range`.
    package let message: String
    /// As it is printed: `Module/File.swift` or a path.
    package let file: String?
    package let line: Int?

    private static let kinds = ["Fatal error", "Precondition failed", "Assertion failed"]

    /// Reads a line; nil for one that is no such message.
    package init?(line text: String) {
        var text = text[...]
        if text.last == "\r" { text.removeLast() }
        if Self.isMessage(text) {
            (message, file, line) = (String(text), nil, nil)
            return
        }
        // The place may hold colons itself; that of the message is the first after a number.
        for kind in Self.kinds {
            guard let start = text.firstRange(of: ": " + kind)?.lowerBound else { continue }
            let message = text[text.index(start, offsetBy: 2)...]
            let place = text[..<start]
            guard Self.isMessage(message), let colon = place.lastIndex(of: ":"),
                colon > place.startIndex,
                let line = Int(place[place.index(after: colon)...])
            else { continue }
            self.message = String(message)
            self.file = String(place[..<colon])
            self.line = line
            return
        }
        return nil
    }

    /// All such messages of a log, in its order.
    package static func all(in lines: [String]) -> [FatalMessage] { lines.compactMap(FatalMessage.init) }

    private static func isMessage(_ text: Substring) -> Bool {
        kinds.contains { kind in
            text.hasPrefix(kind)
                && (text.count == kind.count || text.dropFirst(kind.count).hasPrefix(": "))
        }
    }
}
