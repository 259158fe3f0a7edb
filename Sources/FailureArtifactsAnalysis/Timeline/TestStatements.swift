package import FailureArtifactsBundle

/// The statements of a store that the failing test ran, as far as they can be told from those of other tests.
package struct TestStatements {
    private struct Execution: Hashable {
        let thread: String
        let textAndPlace: String
        let values: [BoundValue]?

        init(_ record: StatementRecord) {
            thread = record.thread
            textAndPlace = record.textAndPlace
            values = record.values
        }
    }

    /// The numbers of the other tests.
    private let others: Set<UInt64>
    /// The threads that earlier tests have left behind.
    private let leftThreads: Set<String>

    package init(
        in records: [StatementRecord], of store: BundleMetadata.Store, _ metadata: BundleMetadata
    ) {
        let test = metadata.test
        let tests = metadata.tests ?? []
        let own = tests.last {
            $0.suite == test.suite && $0.name == test.name && $0.arguments == test.arguments
        }
        others = own.map { own in Set(tests.map(\.id).filter { $0 != own.id }) } ?? []
        // The recorder takes the only running test for that of every statement. But a thread that only does what it did
        // while no test ran goes on with that. So does one that repeats, in the store of an earlier test, what it did
        // before this test began, unless a line of a test does it.
        let earlier = records.filter { $0.phase == .earlier }
        let before = Set(store.openedBy == nil ? [] : earlier.map(Execution.init))
        let outside = Set(own == nil ? [] : earlier.filter { $0.test == nil }.map(Execution.init))
        let main = String(metadata.environment.processID, radix: 16)
        let function = test.function
        let threads = Dictionary(grouping: records.filter { $0.phase == .test }, by: \.thread)
        leftThreads = Set(
            threads.filter { thread, executions in
                thread != main
                    && executions.allSatisfy { record in
                        outside.contains(Execution(record))
                            || before.contains(Execution(record))
                                && !record.frames.contains { $0.isInTests && $0.isIn(function) }
                    }
            }.keys)
    }

    package func contains(_ record: StatementRecord) -> Bool {
        record.phase == .test && !leftThreads.contains(record.thread)
            && !(record.test.map(others.contains) ?? false)
    }
}
