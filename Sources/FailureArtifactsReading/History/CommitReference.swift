/// A commit as the option `--at` names it.
///
/// `0` is the state before the first transaction of a history, and `N` is the state after the Nth. Negative numbers
/// count from the end: `-1`, or `last`, is the state at the failure, and `-2` is one transaction earlier.
package struct CommitReference: Equatable, Sendable, CustomStringConvertible {
    package static let last = CommitReference(number: -1, description: "last")

    private let number: Int
    package let description: String

    private init(number: Int, description: String) {
        self.number = number
        self.description = description
    }

    /// Creates a reference to the state after a number of transactions; a negative number counts as 0.
    package init(_ number: Int) {
        self.init(number: max(number, 0), description: String(max(number, 0)))
    }

    /// Reads `0`, `3`, `-1` or `last`; nil for anything else.
    package init?(_ text: String) {
        if text == "last" {
            self = .last
            return
        }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty,
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int(text), number != 0 || digits.count == text.count
        else { return nil }
        self.init(number: number, description: text)
    }

    /// Returns the number of the state in a history; nil if the history has no such state.
    package func state(of transactions: Int) -> Int? {
        let state = number < 0 ? transactions + 1 + number : number
        return (0...max(transactions, 0)).contains(state) ? state : nil
    }
}
