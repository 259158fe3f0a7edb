/// The open savepoints of a transaction, each with the number of statements before it.
struct Savepoints {
    /// The names; nil for uncertain ones.
    private var open: [(name: String?, count: Int)] = []

    var isEmpty: Bool { open.isEmpty }

    mutating func begin(_ name: String?, after count: Int) { open.append((name, count)) }

    /// Ends the savepoints that began after the last one with a name.
    ///
    /// - Parameter name: The name of the savepoint that is rolled back to.
    /// - Returns: The number of statements before it; nil if it is unknown, and nothing ends.
    mutating func rollBack(to name: String?) -> Int? {
        guard let index = index(of: name) else { return nil }
        open.removeSubrange((index + 1)...)
        return open[index].count
    }

    /// Ends the last savepoint with a name, and those that began after it.
    ///
    /// - Parameter name: The name of the savepoint that is released.
    /// - Returns: False if it is unknown, and nothing ends.
    mutating func release(_ name: String?) -> Bool {
        guard let index = index(of: name) else { return false }
        open.removeSubrange(index...)
        return true
    }

    private func index(of name: String?) -> Int? { open.lastIndex { $0.name == name } }
}
