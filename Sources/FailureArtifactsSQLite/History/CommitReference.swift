/// A commit as `--at` names it.
///
/// `0` is the state before the first transaction that a history has, `N` the state after the Nth. Negative
/// numbers count from the end: `-1`, which `last` stands for as well, is the state at the failure, `-2` the
/// one a transaction earlier.
package struct CommitReference: Equatable, Sendable, CustomStringConvertible {
    /// The last state.
    package static let last = CommitReference(number: -1, description: "last")

    private let number: Int
    package let description: String

    private init(number: Int, description: String) {
        self.number = number
        self.description = description
    }

    /// The state after a number of transactions, 0 or more.
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

    /// The state that is meant.
    ///
    /// - Parameter transactions: How many transactions the history has.
    /// - Returns: A number from 0 to `transactions`; nil where the history has no such state.
    package func state(of transactions: Int) -> Int? {
        let state = number < 0 ? transactions + 1 + number : number
        return (0...max(transactions, 0)).contains(state) ? state : nil
    }
}
