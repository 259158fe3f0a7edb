extension LoggedTransactions {
    /// The alignments of a log's groups with a history's transactions.
    ///
    /// An alignment goes back from the last transaction. In each step, one of the groups that may be the last among
    /// the remaining ones is paired with the last remaining transaction, or it has none because it wrote nothing. An
    /// alignment ends where no transaction or no group remains.
    ///
    /// If the connections' data versions are known, a transaction may be another process's, and a pair may be doubtful.
    /// Only the alignments with the fewest such doubts count.
    struct Alignment {
        /// The state after some steps.
        private struct State: Hashable {
            /// The number of groups that remain of each connection.
            var groups: [Int]
            /// The number of transactions that remain.
            var transactions: Int
            /// The group of the transaction after them, if it restricts the group of the last one.
            var next: Int?
        }

        private struct Step {
            var from, to: Int
            var doubts: Int
            /// The transaction that the step consumes, if any.
            var transaction: Int?
            /// The transaction's group; nil if it is unknown.
            var group: Int?
        }

        /// The maximum number of states; with more, nothing is certain in reasonable time.
        private static let maximumStates = 50_000
        /// The alignments with so many more doubts than necessary count, too.
        private static let margin = 1

        private let groups: [Group]
        private let transactions: [Transaction]
        private let isComplete: Bool
        private let maximumDoubts: Int
        /// The groups of each connection.
        private let members: [[Int]]
        private let connections: [UInt64: Int]

        private var numbers: [State: Int] = [:]
        private var states: [State] = []
        /// The fewest doubts with which each state is reached.
        private var doubts: [Int] = []
        /// The states by the number of their remaining groups and transactions.
        private var levels: [[Int]] = []
        private var steps: [Step] = []

        /// Returns the groups that the transactions have in all alignments.
        ///
        /// - Parameters:
        ///   - groups: The groups, in the order in which their commits began.
        ///   - transactions: The last transactions of a history.
        ///   - isComplete: True if each transaction has a group.
        /// - Returns: The number of each transaction's group; nil if it is uncertain.
        static func certainPairs(
            _ groups: [Group], _ transactions: [Transaction], isComplete: Bool
        ) -> [Int?] {
            let hasVersions = groups.contains { $0.followsOwn != nil }
            var limit = 0
            repeat {
                var alignment = Alignment(groups, transactions, isComplete: isComplete, limit: limit)
                guard alignment.visit() else { break }
                if let pairs = alignment.pairs() { return pairs }
                limit = max(1, 2 * limit)
            } while hasVersions && limit <= 2 * transactions.count
            return [Int?](repeating: nil, count: transactions.count)
        }

        private init(_ groups: [Group], _ transactions: [Transaction], isComplete: Bool, limit: Int) {
            self.groups = groups
            self.transactions = transactions
            self.isComplete = isComplete
            maximumDoubts = limit
            let serials = Set(groups.map(\.connection)).sorted()
            connections = Dictionary(uniqueKeysWithValues: zip(serials, serials.indices))
            members = serials.map { serial in groups.indices.filter { groups[$0].connection == serial } }
        }

        /// Finds all steps.
        ///
        /// - Returns: False if there are too many states.
        private mutating func visit() -> Bool {
            let start = State(groups: members.map(\.count), transactions: transactions.count)
            levels = Array(repeating: [], count: groups.count + transactions.count + 1)
            _ = add(start, doubts: 0)
            for level in levels.indices.reversed() {
                for number in levels[level] where !isEnd(states[number]) { addSteps(from: number) }
                if states.count > Self.maximumStates { return false }
            }
            return true
        }

        private func isEnd(_ state: State) -> Bool {
            state.transactions == 0 || state.groups.allSatisfy { $0 == 0 }
        }

        private mutating func add(_ state: State, doubts count: Int) -> Int {
            if let number = numbers[state] {
                doubts[number] = min(doubts[number], count)
                return number
            }
            numbers[state] = states.count
            levels[state.groups.reduce(state.transactions, +)].append(states.count)
            states.append(state)
            doubts.append(count)
            return states.count - 1
        }

        private mutating func addStep(
            from: Int, to state: State, doubts count: Int = 0, transaction: Int? = nil, group: Int? = nil
        ) {
            let total = doubts[from] + count
            guard total <= maximumDoubts else { return }
            let to = add(state, doubts: total)
            steps.append(
                Step(from: from, to: to, doubts: count, transaction: transaction, group: group))
        }

        private mutating func addSteps(from number: Int) {
            let state = states[number]
            let last = state.transactions - 1
            let next = state.next.map { groups[$0] }
            for (connection, count) in state.groups.enumerated() where count > 0 {
                let index = members[connection][count - 1]
                let group = groups[index]
                let mayBeLast = state.groups.indices.allSatisfy { other in
                    other == connection || state.groups[other] == 0
                        || !group.precedes(groups[members[other][state.groups[other] - 1]])
                }
                guard mayBeLast else { continue }
                var following = state
                following.groups[connection] -= 1
                if group.maySkip { addStep(from: number, to: following) }
                if let next, let followsOwn = next.followsOwn,
                    followsOwn != (next.connection == group.connection)
                {
                    continue
                }
                following.transactions = last
                following.next = group.followsOwn == nil ? nil : index
                if group.fits(transactions[last]) {
                    addStep(from: number, to: following, transaction: last, group: index)
                } else if group.pages == transactions[last].pages {
                    addStep(from: number, to: following, doubts: 1, transaction: last)
                }
            }
            let isOwn = next?.followsOwn == true && hasGroups(of: next, in: state)
            if !isOwn {
                let unknown = State(groups: state.groups, transactions: last)
                addStep(from: number, to: unknown, doubts: 1, transaction: last)
            }
        }

        private func hasGroups(of group: Group?, in state: State) -> Bool {
            guard let group, let connection = connections[group.connection] else { return false }
            return state.groups[connection] > 0
        }

        /// Returns the group of each transaction that has the same one in all alignments; nil if there is no alignment.
        private func pairs() -> [Int?]? {
            let ends = states.indices.filter {
                isEnd(states[$0]) && (states[$0].transactions == 0 || !isComplete)
            }
            // With doubts, the log may end anywhere, so the transactions before it count like others.
            var rest = [Int](repeating: .max, count: states.count)
            for end in ends { rest[end] = maximumDoubts > 0 ? states[end].transactions : 0 }
            guard let fewest = ends.map({ doubts[$0] + rest[$0] }).min() else { return nil }
            let limit = fewest > 0 ? fewest + Self.margin : 0
            guard limit <= maximumDoubts else { return nil }
            var found = [Set<Int?>](repeating: [], count: transactions.count)
            // The transactions before the log are unknown.
            let unknown =
                ends.filter { doubts[$0] + rest[$0] <= limit }.map { states[$0].transactions }.max() ?? 0
            for index in 0..<unknown { found[index].insert(nil) }
            // The steps from a state are after all steps to it.
            for step in steps.reversed() where rest[step.to] < .max {
                let total = step.doubts + rest[step.to]
                rest[step.from] = min(rest[step.from], total)
                if doubts[step.from] + total <= limit, let transaction = step.transaction {
                    found[transaction].insert(step.group)
                }
            }
            return found.map { $0.count == 1 ? $0.first ?? nil : nil }
        }
    }
}
