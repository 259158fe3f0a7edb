internal import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// An error in reading a history.
package struct HistoryError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: Equatable, Sendable {
        /// The history file is invalid; the text is a clause that gives the reason.
        case damaged(String)
        /// The history file has a newer format version than this code supports.
        case newerVersion(UInt32)
        /// The copy of the store does not belong to the history; the text is a clause that gives the reason.
        case foreignCopy(String)
        /// The history has no such state; the second value is its number of transactions.
        case noSuchCommit(CommitReference, Int)
        case system(SystemError)
    }

    package let path: String
    package let reason: Reason

    package init(_ path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    package var description: String { description(ofHistory: "'\(path)'") }

    /// Returns a description that uses a given name for the history file.
    package func description(ofHistory name: String) -> String {
        switch reason {
        case .damaged(let clause):
            "The history \(name) is damaged: \(clause)."
        case .newerVersion(let version):
            "The history \(name) has format version \(version), and this reads version "
                + "\(HistoryLayout.version): use a newer failure-artifacts."
        case .foreignCopy(let clause):
            "The history \(name) belongs to another copy of the store: \(clause)."
        case .noSuchCommit(let commit, let count):
            "There is no state '\(commit)': the history \(name) has "
                + (count == 1 ? "one transaction" : "\(count) transactions")
                + ", which makes 0 to \(count), -1 to -\(count + 1) and 'last'."
        case .system(let error):
            error.sentence
        }
    }
}

extension HistoryError {
    /// Runs `body` and turns a failed system call into a failure of the history.
    package static func wrapping<Result: ~Copyable>(
        _ body: () throws(SystemError) -> Result
    ) throws(HistoryError) -> Result {
        do {
            return try body()
        } catch {
            throw HistoryError(error.path, .system(error))
        }
    }
}

/// A commit as the option `--at` names it.
///
/// `0` is the state before the first transaction of a history, and `N` is the state after the Nth. Negative
/// numbers count from the end: `-1`, or `last`, is the state at the failure, and `-2` is one transaction earlier.
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

    /// Returns the number of the state in a history.
    ///
    /// Nil if the history has no such state.
    package func state(of transactions: Int) -> Int? {
        let state = number < 0 ? transactions + 1 + number : number
        return (0...max(transactions, 0)).contains(state) ? state : nil
    }
}
