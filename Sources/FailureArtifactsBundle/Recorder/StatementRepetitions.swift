extension RecordedStatement {
    /// Executions of one statement by the same functions, of which only the first one is known.
    package struct Repetitions: Sendable, Equatable {
        /// The number of executions, the first one included.
        package var count: Int
        /// The number of the last one; see ``order``.
        package var lastOrder: UInt64
    }

    /// The statements that count as one, as in `repetitions.c`.
    fileprivate struct Kind: Hashable {
        /// The text without its numbers and strings.
        let shape: [UInt8]
        let code: Int32?

        init(_ statement: RecordedStatement) {
            var shape: [UInt8] = []
            var (isWord, isString) = (false, false)
            for byte in statement.sql.utf8 {
                let isDigit = (0x30...0x39).contains(byte)
                if byte == UInt8(ascii: "'") {
                    isString.toggle()
                } else if !isString, isWord || !isDigit {
                    shape.append(byte)
                    isWord =
                        (0x61...0x7a).contains(byte | 0x20) || byte == UInt8(ascii: "_")
                        || isWord && isDigit
                }
            }
            self.shape = shape
            code = statement.failure?.code
        }
    }
}

extension [RecordedStatement] {
    /// True if there are at least as many as the log of one connection keeps, so that it may lack some.
    package func reach(_ maximum: Int) -> Bool { count { $0.repetitions == nil } >= maximum }

    /// Adds the last statements up to a number, and counts those before them.
    ///
    /// The elements stand for statements that are not in the log, and are older.
    func followed(by statements: [RecordedStatement], atMost maximum: Int) -> [RecordedStatement] {
        var result = self
        // The places of each kind, the last one first.
        var places: [RecordedStatement.Kind: [Int]] = [:]
        let excess = statements.dropLast(maximum)
        if !excess.isEmpty {
            for index in indices { places[.init(self[index]), default: []].insert(index, at: 0) }
        }
        for statement in excess {
            let kind = RecordedStatement.Kind(statement)
            let known = places[kind]?.first {
                statement.addresses.isEmpty || result[$0].addresses == statement.addresses
            }
            if let known, let repetitions = result[known].repetitions {
                result[known].repetitions = .init(
                    count: repetitions.count + 1, lastOrder: statement.order)
                result[known].changes = result[known].changes.flatMap { old in
                    statement.changes.map { old + $0 }
                }
            } else {
                places[kind, default: []].insert(result.count, at: 0)
                result.append(statement)
                result[result.count - 1].repetitions = .init(count: 1, lastOrder: statement.order)
            }
        }
        return (result + statements.suffix(maximum)).sorted { $0.order < $1.order }
    }

    /// Returns the statements of several connections, with at most as many as a log keeps that don't stand for others.
    package func limited(to maximum: Int) -> [RecordedStatement] {
        filter { $0.repetitions != nil }.followed(by: filter { $0.repetitions == nil }, atMost: maximum)
    }
}
